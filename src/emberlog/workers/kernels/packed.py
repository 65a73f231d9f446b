"""Sets of rows whose lanes fit together into one word: the word lies in the table, and a look at it is enough."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.places import BLOCK, Places, append_rows, fill_places

Table: TypeAlias = npt.NDArray[np.uint64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@jit
def _fill_keys(
    keys: Places, slots: Places, table: Table, lanes: Lanes, first: int, size: int, lows: Lane, strides: Lane
) -> None:
    """So many rows as words, and the slots where they are looked for first. No word is 0: that is an empty slot."""
    mask = np.uint64(table.shape[0] - 1)
    fill_places(keys, lanes, first, size, lows, strides)
    for row in range(size):
        keys[row] += np.uint64(1)
        mixed = keys[row] * _SPREAD
        slots[row] = (mixed ^ (mixed >> np.uint64(32))) & mask


@jit
def insert_packed(
    table: Table, store: Lanes, count: int, batch: Lanes, begin: int, end: int, lows: Lane, strides: Lane
) -> int:
    """Appends those rows `[begin, end)` of the batch that the set does not have; gives the new number of rows."""
    mask = np.uint64(table.shape[0] - 1)
    keys = np.empty(BLOCK, np.uint64)
    slots = np.empty(BLOCK, np.uint64)
    seen = np.empty(BLOCK, np.uint64)
    chosen = np.empty(BLOCK, np.int64)
    for first in range(begin, end, BLOCK):
        size = min(BLOCK, end - first)
        _fill_keys(keys, slots, table, batch, first, size, lows, strides)
        for row in range(size):
            seen[row] = table[slots[row]]
        new = 0
        for row in range(size):
            key = keys[row]
            if seen[row] == key:
                continue
            slot = slots[row]
            while table[slot] != key:
                if table[slot] == np.uint64(0):
                    table[slot] = key
                    chosen[new] = first + row
                    new += 1
                    break
                slot = (slot + np.uint64(1)) & mask
        append_rows(store, count, batch, chosen, new)
        count += new
    return count


@jit
def refill_packed(table: Table, store: Lanes, count: int, lows: Lane, strides: Lane) -> None:
    """Enters all rows of the store, which are different, into an empty table."""
    mask = np.uint64(table.shape[0] - 1)
    keys = np.empty(BLOCK, np.uint64)
    slots = np.empty(BLOCK, np.uint64)
    seen = np.empty(BLOCK, np.uint64)
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        _fill_keys(keys, slots, table, store, first, size, lows, strides)
        for row in range(size):
            seen[row] = table[slots[row]]
        for row in range(size):
            slot = slots[row]
            while table[slot] != np.uint64(0):
                slot = (slot + np.uint64(1)) & mask
            table[slot] = keys[row]


@jit
def has_all_packed(table: Table, rows: Lanes, lows: Lane, strides: Lane) -> bool:
    """Whether the set has all these rows; their values have to lie in its ranges."""
    mask = np.uint64(table.shape[0] - 1)
    keys = np.empty(BLOCK, np.uint64)
    slots = np.empty(BLOCK, np.uint64)
    for first in range(0, rows.shape[1], BLOCK):
        size = min(BLOCK, rows.shape[1] - first)
        _fill_keys(keys, slots, table, rows, first, size, lows, strides)
        for row in range(size):
            slot = slots[row]
            while table[slot] != keys[row]:
                if table[slot] == np.uint64(0):
                    return False
                slot = (slot + np.uint64(1)) & mask
    return True
