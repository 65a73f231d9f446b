"""One window of a stream query as a whole: the facts that its tuples stand for, now and at later slides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.diagnostics import fail
from emberlog.io.local_relation import LocalRelation, facts_of_table
from emberlog.language.spellings import time_of
from emberlog.logical.build import fields_of
from emberlog.semantics.model import CheckedProgram, Fact, TimeRole
from emberlog.streams.plan.batch_program import BatchProgram
from emberlog.streams.plan.slides import Schedule, schedule_of
from emberlog.streams.state.backlog import TIME
from emberlog.streams.state.lane_relations import relation_of


def facts_of_tuples(role: TimeRole, table: pa.Table) -> pa.Table:
    """Returns the facts that the tuples of a stream stand for. `role` says what becomes of the time: left out (NONE),
    the earliest of each fact, or a plain column. Unless it is the last, each fact is there once."""
    match role:
        case TimeRole.NONE:
            facts = table.select(range(1, table.num_columns))
            return facts.group_by(facts.column_names, use_threads=False).aggregate([])  # many differ in the time alone
        case TimeRole.ANNOTATION:
            time, *others = table.column_names
            if not others:
                return table.slice(0, 0) if not table.num_rows else pa.table({time: [pc.min(table.column(0))]})
            earliest = table.group_by(others, use_threads=False).aggregate([(time, "min")])
            return earliest.select([f"{time}_min", *others])
        case TimeRole.ORDINARY:
            return table


@dataclass(frozen=True, slots=True)
class WindowFacts:
    """Holds the tuples of a window at a slide, and tells what is left of them at later slides if no more come."""

    schedule: Schedule
    at: int
    """The time of the slide."""
    tuples: Mapping[str, pa.Table]
    """The tuples of each stream, the time first; all that are in the window, and perhaps others."""
    statics: Mapping[str, pa.Table]
    plain_times: bool

    def of(self, schedule: Schedule) -> WindowFacts:
        """Returns one of several windows, at its last slide that is not after that of all."""
        return replace(self, schedule=schedule, at=self.at // schedule.distance * schedule.distance)

    def last_slide(self, time: int) -> int | None:
        """Returns the last slide whose window has a tuple of this time; None if it never leaves."""
        size, distance = self.schedule.size, self.schedule.distance
        return None if size is None else (time + size) // distance * distance

    def last_slides(self) -> list[int]:
        """Lists the slides at which a tuple is in the window for the last time, in order."""
        times = {
            time for stream in self.tuples for time in pc.unique(self._held(stream, self.at).column(TIME)).to_pylist()
        }
        return sorted({last for time in times if (last := self.last_slide(time)) is not None})

    def inputs(self, program: BatchProgram, slide: int) -> dict[str, LocalRelation]:
        """Returns what the batch program reads at this slide or at a later one."""
        found: dict[str, LocalRelation] = {}
        for name in program.checked.inputs:
            is_stream = name in self.tuples
            table = facts_of_tuples(program.times[name], self._held(name, slide)) if is_stream else self.statics[name]
            found[name] = relation_of(fields_of(program.checked.relations[name]), table)
        return found

    def latest_times(self, program: BatchProgram, stream: str) -> dict[Fact, int]:
        """Returns for each fact of a stream the time of the tuple that keeps it in the window the longest."""
        held = self._held(stream, self.at)
        latest: dict[Fact, int] = {}
        for row in facts_of_table(held):
            fact = row[1:] if program.times[stream] is TimeRole.NONE else row
            latest[fact] = max(row[TIME], latest.get(fact, row[TIME]))
        return latest

    def _held(self, stream: str, slide: int) -> pa.Table:
        table = self.tuples[stream]
        times = table.column(TIME)
        held = pc.less_equal(times, self.schedule.until(self.at))
        since = self.schedule.since(slide)
        return table.filter(held if since is None else pc.and_(held, pc.greater_equal(times, since)))


def window_of_relations(
    checked: CheckedProgram, relations: Mapping[str, LocalRelation], at: int | datetime | None
) -> WindowFacts:
    """Returns the window of a slide, where all tuples of the streams are there already: the last slide that is not
    after `at`; if no time is given, the one that all tuples have arrived for. Tuples without a time are left out, as
    those that come late are."""
    streams = {name: relations[name] for name in relations if checked.relations[name].is_stream}
    plain_times = any(stream.plain_times for stream in streams.values())
    schedule = schedule_of(checked, plain_clock=plain_times)
    tuples = {name: stream.table.filter(pc.is_valid(stream.table.column(TIME))) for name, stream in streams.items()}
    if at is None:
        times = [pc.max(table.column(TIME)).as_py() for table in tuples.values() if table.num_rows]
        # Of several windows, the last slide that any of them has them all at.
        slide = max(one.slide_of(max(times, default=0)) for one in schedule.each or (schedule,))
    else:
        slide = _time(at, plain_times=plain_times) // schedule.distance * schedule.distance
    statics = {name: relation.table for name, relation in relations.items() if name not in streams}
    return WindowFacts(schedule, slide, tuples, statics, plain_times)


def _time(at: int | datetime, *, plain_times: bool) -> int:
    if isinstance(at, int) != plain_times:
        expected = "numbers" if plain_times else "timestamps, as 2026-03-02 08:15:00"
        raise fail("DL441", f"{at} is not a time of the streams: theirs are {expected}")
    return at if isinstance(at, int) else time_of(at)
