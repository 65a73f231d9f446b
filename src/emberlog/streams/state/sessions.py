"""Keeps the tuples of sessions that are still open, and tells which sessions are over.

A session is a run of tuples with no longer gap between them than its window says; each value of a key has sessions of
its own. It is over when the watermark is further behind its last tuple than the gap. A tuple before the watermark is
late, so none can become a part of a session that is over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emberlog.streams.plan.slides import Clock, Due, Schedule
from emberlog.streams.state.backlog import times_of
from emberlog.workers.kernels.lanes import Lane


@dataclass(frozen=True, slots=True)
class _Session:
    begin: int
    end: int
    """The times of its first and of its last tuple."""
    places: Lane
    """Its tuples among those of all streams, one stream behind the other."""


class SessionBacklog:
    """Holds the tuples of all streams that no session has been told of."""

    def __init__(self, schedule: Schedule, tuples: Mapping[str, pa.Table], keys: Mapping[str, int]) -> None:
        """`keys` has the column of the key in each stream; it is empty if sessions have none."""
        assert schedule.gap is not None
        self.schedule = schedule
        self._gap = schedule.gap
        self._keys = keys
        self._tuples = dict(tuples)

    @property
    def tuples(self) -> Mapping[str, pa.Table]:
        return self._tuples

    def add(self, tuples: Mapping[str, pa.Table]) -> None:
        for stream, table in tuples.items():
            if table.num_rows:
                self._tuples[stream] = pa.concat_tables([self._tuples[stream], table])

    def due(self, clock: Clock, *, to_the_end: bool = False, idle: Collection[str] = ()) -> Due:
        """Returns the ends of the sessions that are over. The clock is closed up to the watermark."""
        watermark = clock.watermark(self.schedule, self._tuples, idle)
        if to_the_end:
            last = max((one.end for one in self._sessions()), default=None)
            watermark = clock.closed if last is None else last + self._gap + 1
        if watermark is None or (clock.closed is not None and watermark <= clock.closed):
            return Due((), clock)
        over = tuple(sorted(one.end for one in self._sessions() if self._is_over(one, watermark)))
        return Due(over, replace(clock, closed=watermark))

    def _is_over(self, session: _Session, watermark: int) -> bool:
        return session.end + self._gap < watermark

    def take(self, slides: tuple[int, ...]) -> Iterator[tuple[int, dict[str, pa.Table]]]:
        """Yields the tuples of each session that ends at one of these times, in the order of their ends."""
        left = list(slides)
        taken: list[Lane] = []
        for session in sorted(self._sessions(), key=lambda one: (one.end, one.begin)):
            if session.end in left:
                left.remove(session.end)
                taken.append(session.places)
                yield session.end, self._at(session.places)
        gone = np.concatenate([*taken, np.empty(0, np.int64)])
        count = sum(table.num_rows for table in self._tuples.values())
        self._tuples = self._at(np.setdiff1d(np.arange(count), gone))

    def forget_told(self, closed: int) -> None:
        """Lets the tuples go of sessions that were over when the watermark was there."""
        told = [one.places for one in self._sessions() if self._is_over(one, closed)]
        count = sum(table.num_rows for table in self._tuples.values())
        self._tuples = self._at(np.setdiff1d(np.arange(count), np.concatenate([*told, np.empty(0, np.int64)])))

    @property
    def next_end(self) -> int | None:
        """Returns the end of the session that is over first, if no more tuples come."""
        return min((one.end for one in self._sessions()), default=None)

    @property
    def earliest(self) -> int | None:
        """Returns the time of the first tuple that is held."""
        times = [int(times_of(table).min()) for table in self._tuples.values() if table.num_rows]
        return min(times, default=None)

    def _sessions(self) -> list[_Session]:
        times = np.concatenate([times_of(table) for table in self._tuples.values()])
        if not len(times):
            return []
        codes = self._codes(len(times))
        order = np.lexsort((times, codes))
        times, codes = times[order], codes[order]
        is_first = np.concatenate([[True], (codes[1:] != codes[:-1]) | (times[1:] - times[:-1] > self._gap)])
        starts = np.flatnonzero(is_first)
        ends = np.append(starts[1:], len(times)) - 1
        return [
            _Session(int(times[start]), int(times[end]), order[start : end + 1])
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def _codes(self, count: int) -> Lane:
        """Numbers the values of the key."""
        if not self._keys:
            return np.zeros(count, np.int64)
        keys = pa.chunked_array(
            [chunk for stream, table in self._tuples.items() for chunk in table.column(self._keys[stream]).chunks],
            next(iter(self._tuples.values())).schema.field(next(iter(self._keys.values()))).type,
        )
        encoded = pc.dictionary_encode(keys, null_encoding="encode").combine_chunks()
        return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)

    def _at(self, places: Lane) -> dict[str, pa.Table]:
        found: dict[str, pa.Table] = {}
        begin = 0
        for stream, table in self._tuples.items():
            own = places[(places >= begin) & (places < begin + table.num_rows)] - begin
            found[stream] = table.take(pa.array(np.sort(own)))
            begin += table.num_rows
        return found
