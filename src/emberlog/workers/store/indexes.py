"""Finds rows of relations by their keys: packed and chained indexes, and sorted lists with what they have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import RLock

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.indexes import (
    NEW_PROBE,
    chain,
    chain_direct,
    count_matches,
    expand,
    expand_chained,
    expand_direct,
    group_starts,
    in_groups,
    look_up_dense,
    number_keys,
)
from emberlog.workers.kernels.intersections import intersect, narrow, sort_groups
from emberlog.workers.kernels.lanes import Lane, Lanes, Mask
from emberlog.workers.kernels.memory import at_once, claim
from emberlog.workers.kernels.tables import find_all, table_for
from emberlog.workers.kernels.tuning import FEWEST_PAIRS, MOST_PAIRS, SMALL_RANGE
from emberlog.workers.store.stores import StaticStore, Store, direct_range, grown_rows, touched

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Matches:
    """Says which probe found which row: its number, or its place in a packed index."""

    probes: Rows
    rows: Rows


def slices(counts: Rows) -> Iterator[tuple[int, int, int]]:
    """Ranges of probes that find about MOST_PAIRS rows together, with that number."""
    total, most = int(counts.sum()), at_once(MOST_PAIRS)
    if total <= most:
        if total:
            yield 0, len(counts), total
        return
    ends = np.cumsum(counts)
    begin, done = 0, 0
    while begin < len(counts):
        end = max(int(np.searchsorted(ends, done + most, side="right")), begin + 1)
        found = int(ends[end - 1]) - done
        if found:
            yield begin, end, found
        begin, done = end, int(ends[end - 1])


@dataclass(frozen=True, slots=True, eq=False)
class Reverse:
    """Holds the numbers of the groups that have each value: those of one value lie next to each other."""

    low: int
    starts: Rows
    groups: npt.NDArray[np.int32]


class PackedIndex:
    """Indexes a relation that does not change: the rows of a key lie next to each other."""

    def __init__(self, store: StaticStore, lanes: tuple[int, ...]) -> None:
        self.store = store
        self.ordered: dict[int, Lane] = {}
        self.reversed: dict[int, Reverse] = {}
        self._making = RLock()
        """Held while something is made that several threads may ask for."""
        self.ranges: dict[int, tuple[int, int]] = {}
        self.low = 0
        """The lowest key, where the number of a group is its key; the groups are numbered from it on."""
        self.dense = False
        if len(lanes) == 1 and store.count:
            low, high = self.range_of(lanes[0])
            if high - low < max(4 * store.count, SMALL_RANGE):
                self.dense, self.low = True, low
                self.numbers: Lane = np.ascontiguousarray(store.all[lanes[0]])
                self.starts = group_starts(self.numbers, low, high - low + 1)
                return
        # The keys, the different ones of them, and the number of each.
        claim(8 * store.count * (2 * len(lanes) + 1))
        keys = np.ascontiguousarray(store.all[list(lanes)])
        self.table = table_for(max(2 * store.count, 1))  # it is made once and looked into often
        self.distinct = np.empty_like(keys)
        groups, self.numbers = number_keys(self.table, self.distinct, keys)
        self.starts = group_starts(self.numbers, 0, groups)

    @property
    def bytes(self) -> int:
        """Returns what it takes beside the rows."""
        lanes = [self.starts, *self.ordered.values()]
        # All at once: another run may be making one.
        reversed_ = [array for one in tuple(self.reversed.values()) for array in (one.starts, one.groups)]
        if not self.dense:
            lanes += [self.numbers, self.table.view(np.int64), self.distinct]
        return sum(lane.nbytes for lane in (*lanes, *reversed_))

    def groups(self, keys: Lanes) -> Lane:
        """Returns the number of each key's group, -1 where there is none."""
        if self.dense:
            return look_up_dense(self.low, len(self.starts) - 1, keys[0])
        return find_all(self.table, self.distinct, len(keys), keys)

    def matches(self, keys: Lanes) -> Iterator[Matches]:
        return self.pairs(self.groups(keys))

    def pairs(self, numbers: Lane) -> Iterator[Matches]:
        """Yields the pairs of probes, given by the numbers of their groups, and places."""
        for begin, end, total in slices(count_matches(numbers, self.starts)):
            yield Matches(*expand(numbers, self.starts, begin, end, total))

    def count(self, numbers: Lane) -> int:
        """Returns how many pairs there are."""
        return int(count_matches(numbers, self.starts).sum())

    def in_order(self, column: int) -> Lane:
        """Returns a column in the order of the keys: what lies together is read together."""
        if column not in self.ordered:
            with self._making:
                if column not in self.ordered:
                    claim(8 * self.store.count)
                    lane = np.ascontiguousarray(self.store.all[column])
                    self.ordered[column] = in_groups(self.numbers, self.low, self.starts, lane)
        return self.ordered[column]

    def reverse(self, column: int) -> Reverse | None:
        """Returns the groups that have each value of a column whose values lie in a small range; None for others."""
        low, high = self.range_of(column)
        if high - low >= max(4 * self.store.count, SMALL_RANGE) or len(self.starts) >= 1 << 31:
            return None
        if column not in self.reversed:
            with self._making:
                if column not in self.reversed:
                    claim(20 * self.store.count)
                    keys = np.ascontiguousarray(self.store.all[column])
                    starts = group_starts(keys, low, high - low + 1)
                    groups = in_groups(keys, low, starts, self.numbers)
                    if self.low:
                        groups -= self.low
                    self.reversed[column] = Reverse(low, starts, groups.astype(np.int32))
        return self.reversed[column]

    def range_of(self, column: int) -> tuple[int, int]:
        """Returns the smallest and the largest value of a column; the relation is not empty."""
        if column not in self.ranges:
            lane = self.store.all[column]
            self.ranges[column] = int(lane.min()), int(lane.max())
        return self.ranges[column]

    def column(self, column: int, places: Rows) -> Lane:
        """Returns the values of a column in the rows that `matches` found."""
        lane: Lane = self.in_order(column)[places]
        return lane

    def contains(self, keys: Lanes) -> Mask:
        return count_matches(self.groups(keys), self.starts) > 0


