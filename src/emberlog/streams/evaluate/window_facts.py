"""One window of a stream query as a whole: what questions about its facts are answered from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.io.local_relation import LocalRelation, facts_of_table
from emberlog.semantics.model import Fact, TimeRole
from emberlog.streams.plan.batch_program import BatchProgram
from emberlog.streams.plan.slides import Schedule
from emberlog.streams.plan.tuple_facts import facts_of_tuples
from emberlog.streams.state.backlog import TIME


@dataclass(frozen=True, slots=True)
class WindowFacts:
    """The tuples of a window at a slide, and what is left of them at later slides if no more come."""

    schedule: Schedule
    at: int
    """The slide. Moments are ints: microseconds, or plain numbers for a plain clock."""
    tuples: Mapping[str, pa.Table]
    """Of each stream, the time first; all that are in the window, and perhaps others."""
    statics: Mapping[str, pa.Table]
    plain_times: bool

    def last_slide(self, time: int) -> int | None:
        """The last one whose window has a tuple of this time; None if it never leaves."""
        size, distance = self.schedule.size, self.schedule.distance
        return None if size is None else (time + size) // distance * distance

    def last_slides(self) -> list[int]:
        """Those at which a tuple is in the window for the last time, in order."""
        times = {
            time for stream in self.tuples for time in pc.unique(self._held(stream, self.at).column(TIME)).to_pylist()
        }
        return sorted({last for time in times if (last := self.last_slide(time)) is not None})

    def inputs(self, program: BatchProgram, slide: int) -> dict[str, LocalRelation]:
        """What the batch program reads at this slide or at a later one."""
        found: dict[str, LocalRelation] = {}
        for name in program.checked.inputs:
            columns = program.checked.relations[name].columns
            table = (
                facts_of_tuples(program.times[name], self._held(name, slide))
                if name in self.tuples
                else self.statics[name]
            )
            found[name] = LocalRelation([column.name for column in columns], [column.type for column in columns], table)
        return found

    def latest_times(self, program: BatchProgram, stream: str) -> dict[Fact, int]:
        """Of each fact of a stream, the time of the tuple that keeps it in the window the longest."""
        held = self._held(stream, self.at)
        latest: dict[Fact, int] = {}
        for row in facts_of_table(held):
            fact = row[1:] if program.times[stream] is TimeRole.NONE else row
            latest[fact] = max(row[TIME], latest.get(fact, row[TIME]))
        return latest

    def _held(self, stream: str, slide: int) -> pa.Table:
        table = self.tuples[stream]
        times = table.column(TIME)
        held = pc.less_equal(times, self.at)
        since = self.schedule.since(slide)
        return table.filter(held if since is None else pc.and_(held, pc.greater_equal(times, since)))
