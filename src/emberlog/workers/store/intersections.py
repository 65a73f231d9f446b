"""Sorted lists of values by key, and what several of them have in common: see `closing_joins` for what that is for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from emberlog.workers.kernels.intersections import intersect, narrow, sort_groups
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.store.indexes import MOST_PAIRS, Matches, PackedIndex
from emberlog.workers.store.stores import StaticStore


class SortedLists:
    """Over a relation that does not change: for each key the values of one column, in order."""

    def __init__(self, store: StaticStore, keys: tuple[int, ...], column: int) -> None:
        self.index = PackedIndex(store, keys)
        self.values = self.index.in_order(column).copy()
        sort_groups(self.values, self.index.starts)

    def ranges(self, keys: Lanes) -> tuple[Lane, Lane]:
        """Where the list of each key begins and ends; an empty one where there is none."""
        groups = self.index.groups(keys)
        is_there = groups >= 0
        places = np.where(is_there, groups, 0)
        starts = self.index.starts
        return np.where(is_there, starts[places], 0), np.where(is_there, starts[places + is_there], 0)


class Intersection:
    """One step, prepared: the lists of all its atoms, one behind the other."""

    def __init__(self, lists: Sequence[SortedLists]) -> None:
        self.lists = lists
        distinct = list({id(one): one for one in lists}.values())
        lengths = [len(one.values) for one in distinct]
        begins = dict(zip(map(id, distinct), np.cumsum([0, *lengths[:-1]]).tolist(), strict=True))
        self.offsets = [int(begins[id(one)]) for one in lists]
        self.values = distinct[0].values if len(distinct) == 1 else np.concatenate([one.values for one in distinct])

    def pairs(self, keys: Sequence[Lanes], lows: Lane | None, highs: Lane | None) -> Iterator[Matches]:
        """The numbers of valuations, with the values that all lists of a valuation have."""
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
        """How many pairs there are, where nobody needs to know which."""
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
