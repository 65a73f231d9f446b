"""One step of a stream query, where its state lives: a batch of tuples in, the slides that close evaluated and written.

It needs a checkpoint and an evaluator, and no Spark: a task of Spark calls it, and so do tests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.datatypes import DataType
from emberlog.io.arrow_values import arrow_type
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.evaluate.partition_evaluator import PartitionEvaluator, Swap
from emberlog.streams.plan.slides import Clock, Due, Schedule, due_slides
from emberlog.streams.state.backlog import TIME, Backlog, sort_out
from emberlog.streams.steps.answers import AnswerFiles, Layout
from emberlog.streams.steps.checkpoint import Checkpoint, Record, Totals
from emberlog.streams.steps.query_state import State, keep, take
from emberlog.streams.steps.shared_clock import shared_clock
from emberlog.streams.steps.tuple_log import LogFile, TupleLog


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
    make: Callable[[Mapping[str, pa.Table], int, int], SlideEvaluator]
    """An evaluator, given the facts of the relations that are no streams, which partition it is, and of how many."""

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

    part: int
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


@dataclass(frozen=True, slots=True)
class Part:
    """Which of the partitions of a query this is. Each has its share of the tuples; the first one tells of what they
    have in common."""

    number: int = 0
    count: int = 1
    swap: Swap | None = None
    """How it exchanges facts with the others; one alone has nobody to."""

    @property
    def is_first(self) -> bool:
        return self.number == 0


WHOLE = Part()


def take_step(spec: Spec, step: Step, batch: Mapping[str, pa.Table]) -> tuple[Record, Measures]:
    """Evaluates a batch in one place. The record is for whoever commits it; nothing counts before."""
    found = take(spec.query, step.before.token) if step.before is not None else None
    return take_part(spec, step, batch, found, WHOLE)


def take_part(
    spec: Spec, step: Step, batch: Mapping[str, pa.Table], found: State | None, part: Part
) -> tuple[Record, Measures]:
    """Evaluates a batch as one of several partitions, with the state that was found, or one made from the log."""
    since = time.perf_counter()
    checkpoint = Checkpoint(spec.location)
    log = TupleLog(checkpoint.log)
    before = step.before
    state = found or _new_state(spec, checkpoint, part)
    if part.swap is not None:
        assert isinstance(state.evaluator, PartitionEvaluator)
        state.evaluator.connect(part.swap)
    if found is None and before is not None:
        _restore(spec, state, log, before, part)
    clock = before.clock if before is not None else Clock()

    tuples = {stream: _typed(batch.get(stream), spec.schema(stream)) for stream in spec.streams}
    told = sort_out(clock, tuples)
    state.backlog.add(told.in_time)
    due = _due(spec, step, state.backlog, told.clock, part)
    files = AnswerFiles(checkpoint.outputs, spec.layout, f"{step.token}-{part.number}")
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
    live: tuple[LogFile, ...] = tuple(log.append(told.in_time))
    if part.is_first:
        window_start = None if due.clock.closed is None else spec.schedule.since(due.clock.closed)
        live = tuple(log.pruned([*(before.log if before else ()), *live], window_start))
    late = sum(table.num_rows for table in told.late.values())
    count = sum(table.num_rows for table in tuples.values())
    outputs = files.finish()
    keep(spec.query, step.token, state)
    record = Record(
        step.number,
        step.batch,
        step.token,
        due.clock,
        live,
        tuple(outputs),
        len(due.slides),
        _totals(before if part.is_first else None, files, count, late, expired, len(due.slides)),
    )
    measures = Measures(
        part.number,
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


def _new_state(spec: Spec, checkpoint: Checkpoint, part: Part) -> State:
    statics = {relation: checkpoint.static(relation).tables() for relation in spec.statics}
    nothing = {stream: spec.schema(stream).empty_table() for stream in spec.streams}
    return State(spec.make(statics, part.number, part.count), Backlog(spec.schedule, nothing), part.number)


def _due(spec: Spec, step: Step, backlog: Backlog, clock: Clock, part: Part) -> Due:
    if part.swap is None:
        return backlog.due(clock, to_the_end=step.closes)
    streams = list(spec.streams)
    clock, waiting = shared_clock(part.swap, part.count, clock, backlog.waiting(), streams)
    return due_slides(spec.schedule, clock, streams, waiting, to_the_end=step.closes)


def _restore(spec: Spec, state: State, log: TupleLog, before: Record, part: Part) -> None:
    """Makes the state after a step from the tuples that its window holds or waits for: an equal share of them."""
    tuples = {
        stream: _share(log.read(before.log, stream, spec.schema(stream)), part.number, part.count)
        for stream in spec.streams
    }
    closed = before.clock.closed
    if closed is None:
        state.backlog.add(tuples)
        return
    is_waiting = {stream: pc.greater(table.column(TIME), closed) for stream, table in tuples.items()}
    state.backlog.add({stream: table.filter(is_waiting[stream]) for stream, table in tuples.items()})
    window = {stream: table.filter(pc.invert(is_waiting[stream])) for stream, table in tuples.items()}
    state.evaluator.restore(spec.schedule.slide(closed), window)


def _share(table: pa.Table, number: int, count: int) -> pa.Table:
    begin, end = (table.num_rows * one // count for one in (number, number + 1))
    return table.slice(begin, end - begin)


def _typed(table: pa.Table | None, schema: pa.Schema) -> pa.Table:
    if table is None:
        return schema.empty_table()
    return table.rename_columns(schema.names).cast(schema)


def _totals(before: Record | None, files: AnswerFiles, count: int, late: int, expired: int, slides: int) -> Totals:
    totals = before.totals if before is not None else Totals()
    return Totals(
        totals.tuples + count,
        totals.late + late,
        totals.expired + expired,
        totals.slides + slides,
        files.facts(totals.facts),
    )
