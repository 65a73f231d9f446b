"""Stores the relations of a worker: rows that stay where they are for the whole recursion.

A set keeps its rows in the order in which they came, so `before`, `delta` and `new` are ranges of row numbers. A
keyed relation keeps one row per key and improves it in place; its delta is a list of row numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.fused import OVERFLOW, add_pairs, join_extreme, take_totals
from emberlog.workers.kernels.indexes import count_matches, group_starts, has_repeats, in_groups
from emberlog.workers.kernels.lanes import Floats, Lane, Lanes, Mask, chosen, lane_to_floats
from emberlog.workers.kernels.memory import at_once, claim, has_room, room
from emberlog.workers.kernels.places import (
    HIGHEST,
    IS_HIGHEST,
    Marks,
    lower_by_join,
    lower_by_rows,
    put_at_places,
    put_by_group,
    sum_by_place,
    take_marked,
)
from emberlog.workers.kernels.tables import (
    MAX,
    MIN,
    NO_TABLE,
    SUM_FLOAT,
    find_all,
    is_full,
    more_places,
    refill,
    table_for,
    upsert,
    upsert_dense,
    upsert_dense_extreme,
    upsert_dense_sum,
)
from emberlog.workers.kernels.threads import even_ranges, over, ranges, threads_here
from emberlog.workers.kernels.tuning import (
    AMPLE_GROWTH,
    CHUNK,
    DENSE_RANGE,
    FREE_RANGE,
    FRUGAL_GROWTH,
    LARGE_SET,
    LARGEST_GROWTH,
    PLACES_PER_MORE,
    PLACES_PER_ROW,
    WIDEST_RANGE,
    WORTH_A_THREAD,
)
from emberlog.workers.plan.faults import overflow
from emberlog.workers.store.memberships import NOT_YET, Membership, RowNumbers, membership_for

if TYPE_CHECKING:
    from emberlog.workers.store.joined import Joined

PAGE = 4096
"""Bytes that the system hands out at a time."""


def direct_range(low: int, high: int, own_low: int, own_places: int, rows: int) -> tuple[int, int] | None:
    """Returns the lowest key and the number of places for an array that has these and now needs keys from `low` to
    `high`, for so many rows; None if keys that lie so far apart are not looked up directly."""
    if own_places:
        low, high = min(low, own_low), max(high, own_low + own_places - 1)
    places = high - low + 1
    if places == own_places:
        return low, places
    if places > max(FREE_RANGE, DENSE_RANGE * rows) or places > WIDEST_RANGE:
        return None
    # Some more than is needed: keys that come in order would widen it every time.
    return low, places + min(places // 2, FREE_RANGE)


def grown_rows(rows: Lanes, count: int, capacity: int) -> Lanes:
    """Returns the first rows, with room for more."""
    claim(8 * rows.shape[0] * capacity)
    grown = np.empty((rows.shape[0], capacity), np.int64)
    grown[:, :count] = rows[:, :count]
    return grown


def more_rows(width: int, capacity: int, rows: int) -> int:
    """Returns the capacity of a store that now needs so many rows: twice as many if there is room, else a few more."""
    generous = max(rows, 2 * capacity)
    return generous if has_room(8 * width * generous) else rows + rows // FRUGAL_GROWTH


def ample_rows(width: int, capacity: int, rows: int) -> int:
    """Returns the same for a store in which nothing is written to rows before they come."""
    if rows < LARGE_SET:
        ample = AMPLE_GROWTH * capacity
        fits = has_room(8 * width * ample)
    else:
        left = room()
        most = LARGEST_GROWTH * capacity
        ample = most if left is None else min(most, left // (8 * max(width, 1)))
        fits = True
    return ample if fits and ample >= max(rows, 2 * capacity) else more_rows(width, capacity, rows)


def touched(size: int, entries: int) -> int:
    """Returns the bytes of an array that are used once it has so many entries in arbitrary places."""
    return min(size, PAGE * entries)


class SetStore:
    """Holds a set of rows."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows = np.empty((width, 16), np.int64)
        self.membership: Membership = RowNumbers(16)
        self.count = 0
        self.delta_begin = 0
        self.delta_end = 0

    def add(self, batch: Lanes) -> bool:
        """Enters the rows that are new; they become the delta with the next `advance`."""
        size = at_once(CHUNK)
        for begin in range(0, batch.shape[1], size):
            end = min(begin + size, batch.shape[1])
            most = self.count + end - begin
            if most > self.rows.shape[1]:
                self.rows = grown_rows(self.rows, self.count, ample_rows(self.width, self.rows.shape[1], most))
            part = batch[:, begin:end]
            if not self.membership.takes(part, most):
                self._enter_anew((self.all, part), more_places(most))
            self.count = self.membership.enter_new(self.rows, self.count, batch, begin, end)
        return True

    def take_over(self, rows: Lanes, count: int) -> None:
        """Fills an empty set with the first rows, which differ, without looking at each again; behind them is room."""
        if count:
            self.rows, self.count = rows, count
            self.membership = NOT_YET  # perhaps nobody adds any

    def append(self, batch: Lanes) -> None:
        """Enters rows that differ, none of which the set has, without looking at each."""
        most = self.count + batch.shape[1]
        if most > self.rows.shape[1]:
            self.rows = grown_rows(self.rows, self.count, ample_rows(self.width, self.rows.shape[1], most))
        self.rows[:, self.count : most] = batch
        self.count = most
        self.membership = NOT_YET

    def _enter_anew(self, parts: Sequence[Lanes], rows: int) -> None:
        self.membership = NOT_YET  # it is made from the rows alone, so that the old one can go first
        self.membership = membership_for(parts, rows)
        self.membership.enter_all(self.rows, self.count)

    def add_joined(self, joined: Joined) -> bool:
        """Refuses, because a set wants rows."""
        return False

    def contains_all(self, rows: Lanes) -> bool:
        """Tells whether the set contains all of `rows`."""
        if self.membership is NOT_YET:
            self._enter_anew((self.all,), self.count)
        return self.membership.contains_all(self.rows, rows)

    def advance(self) -> int:
        """Makes what is new the delta; returns its number of rows."""
        self.delta_begin, self.delta_end = self.delta_end, self.count
        return self.delta_end - self.delta_begin

    def new_rows(self) -> Mask:
        """Returns which rows came since the last `advance`."""
        return np.arange(self.count) >= self.delta_end

    def rows_of_delta(self) -> Mask:
        numbers = np.arange(self.count)
        return (numbers >= self.delta_begin) & (numbers < self.delta_end)

    @property
    def fresh(self) -> int:
        """Returns how many rows came since the last `advance`."""
        return self.count - self.delta_end

    @property
    def delta(self) -> Lanes:
        return self.rows[:, self.delta_begin : self.delta_end]

    @property
    def all(self) -> Lanes:
        return self.rows[:, : self.count]


