"""Holds the relations of the recursion on one worker: contributions come in, deltas and indexes go out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import RLock
from typing import assert_never

import numpy as np

from emberlog.language.faults import Fault
from emberlog.logical.nodes import Version
from emberlog.workers.kernels import tables
from emberlog.workers.kernels.lanes import Floats, Lane, Lanes, floats_to_lane, lane_to_floats
from emberlog.workers.kernels.memory import TooLarge, give_back, is_short
from emberlog.workers.kernels.tuning import KNOWN_BATCH, RESULT_BATCH
from emberlog.workers.plan.rules import Combine, RelationLayout, Shown
from emberlog.workers.store.indexes import ChainedIndex, Matches
from emberlog.workers.store.joined import Joined
from emberlog.workers.store.sectioned_store import SectionedStore
from emberlog.workers.store.stores import KeyedStore, SetStore, Store

_CODES = {
    Combine.MIN: tables.MIN,
    Combine.MAX: tables.MAX,
    Combine.ARG_MIN: tables.ARG_MIN,
    Combine.ARG_MAX: tables.ARG_MAX,
    Combine.CHOICE: tables.CHOICE,
    Combine.SUM_INT: tables.SUM_INT,
    Combine.SUM_WIDE: tables.SUM_WIDE,
    Combine.CARRY: tables.CARRY,
    Combine.SUM_FLOAT: tables.SUM_FLOAT,
}


def new_store(relation: RelationLayout, *, tracks: bool = True) -> SetStore | KeyedStore:
    """Returns an empty store of the relation's own lanes; `tracks=False` where nobody asks for its delta."""
    if not relation.combine:
        return SetStore(relation.width)
    return KeyedStore(relation.keys, tuple(_CODES[rule] for rule in relation.combine), tracks=tracks)


@dataclass(frozen=True, slots=True)
class RoundBegin:
    """Holds what a relation was when a round began, whatever the round has improved since."""

    count: int
    delta: Lanes | None
    """None for a set, which keeps its delta in any case."""


