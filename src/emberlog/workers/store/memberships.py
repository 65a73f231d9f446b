"""Tells which rows a set has.

Where its rows are many beside the ranges of their values, it has a bit for every row that there can be. Else, while
rows fit into a word, it has a table of such words, and where they do not, one of the numbers of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.memory import claim
from emberlog.workers.kernels.packed import (
    has_all_bits,
    has_all_packed,
    insert_bits,
    insert_packed,
    refill_bits,
    refill_packed,
)
from emberlog.workers.kernels.tables import find_all, insert_new, is_full, refill, slots_for, table_for

# Several lanes in one word: each gets as many bits as the range of its values needs, and a share of those left.

BITS = 63
LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    lows: Lane
    highs: Lane
    strides: Lane
    """What a value is worth in the word, less the lowest."""

    def holds(self, rows: Lanes) -> bool:
        return within(rows, self.lows, self.highs)


def within(rows: Lanes, lows: Lane, highs: Lane) -> bool:
    """Tells whether every value lies in the range of its lane."""
    return bool((rows.min(axis=1) >= lows).all() and (rows.max(axis=1) <= highs).all())


def ranges_of(parts: Sequence[Lanes]) -> tuple[list[int], list[int]] | None:
    """Returns the lowest and the highest value of each lane; None if there are no values."""
    known = [part for part in parts if part.shape[1]]
    if not known or not known[0].shape[0]:
        return None
    lows = np.min([part.min(axis=1) for part in known], axis=0).tolist()
    return lows, np.max([part.max(axis=1) for part in known], axis=0).tolist()


def packing_for(lows: Sequence[int], highs: Sequence[int]) -> Packing | None:
    """Returns a packing for rows in these ranges, with some room around them; None if they do not fit into a word."""
    widths = _widths(lows, highs)
    if sum(widths) > BITS:
        return None
    # Most numbers begin at 0, and those that come later may be smaller than those that came first.
    from_zero = [min(low, 0) for low in lows]
    if sum(_widths(from_zero, highs)) <= BITS:
        lows, widths = from_zero, _widths(from_zero, highs)
    spare = (BITS - sum(widths)) // len(widths)
    widths = [width + spare for width in widths]
    # A lane behind the last bit has one value only, which counts as 0 whatever its stride is.
    strides = [1 << min(sum(widths[:lane]), BITS - 1) for lane in range(len(widths))]
    reach = [min(low + (1 << width) - 1, LARGEST) for low, width in zip(lows, widths, strict=True)]
    return Packing(np.array(lows, np.int64), np.array(reach, np.int64), np.array(strides, np.int64))


def _widths(lows: Sequence[int], highs: Sequence[int]) -> list[int]:
    return [(high - low).bit_length() for low, high in zip(lows, highs, strict=True)]


WORD = 64
"""Bits."""


class Membership(Protocol):
    """Tells which rows one store has."""

    def takes(self, batch: Lanes, rows: int) -> bool:
        """Tells whether these can be entered, when there may be so many rows then."""

    def enter_new(self, store: Lanes, count: int, batch: Lanes, begin: int, end: int) -> int:
        """Appends those rows `[begin, end)` that the set does not have to the store, which has so many; returns the new
        number of rows."""

    def enter_all(self, store: Lanes, count: int) -> None:
        """Enters rows of the store, which differ. It has none yet."""

    def contains_all(self, store: Lanes, rows: Lanes) -> bool: ...


class _NotYet:
    """Stands in the place of a membership that is made when it is needed."""

    def takes(self, batch: Lanes, rows: int) -> bool:
        return False

    def enter_new(self, store: Lanes, count: int, batch: Lanes, begin: int, end: int) -> int:
        raise AssertionError("DL901: a set does not know its rows yet")

    def enter_all(self, store: Lanes, count: int) -> None:
        raise AssertionError("DL901: a set does not know its rows yet")

    def contains_all(self, store: Lanes, rows: Lanes) -> bool:
        raise AssertionError("DL901: a set does not know its rows yet")


NOT_YET: Membership = _NotYet()


class RowNumbers:
    """Keeps a table of the numbers of rows, for any rows."""

    def __init__(self, rows: int) -> None:
        self._table = table_for(rows)

    def takes(self, batch: Lanes, rows: int) -> bool:
        return not is_full(self._table, rows)

    def enter_new(self, store: Lanes, count: int, batch: Lanes, begin: int, end: int) -> int:
        return insert_new(self._table, store, count, batch, begin, end)

    def enter_all(self, store: Lanes, count: int) -> None:
        refill(self._table, store, store.shape[0], count)

    def contains_all(self, store: Lanes, rows: Lanes) -> bool:
        return bool((find_all(self._table, store, store.shape[0], rows) >= 0).all())


class PackedRows:
    """Keeps a table of words, each of which is a row."""

    def __init__(self, packing: Packing, rows: int) -> None:
        self._packing = packing
        self._table = table_for(rows)

    def takes(self, batch: Lanes, rows: int) -> bool:
        return not is_full(self._table, rows) and self._packing.holds(batch)

    def enter_new(self, store: Lanes, count: int, batch: Lanes, begin: int, end: int) -> int:
        return insert_packed(self._table, store, count, batch, begin, end, self._packing.lows, self._packing.strides)

    def enter_all(self, store: Lanes, count: int) -> None:
        refill_packed(self._table, store, count, self._packing.lows, self._packing.strides)

    def contains_all(self, store: Lanes, rows: Lanes) -> bool:
        packing = self._packing
        return packing.holds(rows) and bool(has_all_packed(self._table, rows, packing.lows, packing.strides))


@dataclass(frozen=True, slots=True, eq=False)
class BitPerRow:
    """Keeps a bit for every row whose values lie between the lows and the highs."""

    words: npt.NDArray[np.uint64]
    lows: Lane
    highs: Lane
    strides: Lane

    def takes(self, batch: Lanes, rows: int) -> bool:
        return within(batch, self.lows, self.highs)

    def enter_new(self, store: Lanes, count: int, batch: Lanes, begin: int, end: int) -> int:
        return insert_bits(self.words, store, count, batch, begin, end, self.lows, self.strides)

    def enter_all(self, store: Lanes, count: int) -> None:
        refill_bits(self.words, store, count, self.lows, self.strides)

    def contains_all(self, store: Lanes, rows: Lanes) -> bool:
        return within(rows, self.lows, self.highs) and bool(has_all_bits(self.words, rows, self.lows, self.strides))


def membership_for(parts: Sequence[Lanes], rows: int) -> Membership:
    """Returns an empty membership for up to so many rows like these."""
    ranges = ranges_of(parts)
    if ranges is None:
        return RowNumbers(rows)
    lows, highs = ranges
    # Most numbers begin at 0, and those that come later may lie around those that came first.
    roomy = (
        [min(low, 0) for low in lows],
        [min(high + (high - low) // 2, LARGEST) for low, high in zip(*ranges, strict=True)],
    )
    most = WORD * slots_for(rows)
    for low, high in (roomy, (lows, highs)):
        sizes = [last - first + 1 for first, last in zip(low, high, strict=True)]
        if prod(sizes) <= most:
            return _bits(low, high, sizes)
    packing = packing_for(lows, highs)
    return RowNumbers(rows) if packing is None else PackedRows(packing, rows)


def _bits(lows: Sequence[int], highs: Sequence[int], sizes: Sequence[int]) -> BitPerRow:
    words = -(-prod(sizes) // WORD)
    claim(8 * words)
    # Rows that are derived together mostly differ in their last values: their bits lie side by side.
    strides = [prod(sizes[lane + 1 :]) for lane in range(len(sizes))]
    return BitPerRow(np.zeros(words, np.uint64), *(np.array(one, np.int64) for one in (lows, highs, strides)))