class ChainedIndex:
    """Indexes a relation that grows: rows are entered as they come. Keys of a keyed relation's row never change.

    With one key lane whose values lie in a small range, there is a chain for each value; else for each of many buckets.
    """

    def __init__(self, store: Store, lanes: tuple[int, ...]) -> None:
        self.store = store
        self.lanes = np.array(lanes, np.int64)
        self.is_direct = len(lanes) == 1
        self.low = 0
        self.heads = np.zeros(0 if self.is_direct else 1024, np.int64)
        """The newest row of each chain, its number plus one."""
        self.following = np.empty(0, np.int64)
        self.entered = 0

    @property
    def bytes(self) -> int:
        return self.heads.nbytes + self.following.nbytes

    def catch_up(self) -> None:
        count = self.store.count
        if count == self.entered:
            return
        if count > len(self.following):
            (self.following,) = grown_rows(self.following[None], self.entered, self.store.rows.shape[1])
        if self.is_direct:
            self._widen(self.store.rows[self.lanes[0], self.entered : count], count)
        if not self.is_direct and count > len(self.heads):
            buckets = 1 << int(2 * count).bit_length()
            claim(8 * buckets)
            self.heads = np.zeros(buckets, np.int64)
            self.entered = 0
        if self.is_direct:
            chain_direct(self.heads, self.low, self.following, self.store.rows[self.lanes[0]], self.entered, count)
        else:
            chain(self.heads, self.following, self.store.rows, self.lanes, self.entered, count)
        self.entered = count

    def _widen(self, keys: Lane, count: int) -> None:
        """Makes room for a chain of each key, or gives up having one."""
        wanted = direct_range(int(keys.min()), int(keys.max()), self.low, len(self.heads), count)
        if wanted is None:
            self.is_direct, self.entered = False, 0
            self.heads = np.zeros(0, np.int64)
            return
        low, places = wanted
        if places > len(self.heads):
            claim(touched(8 * places, count))
            wider = np.zeros(places, np.int64)
            wider[self.low - low : self.low - low + len(self.heads)] = self.heads
            self.heads, self.low = wider, low

    def matches(self, keys: Lanes, below: int) -> Iterator[Matches]:
        """Yields only rows with a number under `below`: what was known before the delta, or before the round."""
        probe, row, most = 0, NEW_PROBE, at_once(MOST_PAIRS)
        capacity = max(FEWEST_PAIRS, min(4 * keys.shape[1], most))
        while probe < keys.shape[1]:
            pairs = (np.empty(capacity, np.int64), np.empty(capacity, np.int64))
            if self.is_direct:
                arguments = (self.heads, self.low, self.following, keys[0], below)
                probe, row, found = expand_direct(*arguments, probe, row, *pairs)
            else:
                found_by = (self.heads, self.following, self.store.rows, self.lanes, keys, below)
                probe, row, found = expand_chained(*found_by, probe, row, *pairs)
            capacity = most
            if found:
                yield Matches(pairs[0][:found], pairs[1][:found])


