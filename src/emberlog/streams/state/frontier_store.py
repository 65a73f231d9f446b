"""Stores of relations whose facts expire: rows come, outlive each other, and go with the slides.

A FrontierStore keeps for each key the frontier of pairs of expiry and rank: a row that another one outlives and beats
will never be seen, so it is dropped at once. Without rank lanes a key has one row, which holds until the longest-lived
derivation expires. What is left of a key after each slide is then its answer, with nothing derived anew.

A BestStore, for relations that are repaired, keeps per key only the best row of now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from emberlog.streams.plan.expiring_program import NEVER
from emberlog.workers.kernels.frontiers import (
    NO_ROW,
    distinct,
    held_keys,
    publish,
    refill_leaders,
    settle_chains,
    sort_out_due,
    upsert_best,
    upsert_frontier,
    visible_rows,
)
from emberlog.workers.kernels.lanes import Lane, Lanes, Mask, chosen, no_rows
from emberlog.workers.kernels.tables import table_for

if TYPE_CHECKING:
    from emberlog.workers.store.joined import Joined

FEWEST_ROWS = 1 << 12
"""A store with fewer rows is not worth compacting."""

FEWEST_AT_ONCE = 1 << 12
"""How many rows are entered at a time, or as many as the store has: most are often known, and need no room."""


_BY_ROW = ("rows", "published", "following", "leaders", "stamps", "marks", "changed", "is_only_longer", "is_published")
"""The arrays of a store that have a place for each row."""


class ExpiryQueue:
    """Finds the rows that expire with a slide without looking at any other row: the queue-based index of Streamlog.

    It has a bucket of rows per slide. A row whose life grows longer is entered again, and its old entry counts no more:
    the caller of `take` looks whether its rows still expire then."""

    def __init__(self) -> None:
        self._buckets: dict[int, list[Lane]] = {}
        self._first: int | None = None
        """No bucket is earlier."""

    def enter(self, rows: Lane, last_slides: Lane) -> None:
        """Enters rows with the last slide at which each holds; those that never expire are not entered."""
        mortal = last_slides < NEVER
        rows, last_slides = rows[mortal], last_slides[mortal]
        if not len(rows):
            return
        order = np.argsort(last_slides, kind="stable")
        rows, last_slides = rows[order], last_slides[order]
        starts = np.flatnonzero(np.concatenate([[True], last_slides[1:] != last_slides[:-1]]))
        for slide, part in zip(last_slides[starts].tolist(), np.split(rows, starts[1:]), strict=True):
            self._buckets.setdefault(slide, []).append(part)
        earliest = int(last_slides[0])
        self._first = earliest if self._first is None else min(self._first, earliest)

    def take(self, slide: int) -> Lane:
        """Takes out the rows that were entered for a slide before this one, some perhaps twice."""
        found: list[Lane] = []
        if self._first is not None:
            past = range(self._first, slide)
            # After a long silence there are fewer buckets than slides that went by.
            for number in past if len(past) <= len(self._buckets) else [one for one in self._buckets if one < slide]:
                found += self._buckets.pop(number, ())
            self._first = max(self._first, slide)
        return np.concatenate(found) if found else np.empty(0, np.int64)

    @property
    def entries(self) -> int:
        return sum(len(part) for parts in self._buckets.values() for part in parts)


class FrontierStore:
    """Is a store for the rounds of a recursion that knows the slide it is at."""

    def __init__(self, keys: int, directions: tuple[int, ...], slide: int, *, tracks_changes: bool = False) -> None:
        """`directions` has 1 for each rank lane in which small values are better, -1 where large ones are."""
        self.keys = keys
        self.directions = np.array(directions, np.int64)
        self.shown = keys + len(directions)
        """The number of lanes that answers show."""
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
        """Which of the rows that changed have nothing new but that they hold longer."""
        self.table = table_for(16)
        self.count = 0
        self.changes = 0
        self.round = 0
        self.delta_rows = np.empty(0, np.int64)
        self.queue = ExpiryQueue()
        self.touched: list[Lane] = []
        """The rows that came or changed since the slide began."""
        self.published = np.empty((len(directions), 16), np.int64)
        self.is_published = np.zeros(16, np.bool_)

    # What the rounds of a recursion use

    def add(self, batch: Lanes) -> bool:
        """Enters contributions. Always returns True: nothing is summed, so nothing overflows."""
        begin = 0
        while begin < batch.shape[1]:
            end = min(begin + max(FEWEST_AT_ONCE, self.count), batch.shape[1])
            self._reserve(self.count + end - begin)
            self._upsert(batch, begin, end)
            begin = end
        return True

    def _upsert(self, batch: Lanes, begin: int, end: int) -> None:
        chains = (self.table, self.rows, self.following, self.leaders, self.count, self.keys, self.directions)
        changes = (self.stamps, self.round, self.changed, self.changes, self.is_only_longer)
        self.count, self.changes = upsert_frontier(*chains, self.slide, batch, begin, end, *changes)

    def add_joined(self, joined: Joined) -> bool:
        """Returns False: contributions have to be written out."""
        return False

    def advance(self) -> int:
        """Makes the rows that changed the delta, and returns their number."""
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
        return chosen(self.rows, self.delta_rows)

    @property
    def seen_delta(self) -> Lanes:
        """Returns the rows of the delta that are the best of their keys now."""
        return self._seen(self.delta_rows)

    @property
    def seen_news(self) -> Lanes:
        """Returns the rows of `seen_delta` with more news than that they hold longer."""
        return self._seen(self.delta_rows[~self.is_only_longer[self.delta_rows]])

    def _seen(self, rows: Lane) -> Lanes:
        return chosen(self.rows, rows[self.rows[-2, rows] < self.slide] if len(self.directions) else rows)

    @property
    def all(self) -> Lanes:
        """Returns the rows that hold."""
        return chosen(self.rows[:, : self.count], self.rows[-1, : self.count] >= self.slide)

    def holds(self, rows: Lane) -> Mask:
        """Tells which of these rows have not expired, and are not beaten."""
        is_held: Mask = self.rows[-1, rows] >= self.slide
        return is_held

    def _reserve(self, rows: int) -> None:
        capacity = self.rows.shape[1]
        if rows > capacity:
            for name in _BY_ROW:
                setattr(self, name, _grown(getattr(self, name), max(rows, 2 * capacity)))
        if 2 * rows > len(self.table):
            self.table = table_for(2 * rows)
            refill_leaders(self.table, self.rows, self.leaders, self.keys, self.count)

    # Slides

    def expire(self, slide: int) -> int:
        """Moves to a slide, and returns the number of keys that had a row until now and have none any more."""
        self.slide = slide
        gone = self._let_go()
        self.touched = [gone]
        return len(gone) if not len(self.directions) else self._without_rows(self._distinct(self.leaders[gone]))

    def _let_go(self) -> Lane:
        """Returns the rows that have expired. Those that hold longer took their later places when they changed."""
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
        """Ends a slide: rows take their places in the queue. Returns the rows that it added to and removed from what is
        visible, in the lanes that are shown; none if changes are not tracked."""
        touched = self._distinct(np.concatenate(self.touched)) if self.touched else np.empty(0, np.int64)
        self.touched = []
        holding = touched[self.holds(touched)]
        self.queue.enter(holding, self.rows[-1, holding])
        if not self.tracks_changes:
            return no_rows(self.shown), no_rows(self.shown)
        leaders = self._distinct(self.leaders[touched])
        chains = (self.rows, self.following, self.leaders, self.keys, self.directions)
        return publish(*chains, self.slide, leaders, self.published, self.is_published)

    def visible(self) -> Lanes:
        """Returns the best row of each key, in the lanes that are shown."""
        chains = (self.rows, self.following, self.leaders, self.count, self.keys, self.directions)
        return chosen(self.rows[: self.shown], visible_rows(*chains, self.slide))

    def compacted(self) -> FrontierStore | None:
        """Returns the same rows in a new store if most rows here are of no use any more, else None. Only between
        slides."""
        if self.count < FEWEST_ROWS or 2 * np.count_nonzero(self.rows[-1, : self.count] >= self.slide) > self.count:
            return None
        fresh = self._empty()
        fresh.add(self.all)
        fresh.advance()
        fresh.settle()
        return fresh

    def _empty(self) -> FrontierStore:
        directions = tuple(self.directions.tolist())
        return FrontierStore(self.keys, directions, self.slide, tracks_changes=self.tracks_changes)

    @property
    def bytes(self) -> int:
        """Returns the memory of the arrays and of the places in the queue."""
        by_row: int = sum(getattr(self, name).nbytes for name in _BY_ROW)
        return by_row + int(self.table.nbytes) + 8 * self.queue.entries


class BestStore(FrontierStore):
    """Keeps per key the best row, and a slide until which it surely holds.

    When that slide has passed, the key is lost, and has to be derived again from what still holds. Until then a
    derivation that would last longer is of no interest: it moves the slide, and nothing is derived from it."""

    def __init__(
        self, keys: int, directions: tuple[int, ...], slide: int, tells_longer: bool, *, tracks_changes: bool = False
    ) -> None:
        """`tells_longer` where a row that only holds longer than before is a change, too, because other workers have
        copies."""
        super().__init__(keys, directions, slide, tracks_changes=tracks_changes)
        self.tells_longer = tells_longer
        self.lost = no_rows(keys)
        """The keys whose rows expired with the last slide."""

    def _upsert(self, batch: Lanes, begin: int, end: int) -> None:
        before = self.count
        rows = (self.table, self.rows, self.count, self.keys, self.directions, self.slide)
        changes = (self.tells_longer, self.stamps, self.round, self.changed, self.changes)
        self.count, self.changes = upsert_best(*rows, batch, begin, end, *changes)
        # Each row is the only one of its key.
        self.leaders[before : self.count] = np.arange(before, self.count)
        self.following[before : self.count] = NO_ROW

    def _find_what_is_beaten(self) -> None:
        """Does nothing: what is beaten is not kept."""

    def _let_go(self) -> Lane:
        self.mark += 1
        gone, longer = sort_out_due(self.rows, self.queue.take(self.slide), self.slide, self.marks, self.mark)
        self.queue.enter(longer, self.rows[-1, longer])
        self.lost = chosen(self.rows[: self.keys], gone)
        return gone

    def _empty(self) -> BestStore:
        directions, tracks_changes = tuple(self.directions.tolist()), self.tracks_changes
        return BestStore(self.keys, directions, self.slide, self.tells_longer, tracks_changes=tracks_changes)


def _grown(array: npt.NDArray[Any], capacity: int) -> npt.NDArray[Any]:
    larger = np.zeros((*array.shape[:-1], capacity), array.dtype)
    larger[..., : array.shape[-1]] = array
    return larger