class WorkerRelation:
    """Holds one relation: its store, its indexes, and for monotone sums the largest contribution of each key."""

    def __init__(
        self, layout: RelationLayout, *, tracks: bool = True, store: Store | None = None, spills: bool = False
    ) -> None:
        """`spills` where rows that are not new are only needed to know what is new: they can be on disk then."""
        self.layout = layout
        self.spills = spills
        self.store: Store = store or new_store(layout, tracks=tracks)
        self.indexes: dict[tuple[int, ...], ChainedIndex] = {}
        self._making = RLock()
        """Held while an index is made that several threads may ask for."""
        self.began_with: RoundBegin | None = None
        """While rules read the delta, if somebody may have to begin the round again."""
        self.largest: KeyedStore | None = None
        if layout.largest_per_key:
            # The lane behind the largest value is how much of it is counted already.
            self.largest = KeyedStore(layout.keys + 1, (tables.MAX, tables.CHOICE))

    @property
    def count(self) -> int:
        return self.store.count

    @property
    def fresh(self) -> int:
        """Returns how many facts came or changed since the last `advance`."""
        return self.store.fresh

    def add(self, contributions: Lanes) -> None:
        if not contributions.shape[1]:
            return
        if self.largest is not None:
            contributions = self._growth_of_largest(self.largest, contributions)
        else:
            contributions = with_plain_floats(self.layout, contributions)
        if not self._with_room(lambda store: store.add(contributions)):
            raise Fault("DL502", f"a sum of `{self.layout.name}` does not fit in a 64-bit int")

    def add_joined(self, joined: Joined) -> bool:
        """Combines the pairs of a join as they are met; False if they have to be written out first."""
        return self.largest is None and self._with_room(lambda store: store.add_joined(joined))

    def _with_room(self, enter: Callable[[Store], bool]) -> bool:
        """Enters something, if need be into a store that has room for it. To enter a part of it twice does no harm:
        that is so for all that spills."""
        if self.spills and is_short():
            self._spill()
        try:
            return enter(self.store)
        except (TooLarge, MemoryError):
            if not self.spills:
                raise
        self._spill()
        return enter(self.store)

    def _spill(self) -> None:
        assert isinstance(self.store, SetStore | KeyedStore)
        self.store = SectionedStore(lambda: new_store(self.layout), self.store)
        self.spills = False
        give_back()

    @property
    def is_spilled(self) -> bool:
        return isinstance(self.store, SectionedStore)

    def _growth_of_largest(self, largest: KeyedStore, contributions: Lanes) -> Lanes:
        """Contributions to the sum: by how much the largest value of each key grew."""
        refuse_negative(self.layout, contributions)
        keys = self.layout.keys + 1
        if contributions.shape[0] == keys:  # mcount<Key>: every key counts as 1
            contributions = np.vstack([contributions, np.ones((1, contributions.shape[1]), np.int64)])
        is_float = self.layout.combine[0] is Combine.SUM_FLOAT
        largest.add(np.vstack([contributions, np.zeros((1, contributions.shape[1]), np.int64)]))
        largest.advance()
        rows = largest.delta_rows
        value, counted = largest.rows[keys, rows], largest.rows[keys + 1, rows]
        largest.rows[keys + 1, rows] = value
        growth = (lane_to_floats(value) - lane_to_floats(counted)).view(np.int64) if is_float else value - counted
        return np.vstack([largest.rows[: self.layout.keys, rows], growth[None]])

    def begin_round(self) -> None:
        """Rules will read the delta: keeps what is needed to begin again with it."""
        self.began_with = RoundBegin(self.count, self.store.delta if isinstance(self.store, KeyedStore) else None)

    def end_round(self) -> int:
        """Makes what changed the delta; returns its number of rows."""
        changed = self.store.advance()
        self.began_with = None
        return changed

    def advance(self) -> int:
        """Ends the round, and indexes catch up."""
        changed = self.end_round()
        for index in self.indexes.values():
            index.catch_up()
        return changed

    def index(self, keys: tuple[int, ...]) -> ChainedIndex:
        """Returns the index by these columns; made when it is first asked for."""
        if keys not in self.indexes:
            with self._making:
                if keys not in self.indexes:
                    lanes = tuple(self.layout.columns[key].lane for key in keys)
                    index = ChainedIndex(self.store, lanes)
                    index.catch_up()
                    self.indexes[keys] = index
        return self.indexes[keys]

    def matches(self, keys: tuple[int, ...], values: Lanes, version: Version) -> Iterator[Matches]:
        below = self.store.count
        if isinstance(self.store, SetStore):
            # What came in this round is not seen before the next; a keyed row is as good as it is now.
            below = self.store.delta_begin if version is Version.BEFORE else self.store.delta_end
        return self.index(keys).matches(values, below)

    def column(self, column: int, rows: Lane) -> Lane:
        lane = self.layout.columns[column]
        return shown(lane.shown, self.store.rows, lane.lane, rows)

    def contributed(self) -> Lanes:
        """Returns the rows as contributions to the same relation on another worker."""
        if not isinstance(self.store, KeyedStore):
            return self.store.all
        return with_ordered_floats(self.layout, self.store.all)

    def known(self) -> Iterator[Lanes]:
        """Yields all rows as contributions, without more memory than for a few of them; the indexes are given up."""
        if isinstance(self.store, SectionedStore):
            yield from self.store.contributions()
            return
        self.indexes.clear()
        store = self.store if self.largest is None else self.largest
        lanes = store.rows[: len(self.layout.contribution_types)]
        for begin in range(0, store.count, KNOWN_BATCH):
            yield lanes[:, begin : min(begin + KNOWN_BATCH, store.count)]

    def batches(self) -> Iterator[list[Lane]]:
        """Yields all rows as the relation's columns, some at a time."""
        if not isinstance(self.store, SectionedStore):
            return self.in_batches(self.store.all, RESULT_BATCH)
        return (self.visible(lanes) for lanes in self.store.parts())

    def delta_batches(self, size: int, begin: int = 0) -> Iterator[list[Lane]]:
        """Yields the delta as the relation's columns, so many rows at a time, from this row on."""
        if self.began_with is not None and self.began_with.delta is not None and not self.fresh:
            return self.in_batches(self.began_with.delta[:, begin:], size)  # it is the same, and there already
        if not isinstance(self.store, SectionedStore):
            return self.in_batches(self.store.delta[:, begin:], size)
        assert not begin
        return (self.visible(lanes) for lanes in self.store.delta_parts())

    def in_batches(self, lanes: Lanes, size: int) -> Iterator[list[Lane]]:
        """Yields rows of the store as the relation's columns, so many at a time."""
        for begin in range(0, lanes.shape[1], size):
            yield self.visible(lanes[:, begin : begin + size])

    def visible(self, lanes: Lanes) -> list[Lane]:
        """Returns rows of the store as the relation's columns."""
        everything = slice(None)
        return [shown(column.shown, lanes, column.lane, everything) for column in self.layout.columns]