# Sorted lists of values by key, and what several of them have in common: see `closing_joins` for what that is for.


class SortedLists:
    """Lists, for each key of a relation that does not change, the values of one column in order."""

    def __init__(self, store: StaticStore, keys: tuple[int, ...], column: int) -> None:
        self.index = PackedIndex(store, keys)
        self.values = self.index.in_order(column).copy()
        sort_groups(self.values, self.index.starts)

    def ranges(self, keys: Lanes) -> tuple[Lane, Lane]:
        """Returns where the list of each key begins and ends; an empty one where there is none."""
        groups = self.index.groups(keys)
        is_there = groups >= 0
        places = np.where(is_there, groups, 0)
        starts = self.index.starts
        return np.where(is_there, starts[places], 0), np.where(is_there, starts[places + is_there], 0)


class StaticIndexes:
    """Makes the indexes of a relation that does not change, each when it is first asked for, and for all threads."""

    def __init__(self, store: StaticStore) -> None:
        self.store = store
        self._packed: dict[tuple[int, ...], PackedIndex] = {}
        self._sorted: dict[tuple[tuple[int, ...], int], SortedLists] = {}
        self._making = RLock()

    def packed(self, keys: tuple[int, ...]) -> PackedIndex:
        if keys not in self._packed:
            with self._making:
                if keys not in self._packed:
                    self._packed[keys] = PackedIndex(self.store, keys)
        return self._packed[keys]

    def sorted_lists(self, keys: tuple[int, ...], column: int) -> SortedLists:
        if (keys, column) not in self._sorted:
            with self._making:
                if (keys, column) not in self._sorted:
                    self._sorted[keys, column] = SortedLists(self.store, keys, column)
        return self._sorted[keys, column]

    @property
    def bytes(self) -> int:
        """Returns what the rows and their indexes take."""
        packed, lists = list(self._packed.values()), list(self._sorted.values())
        packed += (one.index for one in lists)
        return self.store.all.nbytes + sum(one.values.nbytes for one in lists) + sum(one.bytes for one in packed)


class Intersection:
    """Finds what the lists of all atoms of a step have in common; they lie one behind the other."""

    def __init__(self, lists: Sequence[SortedLists]) -> None:
        self.lists = lists
        distinct = list({id(one): one for one in lists}.values())
        lengths = [len(one.values) for one in distinct]
        begins = dict(zip(map(id, distinct), np.cumsum([0, *lengths[:-1]]).tolist(), strict=True))
        self.offsets = [int(begins[id(one)]) for one in lists]
        self.values = distinct[0].values if len(distinct) == 1 else np.concatenate([one.values for one in distinct])

    def pairs(self, keys: Sequence[Lanes], lows: Lane | None, highs: Lane | None) -> Iterator[Matches]:
        """Yields the numbers of valuations, with the values that all lists of a valuation have."""
        begins, ends = self._ranges(keys, lows, highs)
        longest = int((ends - begins).min(axis=0).max(initial=0))
        room = max(MOST_PAIRS, longest)
        probe, total = 0, begins.shape[1]
        while probe < total:
            probes, found = np.empty(room, np.int64), np.empty(room, np.int64)
            probe, count = intersect(self.values, begins, ends, probe, probes, found, True)
            if count:
                yield Matches(probes[:count], found[:count])

    def count(self, keys: Sequence[Lanes], lows: Lane | None, highs: Lane | None) -> int:
        """Returns how many pairs there are, where nobody needs to know which."""
        begins, ends = self._ranges(keys, lows, highs)
        nothing = np.empty(0, np.int64)
        return intersect(self.values, begins, ends, 0, nothing, nothing, False)[1]

    def _ranges(self, keys: Sequence[Lanes], lows: Lane | None, highs: Lane | None) -> tuple[Lanes, Lanes]:
        found = [one.ranges(lanes) for one, lanes in zip(self.lists, keys, strict=True)]
        begins = np.stack([begin + offset for (begin, _), offset in zip(found, self.offsets, strict=True)])
        ends = np.stack([end + offset for (_, end), offset in zip(found, self.offsets, strict=True)])
        if lows is not None or highs is not None:
            least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
            low = np.full(begins.shape[1], least) if lows is None else lows
            high = np.full(begins.shape[1], most) if highs is None else highs
            narrow(self.values, begins, ends, low, high)
        return begins, ends
