"""Knows how often each row of a stream of changes is there, and since when: a row that is there twice goes twice.

A row that goes is the oldest of its copies that its window still holds. So each change is resolved to the copy that it
is about, and what is kept of it needs no order any more.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emberlog.io.local_relation import facts_of_table
from emberlog.semantics.model import Fact

CHANGE = "change"
"""The last column of the rows of a stream of changes: 1 if the row comes, -1 if it goes."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Holds what the changes of a slide come to, without the column of changes; the times are those of the copies."""

    come: pa.Table
    gone: pa.Table

    @property
    def changes(self) -> pa.Table:
        """Returns both as changes."""
        parts = [
            rows.append_column(CHANGE, pa.repeat(pa.scalar(sign, pa.int8()), rows.num_rows))
            for rows, sign in ((self.come, 1), (self.gone, -1))
        ]
        return pa.concat_tables(parts)


class Copies:
    """Holds the times of the copies of each row, those that came first in front."""

    def __init__(self, size: int | None) -> None:
        """`size` is that of the window."""
        self._size = size
        self._times: dict[Fact, list[int]] = {}
        self._rows_at: dict[int, set[Fact]] = {}
        """The rows that came at a time, so that what leaves the window is forgotten."""
        self._due: list[int] = []
        """A heap of these times."""

    def resolve(self, changes: pa.Table) -> Resolved:
        """Enters the changes of a slide. A row that goes and is not there does nothing."""
        rows = changes.drop_columns([CHANGE])
        times = rows.column(0).to_pylist()
        signs = changes.column(CHANGE).to_pylist()
        facts = [fact[1:] for fact in facts_of_table(rows)]
        come: list[int] = []
        gone: list[int] = []
        gone_times: list[int] = []
        for place in sorted(range(len(times)), key=lambda one: (times[one], -signs[one])):
            fact, time = facts[place], times[place]
            held = self._times.get(fact, [])
            if signs[place] > 0:
                self._enter(fact, time)
                come.append(place)
                continue
            oldest = next((one for one in held if self._size is None or one + self._size >= time), None)
            if oldest is not None:
                self._drop(fact, oldest)
                gone.append(place)
                gone_times.append(oldest)
        went = rows.take(pa.array(gone, pa.int64()))
        return Resolved(
            rows.take(pa.array(come, pa.int64())),
            went.set_column(0, rows.field(0), pa.array(gone_times, rows.field(0).type)),
        )

    def enter(self, rows: pa.Table) -> None:
        """Enters rows that are there."""
        for time, *fact in facts_of_table(rows):
            assert isinstance(time, int)
            self._enter(tuple(fact), time)

    def forget_before(self, since: int | None) -> None:
        """Forgets what no window ahead holds."""
        while since is not None and self._due and self._due[0] < since:
            time = heappop(self._due)
            for fact in self._rows_at.pop(time):
                kept = [one for one in self._times.get(fact, ()) if one != time]
                if kept:
                    self._times[fact] = kept
                else:
                    self._times.pop(fact, None)

    def _enter(self, fact: Fact, time: int) -> None:
        insort(self._times.setdefault(fact, []), time)
        if self._size is None:
            return
        if time not in self._rows_at:
            self._rows_at[time] = set()
            heappush(self._due, time)
        self._rows_at[time].add(fact)

    def _drop(self, fact: Fact, time: int) -> None:
        held = self._times[fact]
        held.remove(time)
        if not held:
            del self._times[fact]


def net(changes: pa.Table) -> pa.Table:
    """Returns resolved changes without those that cancel each other: a row that came and went again."""
    signs = changes.column(CHANGE).to_numpy()
    if not len(signs) or signs.min() > 0:
        return changes
    counts: dict[Fact, int] = {}
    rows = list(facts_of_table(changes.drop_columns([CHANGE])))
    for row, sign in zip(rows, signs.tolist(), strict=True):
        counts[row] = counts.get(row, 0) + sign
    kept = []
    for place, (row, sign) in enumerate(zip(rows, signs.tolist(), strict=True)):
        if counts[row] * sign > 0:
            counts[row] -= sign
            kept.append(place)
    return changes.take(pa.array(kept, pa.int64()))


def held_rows(changes: pa.Table) -> pa.Table:
    """Returns the rows that are there after resolved changes."""
    found = net(changes)
    return found.filter(pc.greater(found.column(CHANGE), 0)).drop_columns([CHANGE])


def without(rows: pa.Table, gone: pa.Table) -> pa.Table:
    """Returns rows without those that are gone, one for each."""
    if not gone.num_rows:
        return rows
    left: dict[Fact, int] = {}
    for row in facts_of_table(gone):
        left[row] = left.get(row, 0) + 1
    stays = np.ones(rows.num_rows, np.bool_)
    for place, row in enumerate(facts_of_table(rows)):
        if left.get(row):
            left[row] -= 1
            stays[place] = False
    return rows.filter(pa.array(stays))