def refuse_negative(relation: RelationLayout, contributions: Lanes) -> None:
    """Raises a fault for a negative contribution to a monotone sum. Floats are in the order of ints."""
    keys = relation.keys + 1
    if relation.largest_per_key and contributions.shape[0] > keys and bool((contributions[keys] < 0).any()):
        raise Fault("DL504", f"a contribution to the monotone sum of `{relation.name}` is negative")


def shown(how: Shown, lanes: Lanes, lane: int, rows: Lane | slice) -> Lane:
    """Returns a column as rules and people see it."""
    match how:
        case Shown.LANE:
            return lanes[lane, rows]
        case Shown.FLOAT_SUM:
            return floats_to_lane(_finite(lanes[lane, rows].view(np.float64)))
        case Shown.MEAN:
            return floats_to_lane(_finite(lanes[lane, rows].view(np.float64)) / lanes[lane + 1, rows])
        case Shown.WIDE_SUM:
            if lanes[lane + 1, rows].any():
                raise Fault("DL502", "a sum does not fit in a 64-bit int")
            return lanes[lane, rows]
        case Shown.WIDE_MEAN:
            return floats_to_lane(_wide_means(lanes[lane, rows], lanes[lane + 1, rows], lanes[lane + 2, rows]))
        case _:
            assert_never(how)


def _finite(sums: Floats) -> Floats:
    if not np.isfinite(sums).all():
        raise Fault("DL502", "a sum is not a finite number")
    return sums


EXACT_FLOATS = 1 << 53
"""Ints up to this are floats, so that their quotients are rounded once."""


def _wide_means(sums: Lane, carries: Lane, counts: Lane) -> Floats:
    means = sums / counts
    large = np.flatnonzero((carries != 0) | (sums > EXACT_FLOATS) | (sums < -EXACT_FLOATS))
    for place in large.tolist():
        means[place] = ((int(carries[place]) << 64) + int(sums[place])) / int(counts[place])
    return means


def with_plain_floats(relation: RelationLayout, contributions: Lanes) -> Lanes:
    """Lanes that are summed as floats hold plain floats, not floats in the order of ints."""
    return _with_sums(relation, contributions, lambda lane: lane_to_floats(lane).view(np.int64))


def with_ordered_floats(relation: RelationLayout, rows: Lanes) -> Lanes:
    """Returns the rows with every float in the order of ints, as in all other lanes."""
    return _with_sums(relation, rows, lambda lane: floats_to_lane(lane.view(np.float64)))


def _with_sums(relation: RelationLayout, rows: Lanes, change: Callable[[Lane], Lane]) -> Lanes:
    summed = [relation.keys + i for i, rule in enumerate(relation.combine) if rule is Combine.SUM_FLOAT]
    if not summed:
        return rows
    result = rows.copy()
    for lane in summed:
        result[lane] = change(rows[lane])
    return result