def distinct_rows(rows: Lanes) -> Lanes:
    """Returns each of the rows once."""
    if _are_distinct_pairs(rows):
        return rows
    store = SetStore(rows.shape[0])
    store.add(rows)
    return store.all


def _are_distinct_pairs(rows: Lanes) -> bool:
    """Tells whether rows are pairs of which none is there twice, if that can be told without a table of them all: most
    inputs are sets already."""
    if rows.shape[0] != 2 or rows.shape[1] < CHUNK:
        return False
    (low, other_low), (high, other_high) = rows.min(axis=1).tolist(), rows.max(axis=1).tolist()
    if max(high - low, other_high - other_low) >= DENSE_RANGE * rows.shape[1]:
        return False
    claim(8 * (rows.shape[1] + high - low + other_high - other_low))
    starts = group_starts(rows[0], low, high - low + 1)
    last = np.full(other_high - other_low + 1, -1, np.int64)
    return not has_repeats(starts, in_groups(rows[0], low, starts, rows[1]), other_low, last)


class KeyedStore:
    """Holds one row per key, the key in the first lanes; contributions improve the others."""

    def __init__(self, keys: int, rules: tuple[int, ...], *, tracks: bool = True) -> None:
        """`tracks=False` where nobody asks for the delta."""
        self.keys = keys
        self.tracks = tracks
        self.rules = np.array(rules, np.int64)
        self.lone_extreme = rules[0] if rules in ((MIN,), (MAX,)) else None
        self.is_lone_float_sum = rules == (SUM_FLOAT,)
        self.width = keys + len(rules)
        self.rows = np.empty((self.width, 16), np.int64)
        self.stamps = np.full(16, -1, np.int64)
        self.table = table_for(16)
        self.dense: npt.NDArray[np.int32] | None = np.zeros(0, np.int32) if keys == 1 else None
        """By key, less the lowest, the number of its row plus one; 0 for none."""
        self.low = 0
        self.count = 0
        self.round = 0
        self.changed = np.empty(16, np.int64)
        self.changes = 0
        self.delta_rows = np.empty(0, np.int64)
        self._by_place: tuple[Lane, Marks] | None = None
        """Of a lone extreme: the value of each key at its place, until something else is entered; and which of them
        are lowered."""

    def emptied(self) -> KeyedStore:
        """Returns a store without rows that has room for as many, with keys in the same range."""
        store = KeyedStore(self.keys, tuple(self.rules.tolist()), tracks=self.tracks)
        store._reserve(self.count)
        if self.dense is None:
            store.dense = None
        else:
            store.dense, store.low = np.zeros_like(self.dense), self.low
        return store

    def add(self, batch: Lanes) -> bool:
        """Combines contributions with the rows of their keys; False when an int sum overflowed."""
        size = at_once(CHUNK)
        for begin in range(0, batch.shape[1], size):
            end = min(begin + size, batch.shape[1])
            self._reserve(self.count + end - begin)
            if self.dense is not None:
                keys = batch[0, begin:end]
                self._widen(int(keys.min()), int(keys.max()), end - begin)
            if self._enters_by_place(end - begin):
                lower = partial(self._lower_by_rows, batch, begin, end)
                if self._lowered(lower):
                    continue
            self._by_place = None
            self.count, self.changes = self._combine(batch, begin, end)
            if self.count < 0:
                return False
        return True

    def take_over(self, rows: Lanes) -> None:
        """Fills an empty store with rows whose keys differ, all of them as the delta."""
        count = rows.shape[1]
        if not count:
            return
        claim(24 * count)
        self.rows, self.count = rows, count
        self.stamps, self.changed = np.zeros(count, np.int64), np.empty(count, np.int64)
        self.delta_rows, self.round = np.arange(count), 1
        if self.dense is None:
            self._fill_table(count)
        elif self._widen(int(rows[0].min()), int(rows[0].max()), 0):
            self.dense[rows[0] - self.low] = np.arange(1, count + 1, dtype=np.int32)

    def add_joined(self, joined: Joined) -> bool:
        """Combines the pairs of a join as they are met; False if they have to be written out first."""
        is_sum = self.is_lone_float_sum and not self.tracks and joined.base is not None and joined.column is None
        if self.dense is None or not (is_sum or self.lone_extreme is not None):
            return False
        pairs = joined.rows
        if not pairs:
            return True
        if not self._widen(*joined.index.range_of(joined.key), pairs) or (is_sum and pairs < len(self.dense)):
            return False
        self._reserve(self.count + min(pairs, len(self.dense) - self.count))
        if is_sum:
            self._add_sums(joined)
            return True
        if self._enters_by_place(pairs):
            outcome = self._lowered(partial(self._lower_by_join, joined))
            if outcome:
                return True
        self._by_place = None
        keys, starts = joined.index.in_order(joined.key), joined.index.starts
        nothing = np.empty(0, np.int64)
        self.count, self.changes = join_extreme(
            joined.numbers,
            starts,
            keys,
            nothing if joined.base is None else joined.base,
            nothing if joined.column is None else joined.index.in_order(joined.column),
            joined.base is not None,
            joined.column is not None,
            self.dense,
            self.low,
            self.rows,
            self.count,
            self.lone_extreme == MAX,
            self.stamps,
            self.round,
            self.changed,
            self.changes,
        )
        if self.count == OVERFLOW:
            raise overflow(joined.rule)
        return True

    def _add_sums(self, joined: Joined) -> None:
        """Adds up the pairs of a join by key first, which is one look into memory for each of them: by who gives, or
        where most give something, by who takes, so that threads do not meet."""
        assert self.dense is not None and joined.base is not None
        base, totals = lane_to_floats(joined.base), np.full(len(self.dense), -0.0)
        if not self._sum_by_place(joined, base, totals):
            keys = joined.index.in_order(joined.key)
            add_pairs(joined.numbers, joined.index.starts, keys, base, self.low, totals)
        self.count = take_totals(totals, self.dense, self.low, self.rows, self.count)

    def _sum_by_place(self, joined: Joined, base: Floats, totals: Floats) -> bool:
        """Says False where not most of the relation takes part, or a key of it more than once."""
        if threads_here() == 1 or joined.rows < max(joined.index.store.count // 2, WORTH_A_THREAD):
            return False
        by_group = np.full(len(joined.index.starts) - 1, -0.0)
        if not put_by_group(joined.numbers, base, by_group):
            return False
        reverse = joined.index.reverse(joined.key)
        if reverse is None:
            return False
        begin = reverse.low - self.low
        own = totals[begin : begin + len(reverse.starts) - 1]
        pieces = even_ranges(reverse.starts[1:], WORTH_A_THREAD)
        over(sum_by_place, pieces, reverse.starts, reverse.groups, by_group, own)
        return True

    def _enters_by_place(self, rows: int) -> bool:
        """Tells whether so many contributions are enough for their values to be looked up by place, and not by row."""
        if self.dense is None or self.lone_extreme is None or rows < WORTH_A_THREAD:
            return False
        return len(self.dense) <= rows * (PLACES_PER_ROW if self._by_place is None else PLACES_PER_MORE)

    def _lowered(self, lower: Callable[[Lane, Marks], int | None]) -> bool:
        """Has values lowered at their places, and enters those that were; says False if one stands for nothing there,
        and nothing was entered."""
        assert self.dense is not None
        by_place = self._values_by_place()
        if by_place is None:
            return False
        values, marks = by_place
        if lower(values, marks) is not None:
            self._by_place = None
            return False
        known = (self.dense, self.low, self.rows, self.count)
        changes = (self.stamps, self.round, self.changed, self.changes)
        self.count, self.changes = take_marked(marks, values, self.lone_extreme == MAX, *known, *changes)
        return True

    def _values_by_place(self) -> tuple[Lane, Marks] | None:
        assert self.dense is not None
        if self._by_place is None or len(self._by_place[0]) != len(self.dense):
            places = len(self.dense)
            claim(9 * places)
            values, marks = np.full(places, HIGHEST), np.zeros(-(-places // 8) * 8, np.uint8)
            if not put_at_places(self.rows, self.count, self.low, self.lone_extreme == MAX, values):
                return None
            self._by_place = values, marks
        return self._by_place

    def _lower_by_rows(self, batch: Lanes, begin: int, end: int, values: Lane, marks: Marks) -> int | None:
        pieces = [(begin + first, begin + last) for first, last in ranges(end - begin, WORTH_A_THREAD)]
        found = over(lower_by_rows, pieces, batch, self.low, self.lone_extreme == MAX, values, marks)
        return IS_HIGHEST if IS_HIGHEST in found else None

    def _lower_by_join(self, joined: Joined, values: Lane, marks: Marks) -> int | None:
        index, nothing = joined.index, np.empty(0, np.int64)
        found = over(
            lower_by_join,
            even_ranges(np.cumsum(count_matches(joined.numbers, index.starts)), WORTH_A_THREAD),
            joined.numbers,
            index.starts,
            index.in_order(joined.key),
            nothing if joined.base is None else joined.base,
            nothing if joined.column is None else index.in_order(joined.column),
            joined.base is not None,
            joined.column is not None,
            self.low,
            self.lone_extreme == MAX,
            values,
            marks,
        )
        if OVERFLOW in found:
            raise overflow(joined.rule)
        return IS_HIGHEST if IS_HIGHEST in found else None

    def _combine(self, batch: Lanes, begin: int, end: int) -> tuple[int, int]:
        changes = (self.stamps, self.round, self.changed, self.changes)
        if self.dense is None:
            known = (self.table, self.rows, self.count, self.keys, self.rules)
            return upsert(*known, batch, begin, end, *changes)
        dense = (self.dense, self.low, self.rows, self.count)
        if self.lone_extreme is not None:
            return upsert_dense_extreme(*dense, self.lone_extreme == MAX, batch, begin, end, *changes)
        if self.is_lone_float_sum:
            return upsert_dense_sum(*dense, batch, begin, end, *changes, self.tracks)
        return upsert_dense(*dense, self.rules, batch, begin, end, *changes)

    def _reserve(self, rows: int) -> None:
        if rows > self.rows.shape[1]:
            capacity = more_rows(self.width + 2, self.rows.shape[1], rows)
            self.rows = grown_rows(self.rows, self.count, capacity)
            claim(16 * capacity)
            self.stamps = np.concatenate([self.stamps, np.full(capacity - self.stamps.shape[0], -1, np.int64)])
            self.changed = np.concatenate([self.changed, np.empty(capacity - self.changed.shape[0], np.int64)])
        if self.dense is None and is_full(self.table, rows):
            self._fill_table(more_places(rows))

    def _fill_table(self, rows: int) -> None:
        self.table = NO_TABLE
        self.table = table_for(rows)
        refill(self.table, self.rows, self.keys, self.count)

    def _widen(self, low: int, high: int, coming: int) -> bool:
        """Makes room for keys in a range, or gives up looking keys up directly and says False."""
        assert self.dense is not None
        wanted = direct_range(low, high, self.low, len(self.dense), self.count + coming)
        if wanted is None:
            self.dense = None
            self._fill_table(2 * self.rows.shape[1])
            return False
        low, places = wanted
        if places > len(self.dense):
            claim(touched(4 * places, self.count + coming))
            wider = np.zeros(places, np.int32)
            wider[self.low - low : self.low - low + len(self.dense)] = self.dense
            self.dense, self.low = wider, low
        return True

    def find(self, rows: Lanes) -> Lane:
        """Returns the numbers of the rows that have these keys, -1 where there is none."""
        if self.dense is None:
            return find_all(self.table, self.rows, self.keys, rows)
        places = rows[0] - self.low
        is_inside = (places >= 0) & (places < len(self.dense))
        found = self.dense[np.where(is_inside, places, 0)].astype(np.int64) - 1 if len(self.dense) else places
        return np.where(is_inside, found, -1)

    def advance(self) -> int:
        """Makes the rows that changed the delta; returns their number."""
        self.delta_rows = self.changed[: self.changes].copy()
        self.changes = 0
        self.round += 1
        return len(self.delta_rows)

    def new_rows(self) -> Mask:
        """Returns which rows came or changed since the last `advance`."""
        return self._marked(self.changed[: self.changes])

    def rows_of_delta(self) -> Mask:
        return self._marked(self.delta_rows)

    def _marked(self, numbers: Lane) -> Mask:
        marks = np.zeros(self.count, np.bool_)
        marks[numbers] = True
        return marks

    @property
    def fresh(self) -> int:
        """Returns how many rows came or changed since the last `advance`."""
        return self.changes

    @property
    def delta(self) -> Lanes:
        return chosen(self.rows, self.delta_rows)

    @property
    def all(self) -> Lanes:
        return self.rows[:, : self.count]


class Store(Protocol):
    """Lists what the rounds of a recursion need of the place where a relation's rows are."""

    @property
    def rows(self) -> Lanes:
        """Returns all rows that ever came, by number, and room for more."""

    @property
    def count(self) -> int: ...

    def add(self, batch: Lanes) -> bool:
        """Combines contributions with what is there; False when a sum overflowed."""

    def add_joined(self, joined: Joined) -> bool:
        """Combines the pairs of a join as they are met; False if they have to be written out first."""

    def advance(self) -> int:
        """Makes what came or changed the delta; returns its number of rows."""

    @property
    def fresh(self) -> int:
        """Returns how many rows came or changed since the last `advance`."""

    @property
    def delta(self) -> Lanes: ...

    @property
    def all(self) -> Lanes: ...


class StaticStore:
    """Holds a relation that the recursion does not change."""

    def __init__(self, rows: Lanes) -> None:
        self.all = rows
        self.width = rows.shape[0]
        self.count = rows.shape[1]


class StreamedStatic:
    """Reads the result of an earlier stratum that is only read from its beginning to its end, and so never kept as
    rows."""

    def __init__(self, count: Callable[[], int], batches: Callable[[], Iterator[list[Lane]]]) -> None:
        self.count = count
        self.batches = batches
