"""A stream whose tuples are all there already: which window a moment has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pyarrow.compute as pc

from emberlog.diagnostics import fail
from emberlog.io.local_relation import LocalRelation
from emberlog.io.moments import time_of
from emberlog.semantics.model import CheckedProgram
from emberlog.streams.evaluate.window_facts import WindowFacts
from emberlog.streams.plan.slides import schedule_of
from emberlog.streams.state.backlog import TIME


def window_of_relations(
    checked: CheckedProgram, relations: Mapping[str, LocalRelation], at: int | datetime | None
) -> WindowFacts:
    """The window of the last slide that is not after `at`; if no moment is given, of the one that all tuples have
    arrived for. Tuples without a time are left out, as those that come late are."""
    streams = {name: relations[name] for name in relations if checked.relations[name].is_stream}
    plain_times = any(stream.plain_times for stream in streams.values())
    schedule = schedule_of(checked, watermark=0, slide=None, plain_clock=plain_times)
    tuples = {name: stream.table.filter(pc.is_valid(stream.table.column(TIME))) for name, stream in streams.items()}
    if at is None:
        times = [pc.max(table.column(TIME)).as_py() for table in tuples.values() if table.num_rows]
        slide = schedule.slide_of(max(times, default=0))
    else:
        slide = _time(at, plain_times=plain_times) // schedule.distance * schedule.distance
    statics = {name: relation.table for name, relation in relations.items() if name not in streams}
    return WindowFacts(schedule, slide, tuples, statics, plain_times)


def _time(at: int | datetime, *, plain_times: bool) -> int:
    if isinstance(at, int) != plain_times:
        expected = "numbers" if plain_times else "timestamps, as 2026-03-02 08:15:00"
        raise fail("DL441", f"{at} is not a time of the streams: theirs are {expected}")
    return at if isinstance(at, int) else time_of(at)
