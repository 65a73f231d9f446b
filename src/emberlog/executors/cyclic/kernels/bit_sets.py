"""Sets of rows as bits, one for each row that there can be: for ranges of values that are small beside the set."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.executors.cyclic.kernels.jit import jit
from emberlog.executors.cyclic.lanes import Lane, Lanes

Words: TypeAlias = npt.NDArray[np.uint64]

AHEAD = 64

_IN_WORD = np.uint64(6)
_IN_WORD_MASK = np.uint64(63)


@jit
def _place(lanes: Lanes, row: int, lows: Lane, strides: Lane) -> np.uint64:
    place = np.uint64(0)
    for lane in range(lanes.shape[0]):
        place += np.uint64(lanes[lane, row] - lows[lane]) * np.uint64(strides[lane])
    return place


@jit
def _bit(place: np.uint64) -> np.uint64:
    return np.uint64(1) << (place & _IN_WORD_MASK)


@jit
def insert_bits(
    words: Words, store: Lanes, count: int, batch: Lanes, begin: int, end: int, lows: Lane, strides: Lane
) -> int:
    """Appends those rows `[begin, end)` of the batch that the set does not have; gives the new number of rows.

    Words are looked at some rows ahead: the processor then fetches many of them from memory at the same time.
    """
    places = np.empty(AHEAD, np.uint64)
    seen = np.empty(AHEAD, np.uint64)
    for first in range(begin, end, AHEAD):
        size = min(AHEAD, end - first)
        for number in range(size):
            places[number] = _place(batch, first + number, lows, strides)
        for number in range(size):
            seen[number] = words[places[number] >> _IN_WORD]
        for number in range(size):
            bit = _bit(places[number])
            if seen[number] & bit:
                continue
            word = places[number] >> _IN_WORD
            if not words[word] & bit:
                words[word] |= bit
                for lane in range(store.shape[0]):
                    store[lane, count] = batch[lane, first + number]
                count += 1
    return count


@jit
def refill_bits(words: Words, store: Lanes, count: int, lows: Lane, strides: Lane) -> None:
    """Enters all rows of the store."""
    for row in range(count):
        place = _place(store, row, lows, strides)
        words[place >> _IN_WORD] |= _bit(place)


@jit
def has_all_bits(words: Words, rows: Lanes, lows: Lane, strides: Lane) -> bool:
    """Whether the set has all these rows; their values have to lie in its ranges."""
    for row in range(rows.shape[1]):
        place = _place(rows, row, lows, strides)
        if not words[place >> _IN_WORD] & _bit(place):
            return False
    return True
