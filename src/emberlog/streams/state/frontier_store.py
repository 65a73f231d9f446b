"""A relation whose facts expire: rows come, outlive each other, and go with the slides.

For each key it keeps the frontier of pairs of expiry and rank: a row that another one outlives and beats will never be
seen, so it is dropped at once. Without rank lanes a key has one row, which holds until the longest-lived derivation
expires. What is left of a key after each slide is then its answer, with nothing derived anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from emberlog.streams.state.expiry_queue import ExpiryQueue
from emberlog.workers.kernels.frontiers import (
    distinct,
    held_keys,
    publish,
    refill_leaders,
    settle_chains,
    sort_out_due,
    upsert_frontier,
    visible_rows,
)
from emberlog.workers.kernels.lanes import Lane, Lanes, Mask, no_rows
from emberlog.workers.kernels.tables import table_for

if TYPE_CHECKING:
    from emberlog.workers.store.joined import Joined

FEWEST_ROWS = 1 << 12
"""A store with fewer rows is not worth tidying up."""

FEWEST_AT_ONCE = 1 << 12
"""Rows that are entered at a time, or as many as are there: most are often known, and need no room."""


class FrontierStore:
    """Has what the rounds of a recursion need of a store, and knows the slide that it is at."""

    def __init__(self, keys: int, directions: tuple[int, ...], slide: int, *, tracks_changes: bool = False) -> None:
        """`directions` has 1 for each rank lane in which small values are better, -1 where large ones are."""
        self.keys = keys
        self.directions = np.array(directions, np.int64)
        self.shown = keys + len(directions)
        """The lanes that people see."""
        self.width = self.shown + (2 if directions else 1)
        self.slide = slide
        self.tracks_changes = tracks_changes
        self.rows = np.empty((self.width, 16), np.int64)
        self.following = np.empty(16, np.int64)
        self.leaders = np.empty(16, np.int64)
        self.stamps = np.full(16, -1, np.int64)
        self.marks = np.zeros(16, np.int64)
        self.mark = 0
        self.changed = np.empty(16, np.int64)
        self.is_only_longer = np.zeros(16, np.bool_)
        """Of rows that changed: whether all that is new about them is that they hold longer."""
        self.table = table_for(16)
        self.count = 0
        self.changes = 0
        self.round = 0
        self.delta_rows = np.empty(0, np.int64)
        self.queue = ExpiryQueue()
        self.touched: list[Lane] = []
        """Rows that came or changed since the slide began."""
        self.published = np.empty((len(directions), 16), np.int64)
        self.is_published = np.zeros(16, np.bool_)

    # What the rounds of a recursion use

    def add(self, batch: Lanes) -> bool:
        """Enters contributions: no sum, so none that overflows."""
        begin = 0
        while begin < batch.shape[1]:
            end = min(begin + max(FEWEST_AT_ONCE, self.count), batch.shape[1])
            self._reserve(self.count + end - begin)
            self._upsert(batch, begin, end)
            begin = end
        return True

    def _upsert(self, batch: Lanes, begin: int, end: int) -> None:
        self.count, self.changes = upsert_frontier(
            self.table,
            self.rows,
            self.following,
            self.leaders,
            self.count,
            self.keys,
            self.directions,
            self.slide,
            batch,
            begin,
            end,
            self.stamps,
            self.round,
            self.changed,
            self.changes,
            self.is_only_longer,
        )

    def add_joined(self, joined: Joined) -> bool:
        """Contributions have to be written out."""
        return False

    def advance(self) -> int:
        """Makes the rows that changed the delta; gives their number."""
        changed = self.changed[: self.changes]
        self.delta_rows = changed[self.holds(changed)]
        self._find_what_is_beaten()
        self.touched.append(self.delta_rows)
        self.changes = 0
        self.round += 1
        return len(self.delta_rows)

    def _find_what_is_beaten(self) -> None:
        if len(self.directions):
            settle_chains(self.rows, self.following, self.leaders, self.delta_rows, self.slide)

    @property
    def fresh(self) -> int:
        return self.changes

    @property
    def delta(self) -> Lanes:
        return self.rows[:, self.delta_rows]

    @property
    def seen_delta(self) -> Lanes:
        """Those rows of it that are the best of their keys now."""
        return self._seen(self.delta_rows)

    @property
    def seen_news(self) -> Lanes:
        """Those of them that are more than what was seen before, holding longer."""
        return self._seen(self.delta_rows[~self.is_only_longer[self.delta_rows]])

    def _seen(self, rows: Lane) -> Lanes:
        return self.rows[:, rows[self.rows[-2, rows] < self.slide] if len(self.directions) else rows]

    @property
    def all(self) -> Lanes:
        """The rows that hold."""
        return self.rows[:, : self.count][:, self.rows[-1, : self.count] >= self.slide]

    def holds(self, rows: Lane) -> Mask:
        """Which of these rows have not expired, and are not beaten."""
        is_held: Mask = self.rows[-1, rows] >= self.slide
        return is_held

    def _reserve(self, rows: int) -> None:
        capacity = self.rows.shape[1]
        if rows > capacity:
            larger = max(rows, 2 * capacity)
            self.rows = _grown(self.rows, larger)
            self.published = _grown(self.published, larger)
            self.following = np.resize(self.following, larger)
            self.leaders = np.resize(self.leaders, larger)
            self.stamps = np.resize(self.stamps, larger)
            self.marks = np.concatenate([self.marks, np.zeros(larger - capacity, np.int64)])
            self.changed = np.resize(self.changed, larger)
            self.is_only_longer = np.concatenate([self.is_only_longer, np.zeros(larger - capacity, np.bool_)])
            self.is_published = np.concatenate([self.is_published, np.zeros(larger - capacity, np.bool_)])
        if 2 * rows > len(self.table):
            self.table = table_for(2 * rows)
            refill_leaders(self.table, self.rows, self.leaders, self.keys, self.count)

    # Slides

    def expire(self, slide: int) -> int:
        """Moves to a slide; gives the number of keys that had a row until now and have none any more."""
        self.slide = slide
        gone = self._let_go()
        self.touched = [gone]
        return len(gone) if not len(self.directions) else self._without_rows(self._distinct(self.leaders[gone]))

    def _let_go(self) -> Lane:
        """The rows that have expired by now. Those that hold longer took their later places when they changed."""
        self.mark += 1
        gone, _ = sort_out_due(self.rows, self.queue.take(self.slide), self.slide, self.marks, self.mark)
        return gone

    def _distinct(self, rows: Lane) -> Lane:
        self.mark += 1
        return distinct(rows, self.marks, self.mark)

    def _without_rows(self, leaders: Lane) -> int:
        chains = (self.rows, self.following, self.keys, self.directions)
        return len(leaders) - held_keys(*chains, self.slide, leaders)

    def settle(self) -> tuple[Lanes, Lanes]:
        """Ends a slide: rows take their places in the queue. Gives what it added to and removed from what is visible,
        in the lanes that are shown, if somebody wants to know."""
        touched = self._distinct(np.concatenate(self.touched)) if self.touched else np.empty(0, np.int64)
        self.touched = []
        holding = touched[self.holds(touched)]
        self.queue.enter(holding, self.rows[-1, holding])
        if not self.tracks_changes:
            return no_rows(self.shown), no_rows(self.shown)
        leaders = self._distinct(self.leaders[touched])
        chains = (self.rows, self.following, self.leaders, self.keys, self.directions)
        return publish(*chains, self.slide, leaders, self.published, self.is_published)

    @property
    def visible_count(self) -> int:
        """How many keys have a row."""
        leaders = np.flatnonzero(self.leaders[: self.count] == np.arange(self.count))
        return held_keys(self.rows, self.following, self.keys, self.directions, self.slide, leaders)

    def visible(self) -> Lanes:
        """The best row of each key, in the lanes that are shown."""
        chains = (self.rows, self.following, self.leaders, self.count, self.keys, self.directions)
        return self.rows[: self.shown, visible_rows(*chains, self.slide)]

    def tidied(self) -> FrontierStore | None:
        """The same rows in a store of their own, if most rows here are of no use any more. Only between slides."""
        if self.count < FEWEST_ROWS or 2 * np.count_nonzero(self.rows[-1, : self.count] >= self.slide) > self.count:
            return None
        fresh = self._empty()
        fresh.add(np.ascontiguousarray(self.all))
        fresh.advance()
        fresh.settle()
        return fresh

    def _empty(self) -> FrontierStore:
        directions = tuple(self.directions.tolist())
        return FrontierStore(self.keys, directions, self.slide, tracks_changes=self.tracks_changes)

    @property
    def bytes(self) -> int:
        """The memory of its arrays and of its places in the queue."""
        by_row = (
            self.following,
            self.leaders,
            self.stamps,
            self.marks,
            self.changed,
            self.is_only_longer,
            self.is_published,
        )
        arrays = (self.rows, self.table, self.published, *by_row)
        return sum(array.nbytes for array in arrays) + 8 * self.queue.entries


def _grown(lanes: Lanes, capacity: int) -> Lanes:
    larger = np.empty((lanes.shape[0], capacity), np.int64)
    larger[:, : lanes.shape[1]] = lanes
    return larger
