"""How a set knows which rows it has.

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

from emberlog.workers.kernels.bit_sets import has_all_bits, insert_bits, refill_bits
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.memory import claim
from emberlog.workers.kernels.packed import has_all_packed, insert_packed, refill_packed
from emberlog.workers.kernels.tables import find_all, insert_new, refill
from emberlog.workers.store.hash_tables import is_full, slots_for, table_for
from emberlog.workers.store.packing import LARGEST, Packing, packing_for, ranges_of, within

WORD = 64
"""Bits."""


class Membership(Protocol):
    """Of the rows of one store."""

    def takes(self, batch: Lanes, rows: int) -> bool:
        """Whether these can be entered, when there may be so many rows then."""

    def enter_new(self, store: Lanes, count: int, batch: Lanes, begin: int, end: int) -> int:
        """Appends those rows `[begin, end)` that the set does not have to the store, which has so many; gives the new
        number of rows."""

    def enter_all(self, store: Lanes, count: int) -> None:
        """Enters rows of the store, which differ. It has none yet."""

    def contains_all(self, store: Lanes, rows: Lanes) -> bool: ...


class _NotYet:
    """In the place of one that is made when it is needed."""

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
    """A table of the numbers of rows, for any rows."""

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
    """A table of words, each of which is a row."""

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
    """A bit for every row whose values lie between the lows and the highs."""

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
    """An empty one for up to so many rows like these."""
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
