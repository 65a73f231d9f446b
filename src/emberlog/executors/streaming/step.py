"""One step of a stream query, where its state lives: a batch of tuples in, the slides that close evaluated and written.

It needs a checkpoint and an evaluator, and no Spark: a task of Spark calls it, and so do tests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.datatypes import DataType
from emberlog.executors.streaming.answers import AnswerFiles, Layout
from emberlog.executors.streaming.backlog import TIME, Backlog, sort_out
from emberlog.executors.streaming.checkpoint import Checkpoint, Record, Totals
from emberlog.executors.streaming.evaluator import SlideEvaluator
from emberlog.executors.streaming.resident import State, keep, take
from emberlog.executors.streaming.slides import Clock, Schedule
from emberlog.executors.streaming.tuple_log import LogFile, TupleLog
from emberlog.io.arrow_values import arrow_type


@dataclass(frozen=True, slots=True)
class Spec:
    """What does not change from step to step."""

    query: str
    """Names the state in a worker."""
    location: str
    """Of the checkpoint."""
    schedule: Schedule
    streams: Mapping[str, tuple[DataType, ...]]
    statics: tuple[str, ...]
    layout: Layout
    make: Callable[[Mapping[str, pa.Table]], SlideEvaluator]
    """An evaluator for the facts of the relations that are no streams."""

    def schema(self, stream: str) -> pa.Schema:
        return pa.schema([(f"c{place}", arrow_type(type_)) for place, type_ in enumerate(self.streams[stream])])


@dataclass(frozen=True, slots=True)
class Step:
    number: int
    batch: int
    token: str
    before: Record | None
    closes: bool = False
    """Closes every slide that tuples wait for, because no more will come."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What a step tells about itself, beside its record."""

    tuples: int
    late: int
    expired: int
    added: Mapping[str, int]
    removed: Mapping[str, int]
    slide_seconds: tuple[float, ...]
    """How long each slide took, answers written."""
    window_tuples: int
    """In the log of the checkpoint."""
    state_bytes: int
    is_rebuilt: bool
    """The state was not there, and was made again from the log."""
    seconds: float


def take_step(spec: Spec, step: Step, batch: Mapping[str, pa.Table]) -> tuple[Record, Measures]:
    """Evaluates a batch. The record is for whoever commits it; nothing counts before."""
    since = time.perf_counter()
    checkpoint = Checkpoint(spec.location)
    log = TupleLog(checkpoint.log)
    before = step.before
    found = take(spec.query, before.token) if before is not None else None
    state = found or _rebuilt(spec, checkpoint, log, before)
    clock = before.clock if before is not None else Clock()

    tuples = {stream: _typed(batch.get(stream), spec.schema(stream)) for stream in spec.streams}
    told = sort_out(clock, tuples)
    state.backlog.add(told.in_time)
    due = state.backlog.due(told.clock, to_the_end=step.closes)
    files = AnswerFiles(checkpoint.outputs, spec.layout, step.token)
    seconds: list[float] = []
    expired = 0
    for at, arrived in state.backlog.take(due.slides):
        begin = time.perf_counter()
        state.evaluator.advance(spec.schedule.slide(at), arrived)
        files.add(at, state.evaluator)
        expired += state.evaluator.expired()
        seconds.append(time.perf_counter() - begin)
    for stream, table in told.late.items():
        files.add_late(stream, table)
    outputs = files.finish()

    kept = [*(before.log if before else ()), *log.append(told.in_time)]
    window_start = None if due.clock.closed is None else spec.schedule.since(due.clock.closed)
    live = log.pruned(kept, window_start)
    late = sum(table.num_rows for table in told.late.values())
    count = sum(table.num_rows for table in tuples.values())
    record = Record(
        step.number,
        step.batch,
        step.token,
        due.clock,
        tuple(live),
        tuple(outputs),
        len(due.slides),
        _totals(before, files, count=count, late=late, expired=expired, slides=len(due.slides)),
    )
    keep(spec.query, step.token, state)
    measures = Measures(
        count,
        late,
        expired,
        files.added,
        files.removed,
        tuple(seconds),
        sum(file.rows for file in live),
        state.evaluator.state_bytes(),
        found is None and before is not None,
        time.perf_counter() - since,
    )
    return record, measures


def _rebuilt(spec: Spec, checkpoint: Checkpoint, log: TupleLog, before: Record | None) -> State:
    """The state after a step, from the tuples that its window holds or waits for."""
    statics = {relation: checkpoint.static(relation).tables() for relation in spec.statics}
    evaluator = spec.make(statics)
    files: tuple[LogFile, ...] = before.log if before is not None else ()
    tuples = {stream: log.read(files, stream, spec.schema(stream)) for stream in spec.streams}
    closed = before.clock.closed if before is not None else None
    if closed is None:
        return State(evaluator, Backlog(spec.schedule, tuples))
    window, waiting = {}, {}
    for stream, table in tuples.items():
        is_waiting = pc.greater(table.column(TIME), closed)
        waiting[stream] = table.filter(is_waiting)
        window[stream] = table.filter(pc.invert(is_waiting))
    evaluator.restore(spec.schedule.slide(closed), window)
    return State(evaluator, Backlog(spec.schedule, waiting))


def _typed(table: pa.Table | None, schema: pa.Schema) -> pa.Table:
    if table is None:
        return schema.empty_table()
    return table.rename_columns(schema.names).cast(schema)


def _totals(before: Record | None, files: AnswerFiles, *, count: int, late: int, expired: int, slides: int) -> Totals:
    totals = before.totals if before is not None else Totals()
    return replace(
        totals,
        tuples=totals.tuples + count,
        late=totals.late + late,
        expired=totals.expired + expired,
        slides=totals.slides + slides,
        facts=files.facts(totals.facts),
    )
