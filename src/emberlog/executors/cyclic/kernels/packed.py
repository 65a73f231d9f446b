"""Sets of rows whose lanes fit together into one word: the word lies in the table, and a look at it is enough."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.executors.cyclic.kernels.jit import jit
from emberlog.executors.cyclic.lanes import Lane, Lanes, Mask

Table: TypeAlias = npt.NDArray[np.uint64]

AHEAD = 64

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@jit
def packed(lanes: Lanes, row: int, lows: Lane, shifts: Lane) -> np.uint64:
    """The row as one word; never 0, which stands for an empty place."""
    key = np.uint64(1)
    for lane in range(lanes.shape[0]):
        key += np.uint64(lanes[lane, row] - lows[lane]) << np.uint64(shifts[lane])
    return key


@jit
def _place(key: np.uint64, table: Table) -> np.uint64:
    mixed = key * _SPREAD
    return (mixed ^ (mixed >> np.uint64(32))) & np.uint64(table.shape[0] - 1)


@jit
def insert_packed(
    table: Table, store: Lanes, count: int, batch: Lanes, begin: int, end: int, lows: Lane, shifts: Lane
) -> int:
    """Appends those rows `[begin, end)` of the batch that the set does not have; gives the new number of rows.

    Places are looked at some rows ahead: the processor then fetches many of them from memory at the same time.
    """
    mask = np.uint64(table.shape[0] - 1)
    keys = np.empty(AHEAD, np.uint64)
    slots = np.empty(AHEAD, np.uint64)
    seen = np.empty(AHEAD, np.uint64)
    for first in range(begin, end, AHEAD):
        size = min(AHEAD, end - first)
        for number in range(size):
            keys[number] = packed(batch, first + number, lows, shifts)
            slots[number] = _place(keys[number], table)
        for number in range(size):
            seen[number] = table[slots[number]]
        for number in range(size):
            key = keys[number]
            if seen[number] == key:
                continue
            slot = slots[number]
            while table[slot] != key:
                if table[slot] == np.uint64(0):
                    table[slot] = key
                    for lane in range(store.shape[0]):
                        store[lane, count] = batch[lane, first + number]
                    count += 1
                    break
                slot = (slot + np.uint64(1)) & mask
    return count


@jit
def refill_packed(table: Table, store: Lanes, count: int, lows: Lane, shifts: Lane) -> None:
    """Enters all rows of the store, which are different, into an empty table, looking some rows ahead."""
    mask = np.uint64(table.shape[0] - 1)
    keys = np.empty(AHEAD, np.uint64)
    slots = np.empty(AHEAD, np.uint64)
    seen = np.empty(AHEAD, np.uint64)
    for first in range(0, count, AHEAD):
        size = min(AHEAD, count - first)
        for number in range(size):
            keys[number] = packed(store, first + number, lows, shifts)
            slots[number] = _place(keys[number], table)
        for number in range(size):
            seen[number] = table[slots[number]]
        for number in range(size):
            slot = slots[number]
            while table[slot] != np.uint64(0):
                slot = (slot + np.uint64(1)) & mask
            table[slot] = keys[number]


@jit
def contains_packed(table: Table, rows: Lanes, lows: Lane, shifts: Lane) -> Mask:
    """Which rows the set has; their values have to lie in its ranges."""
    mask = np.uint64(table.shape[0] - 1)
    result = np.zeros(rows.shape[1], np.bool_)
    for row in range(rows.shape[1]):
        key = packed(rows, row, lows, shifts)
        slot = _place(key, table)
        while table[slot] != np.uint64(0):
            if table[slot] == key:
                result[row] = True
                break
            slot = (slot + np.uint64(1)) & mask
    return result
