"""One step of a stream query, where its state lives: a batch of tuples in, the slides that close evaluated and written.

It needs a checkpoint and an evaluator, and no Spark: a task of Spark calls it, and so do tests. Several workers take a
step together, each with a partition of the facts and a share of the tuples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emberlog.config import StreamOptions
from emberlog.io.arrow_values import arrow_type
from emberlog.semantics.model import Column
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.evaluate.incremental import PartitionEvaluator, Swap
from emberlog.streams.plan.slides import Clock, Due, Schedule, due_slides
from emberlog.streams.state.backlog import TIME, Backlog, sort_out
from emberlog.streams.steps.answers import AnswerFiles, Layout
from emberlog.streams.steps.checkpoint import Checkpoint, Record, Totals
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.wire.messages import Mail, Message

_NO_PART = -1
_SEEN, _WAITING = 0, 1


@dataclass(frozen=True, slots=True)
class Spec:
    """Holds what does not change from step to step of a query. It is pickled for every task."""

    query: str
    """Names the state in a worker."""
    options: StreamOptions
    schedule: Schedule
    streams: Mapping[str, tuple[Column, ...]]
    statics: tuple[str, ...]
    outputs: Mapping[str, tuple[Column, ...]]
    plain_times: bool
    """Whether times are plain numbers."""
    make: Callable[[Mapping[str, pa.Table], int, int], SlideEvaluator]
    """Makes an evaluator, given the facts of the relations that are no streams, which partition it is, and of how
    many."""

    @property
    def location(self) -> str:
        """Returns the place of the checkpoint."""
        return self.options.checkpointLocation

    @property
    def layout(self) -> Layout:
        late = self.streams if self.options.late == "keep" else {}
        return Layout(self.options.tells_changes, self.outputs, late, self.plain_times)

    def schema(self, stream: str) -> pa.Schema:
        return pa.schema([(f"c{place}", arrow_type(one.type)) for place, one in enumerate(self.streams[stream])])


@dataclass(frozen=True, slots=True)
class Step:
    """Asks for the evaluation of one micro-batch."""

    number: int
    batch: int
    token: str
    before: Record | None
    closes: bool = False
    """Closes every slide that tuples wait for, because no more will come."""


@dataclass(frozen=True, slots=True)
class Measures:
    """Holds what a step tells about itself, beside its record."""

    part: int
    tuples: int
    late: int
    expired: int
    added: Mapping[str, int]
    removed: Mapping[str, int]
    slide_seconds: tuple[float, ...]
    """How long each slide took, answers written."""
    window_tuples: int
    """The tuples in the log of the checkpoint."""
    state_bytes: int
    is_rebuilt: bool
    """Whether the state was not there, and was made again from the log."""
    seconds: float


# --- the state in a worker --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """Holds what a worker keeps from one micro-batch to the next.

    A state is taken out while a step changes it and put back under the token of that step. A step that fails, or whose
    record was never committed, thus leaves nothing behind that a later step could take for its own."""

    evaluator: SlideEvaluator
    backlog: Backlog
    part: int = 0
    """The partition of the facts that it has."""


_states: dict[str, tuple[str, State]] = {}


def take_state(query: str, token: str) -> State | None:
    """Takes out the state that the step with this token left here, if it did."""
    found, state = _states.pop(query, ("", None))
    return state if found == token else None


def keep_state(query: str, token: str, state: State) -> None:
    _states[query] = (token, state)


def forget_other_states(query: str) -> None:
    """Deletes the states of other queries: a worker serves one query at a time, so these have ended."""
    for other in _states.keys() - {query}:
        del _states[other]


# --- a step -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """Says which of the partitions of a query this is. The first one records what they have in common."""

    number: int = 0
    count: int = 1
    swap: Swap | None = None
    """Exchanges messages with the others; None if there are none."""

    @property
    def is_first(self) -> bool:
        return self.number == 0

    def share(self, table: pa.Table) -> pa.Table:
        begin, end = (table.num_rows * one // self.count for one in (self.number, self.number + 1))
        return table.slice(begin, end - begin)


def take_step(spec: Spec, step: Step, batch: Mapping[str, pa.Table]) -> tuple[Record, Measures]:
    """Evaluates a batch in one place. The step counts when its record is committed, which is up to the caller."""
    return _take_part(spec, step, batch, _found(spec, step), Part())


def take_step_together(
    spec: Spec, step: Step, share: Mapping[str, pa.Table], number: int, count: int, swap: Swap
) -> tuple[Record, Measures]:
    """Evaluates a share of a batch as worker `number` of `count`.

    A worker takes the part whose state it has. If some state is not there, all of them make theirs again: they number
    texts alike only if they have seen the same.
    """
    found = _found(spec, step)
    claim = found.part if found is not None else _NO_PART
    claims = [message.numbers[0] for message in swap([Message((claim,)) for _ in range(count)])]
    if sorted(claims) != list(range(count)):
        found, claims = None, list(range(count))
    return _take_part(spec, step, share, found, Part(claims[number], count, _by_part(swap, claims)))


def _found(spec: Spec, step: Step) -> State | None:
    return take_state(spec.query, step.before.token) if step.before is not None else None


def _by_part(swap: Swap, parts: Sequence[int]) -> Swap:
    """Lets messages be for parts, while connections are between workers."""

    def swapped(mail: Mail) -> Mail:
        received = swap([mail[part] for part in parts])
        ordered = list(received)
        for part, message in zip(parts, received, strict=True):
            ordered[part] = message
        return ordered

    return swapped


def _take_part(
    spec: Spec, step: Step, batch: Mapping[str, pa.Table], found: State | None, part: Part
) -> tuple[Record, Measures]:
    since = time.perf_counter()
    checkpoint = Checkpoint(spec.location)
    before = step.before
    state = found or _new_state(spec, checkpoint, part)
    if part.swap is not None:
        assert isinstance(state.evaluator, PartitionEvaluator)
        state.evaluator.connect(part.swap)
    if found is None and before is not None:
        _restore(spec, state, checkpoint, before, part)

    tuples = {stream: _typed(batch.get(stream), spec.schema(stream)) for stream in spec.streams}
    told = sort_out(before.clock if before is not None else Clock(), tuples)
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
    log = checkpoint.log.append(told.in_time)
    if part.is_first:
        window_start = None if due.clock.closed is None else spec.schedule.since(due.clock.closed)
        log = checkpoint.log.pruned([*(before.log if before else ()), *log], window_start)
    outputs = files.finish()
    keep_state(spec.query, step.token, state)

    late = sum(table.num_rows for table in told.late.values())
    count = sum(table.num_rows for table in tuples.values())
    earlier = before.totals if before is not None and part.is_first else Totals()
    totals = Totals(
        tuples=earlier.tuples + count,
        late=earlier.late + late,
        expired=earlier.expired + expired,
        slides=earlier.slides + len(due.slides),
        facts=files.facts(earlier.facts),
    )
    record = Record(
        step.number,
        step.batch,
        step.token,
        due.clock,
        log=tuple(log),
        outputs=tuple(outputs),
        slides=len(due.slides),
        totals=totals,
    )
    measures = Measures(
        part=part.number,
        tuples=count,
        late=late,
        expired=expired,
        added=files.added,
        removed=files.removed,
        slide_seconds=tuple(seconds),
        window_tuples=sum(file.rows for file in log),
        state_bytes=state.evaluator.state_bytes(),
        is_rebuilt=found is None and before is not None,
        seconds=time.perf_counter() - since,
    )
    return record, measures


def _new_state(spec: Spec, checkpoint: Checkpoint, part: Part) -> State:
    nothing = {stream: spec.schema(stream).empty_table() for stream in spec.streams}
    evaluator = spec.make(checkpoint.static_tables(spec.statics), part.number, part.count)
    return State(evaluator, Backlog(spec.schedule, nothing), part.number)


def _restore(spec: Spec, state: State, checkpoint: Checkpoint, before: Record, part: Part) -> None:
    """Makes the state after a step from the tuples that its window holds or waits for: an equal share of them."""
    tuples = {
        stream: part.share(checkpoint.log.read(before.log, stream, spec.schema(stream))) for stream in spec.streams
    }
    closed = before.clock.closed
    if closed is None:
        state.backlog.add(tuples)
        return
    is_waiting = {stream: pc.greater(table.column(TIME), closed) for stream, table in tuples.items()}
    state.backlog.add({stream: table.filter(is_waiting[stream]) for stream, table in tuples.items()})
    window = {stream: table.filter(pc.invert(is_waiting[stream])) for stream, table in tuples.items()}
    state.evaluator.restore(spec.schedule.slide(closed), window)


def _typed(table: pa.Table | None, schema: pa.Schema) -> pa.Table:
    if table is None:
        return schema.empty_table()
    return table.rename_columns(schema.names).cast(schema)


# --- what partitions have in common -----------------------------------------------------------------------------------


def _due(spec: Spec, step: Step, backlog: Backlog, clock: Clock, part: Part) -> Due:
    """Finds the slides that close. Each partition has seen its share of the tuples, and slides close for all of them:
    they tell each other the greatest time that they saw on each stream, and the slides that their tuples wait for."""
    if part.swap is None:
        return backlog.due(clock, to_the_end=step.closes)
    streams = list(spec.streams)
    seen = {streams.index(stream): time for stream, time in clock.greatest.items()}
    batches = {_SEEN: _pairs(seen), _WAITING: _pairs(backlog.waiting())}
    received = part.swap([Message((), batches) for _ in range(part.count)])
    for number, greatest in _greatest(received, _SEEN).items():
        clock = clock.seen(streams[number], greatest)
    return due_slides(spec.schedule, clock, streams, _greatest(received, _WAITING), to_the_end=step.closes)


def _pairs(times: Mapping[int, int]) -> Lanes:
    return np.array([*times.items()], np.int64).reshape(-1, 2).T.copy()


def _greatest(received: Mail, channel: int) -> dict[int, int]:
    greatest: dict[int, int] = {}
    for message in received:
        for key, at in message.batches[channel].T.tolist() if channel in message.batches else ():
            greatest[key] = max(at, greatest.get(key, at))
    return greatest


def merged(steps: Sequence[tuple[Record, Measures]]) -> tuple[Record, Measures]:
    """Merges what all partitions tell into what one would tell."""
    ordered = sorted(steps, key=lambda one: one[1].part)
    records = [record for record, _ in ordered]
    measures = [one for _, one in ordered]
    totals = [record.totals for record in records]
    record = replace(
        records[0],
        log=tuple(file for one in records for file in one.log),
        outputs=tuple(file for one in records for file in one.outputs),
        totals=replace(
            totals[0],
            tuples=sum(one.tuples for one in totals),
            late=sum(one.late for one in totals),
            expired=sum(one.expired for one in totals),
            facts=_summed([one.facts for one in totals]),
        ),
    )
    told = replace(
        measures[0],
        tuples=sum(one.tuples for one in measures),
        late=sum(one.late for one in measures),
        expired=sum(one.expired for one in measures),
        added=_summed([one.added for one in measures]),
        removed=_summed([one.removed for one in measures]),
        slide_seconds=tuple(map(max, zip(*(one.slide_seconds for one in measures), strict=True))),
        window_tuples=sum(one.window_tuples for one in measures),
        state_bytes=sum(one.state_bytes for one in measures),
        is_rebuilt=any(one.is_rebuilt for one in measures),
        seconds=max(one.seconds for one in measures),
    )
    return record, told


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    names = dict.fromkeys(name for one in counts for name in one)
    return {name: sum(one.get(name, 0) for one in counts) for name in names}
