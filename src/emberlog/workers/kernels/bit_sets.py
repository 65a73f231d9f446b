"""Sets of rows as bits, one for each row that there can be: for ranges of values that are small beside the set."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.places import BLOCK, append_rows, fill_places

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
    """Appends those rows `[begin, end)` of the batch that the set does not have; gives the new number of rows."""
    places = np.empty(BLOCK, np.uint64)
    seen = np.empty(BLOCK, np.uint64)
    chosen = np.empty(BLOCK, np.int64)
    for first in range(begin, end, BLOCK):
        size = min(BLOCK, end - first)
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
    places = np.empty(BLOCK, np.uint64)
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        fill_places(places, store, first, size, lows, strides)
        for row in range(size):
            words[places[row] >> _IN_WORD] |= _bit(places[row])


@jit
def has_all_bits(words: Words, rows: Lanes, lows: Lane, strides: Lane) -> bool:
    """Whether the set has all these rows; their values have to lie in its ranges."""
    places = np.empty(BLOCK, np.uint64)
    for first in range(0, rows.shape[1], BLOCK):
        size = min(BLOCK, rows.shape[1] - first)
        fill_places(places, rows, first, size, lows, strides)
        for row in range(size):
            if not words[places[row] >> _IN_WORD] & _bit(places[row]):
                return False
    return True
