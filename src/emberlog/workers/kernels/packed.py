"""Holds sets of rows as words: a table of words that each are a row, or a bit for every row that there can be.

Most relations have two columns. A loop over the lanes of each row takes three times as long as one that knows this.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.tuning import PROBE_BLOCK

Places: TypeAlias = npt.NDArray[np.uint64]


@jit
def fill_places(places: Places, lanes: Lanes, first: int, size: int, lows: Lane, strides: Lane) -> None:
    """Fills in the number of each of so many rows: its values less the lowest ones, each times the stride of its
    lane."""
    if lanes.shape[0] == 2:
        one, other = lanes[0], lanes[1]
        for row in range(size):
            places[row] = np.uint64(
                (one[first + row] - lows[0]) * strides[0] + (other[first + row] - lows[1]) * strides[1]
            )
        return
    for row in range(size):
        places[row] = np.uint64(0)
    for number in range(lanes.shape[0]):
        lane = lanes[number]
        for row in range(size):
            places[row] += np.uint64((lane[first + row] - lows[number]) * strides[number])


@jit
def append_rows(store: Lanes, count: int, batch: Lanes, chosen: Lane, size: int) -> None:
    """Puts so many chosen rows of the batch behind those of the store."""
    if store.shape[0] == 2:
        one, other = store[0], store[1]
        for row in range(size):
            one[count + row] = batch[0, chosen[row]]
            other[count + row] = batch[1, chosen[row]]
        return
    for number in range(store.shape[0]):
        lane = store[number]
        for row in range(size):
            lane[count + row] = batch[number, chosen[row]]


Table: TypeAlias = npt.NDArray[np.uint64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@jit
def _fill_keys(
    keys: Places, slots: Places, table: Table, lanes: Lanes, first: int, size: int, lows: Lane, strides: Lane
) -> None:
    """Fills in so many rows as words, and the slots where they are looked for first. No word is 0: that is an empty
    slot."""
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
    """Appends those rows `[begin, end)` of the batch that the set does not have; returns the new number of rows."""
    mask = np.uint64(table.shape[0] - 1)
    keys = np.empty(PROBE_BLOCK, np.uint64)
    slots = np.empty(PROBE_BLOCK, np.uint64)
    seen = np.empty(PROBE_BLOCK, np.uint64)
    chosen = np.empty(PROBE_BLOCK, np.int64)
    for first in range(begin, end, PROBE_BLOCK):
        size = min(PROBE_BLOCK, end - first)
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
    keys = np.empty(PROBE_BLOCK, np.uint64)
    slots = np.empty(PROBE_BLOCK, np.uint64)
    seen = np.empty(PROBE_BLOCK, np.uint64)
    for first in range(0, count, PROBE_BLOCK):
        size = min(PROBE_BLOCK, count - first)
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
    """Tells whether the set has all these rows; their values have to lie in its ranges."""
    mask = np.uint64(table.shape[0] - 1)
    keys = np.empty(PROBE_BLOCK, np.uint64)
    slots = np.empty(PROBE_BLOCK, np.uint64)
    for first in range(0, rows.shape[1], PROBE_BLOCK):
        size = min(PROBE_BLOCK, rows.shape[1] - first)
        _fill_keys(keys, slots, table, rows, first, size, lows, strides)
        for row in range(size):
            slot = slots[row]
            while table[slot] != keys[row]:
                if table[slot] == np.uint64(0):
                    return False
                slot = (slot + np.uint64(1)) & mask
    return True


Words: TypeAlias = npt.NDArray[np.uint64]

_IN_WORD = np.uint64(6)
_IN_WORD_MASK = np.uint64(63)


@jit
def _bit(place: np.uint64) -> np.uint64:
    return np.uint64(1) << (place & _IN_WORD_MASK)


@jit
def insert_bits(
    words: Words, store: Lanes, count: int, batch: Lanes, begin: int, end: int, lows: Lane, strides: Lane
) -> int:
    """Appends those rows `[begin, end)` of the batch that the set does not have; returns the new number of rows."""
    places = np.empty(PROBE_BLOCK, np.uint64)
    seen = np.empty(PROBE_BLOCK, np.uint64)
    chosen = np.empty(PROBE_BLOCK, np.int64)
    for first in range(begin, end, PROBE_BLOCK):
        size = min(PROBE_BLOCK, end - first)
        fill_places(places, batch, first, size, lows, strides)
        for row in range(size):
            seen[row] = words[places[row] >> _IN_WORD]
        new = 0
        for row in range(size):
            bit = _bit(places[row])
            if seen[row] & bit:
                continue
            word = places[row] >> _IN_WORD
            chosen[new] = first + row
            if not words[word] & bit:
                words[word] |= bit
                new += 1
        append_rows(store, count, batch, chosen, new)
        count += new
    return count


@jit
def refill_bits(words: Words, store: Lanes, count: int, lows: Lane, strides: Lane) -> None:
    """Enters all rows of the store."""
    places = np.empty(PROBE_BLOCK, np.uint64)
    for first in range(0, count, PROBE_BLOCK):
        size = min(PROBE_BLOCK, count - first)
        fill_places(places, store, first, size, lows, strides)
        for row in range(size):
            words[places[row] >> _IN_WORD] |= _bit(places[row])


@jit
def has_all_bits(words: Words, rows: Lanes, lows: Lane, strides: Lane) -> bool:
    """Tells whether the set has all these rows; their values have to lie in its ranges."""
    places = np.empty(PROBE_BLOCK, np.uint64)
    for first in range(0, rows.shape[1], PROBE_BLOCK):
        size = min(PROBE_BLOCK, rows.shape[1] - first)
        fill_places(places, rows, first, size, lows, strides)
        for row in range(size):
            if not words[places[row] >> _IN_WORD] & _bit(places[row]):
                return False
    return True
