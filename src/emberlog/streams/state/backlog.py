"""Keeps the tuples that wait for their slide to close, in the order of their times."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from emberlog.streams.plan.slides import Clock, Due, Schedule, due_slides

TIME = 0
"""The column of a stream's tuples that is their time."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """Holds the tuples of a batch by whether they came in time, and the clock after the batch."""

    in_time: Mapping[str, pa.Table]
    late: Mapping[str, pa.Table]
    """Tuples that came after their slide had closed."""
    clock: Clock


def sort_out(schedule: Schedule, clock: Clock, batch: Mapping[str, pa.Table]) -> Sorted:
    """Parts late tuples from those in time. Late is what came after its slide had closed with an earlier batch: a batch
    has no order."""
    after = clock
    in_time: dict[str, pa.Table] = {}
    late: dict[str, pa.Table] = {}
    for stream, table in batch.items():
        times = table.column(TIME)
        if clock.closed is None:
            in_time[stream], late[stream] = table, table.slice(0, 0)
        else:
            keep = pc.greater(times, schedule.until(clock.closed))
            in_time[stream], late[stream] = table.filter(keep), table.filter(pc.invert(keep))
        greatest = pc.max(times).as_py()
        if greatest is not None:
            after = after.seen(stream, greatest)
    return Sorted(in_time, late, after)


class Backlog:
    """Holds the waiting tuples of all streams."""

    def __init__(self, schedule: Schedule, tuples: Mapping[str, pa.Table]) -> None:
        self.schedule = schedule
        self._tuples = {stream: _by_time(table) for stream, table in tuples.items()}
        self._early: dict[int, int] = {}
        """The slide whose tuples were taken before it closes, with the greatest time among them."""
        self.closed: int | None = None
        """The last slide that was taken. Of several windows, some may still wait for tuples of it."""

    @property
    def tuples(self) -> Mapping[str, pa.Table]:
        return self._tuples

    def add(self, tuples: Mapping[str, pa.Table]) -> None:
        for stream, table in tuples.items():
            if table.num_rows:
                self._tuples[stream] = _by_time(pa.concat_tables([self._tuples[stream], table]))

    def due(self, clock: Clock, *, to_the_end: bool = False, idle: Collection[str] = ()) -> Due:
        streams = list(self._tuples)
        return due_slides(self.schedule, clock, streams, self.waiting(), to_the_end=to_the_end, idle=idle)

    def waiting(self) -> dict[int, int]:
        """Returns the slides that tuples wait for, each with the greatest time among them."""
        waiting: dict[int, int] = {}
        for table in self._tuples.values():
            times = times_of(table)
            if self.schedule.each and self.closed is not None:
                times = times[times > self.schedule.until(self.closed)]
            slides = self.schedule.slides_of(times)
            ends = np.flatnonzero(np.append(slides[1:] != slides[:-1], len(slides) > 0)[: len(slides)])
            for at, time in zip(slides[ends].tolist(), times[ends].tolist(), strict=True):
                waiting[at] = max(time, waiting.get(at, time))
        for at, time in self._early.items():
            waiting[at] = max(time, waiting.get(at, time))
        return waiting

    def take_early(self, at: int) -> dict[str, pa.Table]:
        """Takes the tuples of the slide that closes next. The slide still waits, and more of its tuples may come."""
        waiting = self.waiting()
        ((_, arrived),) = self.take((at,))
        self._early = {at: waiting[at]}
        return arrived

    def take(self, slides: tuple[int, ...]) -> Iterator[tuple[int, dict[str, pa.Table]]]:
        """Yields the tuples of each slide in turn, without those that no window holds. They leave the backlog when all
        windows have had them."""
        distance, size = self.schedule.distance, self.schedule.size
        ends = [(self.schedule.until(at), self.schedule.had_by_all(at)) for at in slides]
        cuts = {
            stream: np.searchsorted(times_of(table), np.array(ends, np.int64).reshape(-1, 2), "right")
            for stream, table in self._tuples.items()
        }
        begins = {stream: 0 for stream in self._tuples}
        taken = dict(self._tuples)
        for place, at in enumerate(slides):
            arrived = {}
            for stream, table in taken.items():
                begin, (end, had) = begins[stream], cuts[stream][place].tolist()
                begins[stream] = had
                rows = table.slice(begin, end - begin)
                if size is not None and size < distance and rows.num_rows:
                    rows = rows.filter(pc.greater_equal(rows.column(TIME), at - size))
                arrived[stream] = rows
            self.closed = at
            yield at, arrived
            self._early.pop(at, None)
        self._tuples = {stream: table.slice(begins[stream]) for stream, table in taken.items()}


def times_of(table: pa.Table) -> npt.NDArray[np.int64]:
    column: npt.NDArray[np.int64] = table.column(TIME).to_numpy()
    return column


def _by_time(table: pa.Table) -> pa.Table:
    times = times_of(table)
    if len(times) < 2 or bool((times[1:] >= times[:-1]).all()):
        return table
    return table.take(pa.array(np.argsort(times, kind="stable")))
