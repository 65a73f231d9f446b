"""One step of a stream query, where its state lives: a batch of tuples in, the slides that close evaluated and written.

It needs a checkpoint and an evaluator, and no Spark: a task of Spark calls it, and so do tests. Several workers take a
step together, each with a partition of the facts and a share of the tuples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emberlog.config import StreamOptions
from emberlog.io.arrow_values import arrow_type
from emberlog.io.local_relation import facts_of_table
from emberlog.semantics.model import Column
from emberlog.streams.evaluate.changing import ChangingEvaluator
from emberlog.streams.evaluate.evaluator import DeletingEvaluator, SlideEvaluator
from emberlog.streams.evaluate.incremental import PartitionEvaluator, Swap
from emberlog.streams.plan.slides import Clock, Due, Schedule, due_slides
from emberlog.streams.state.backlog import TIME, Backlog, sort_out
from emberlog.streams.state.copies import CHANGE, net
from emberlog.streams.state.sessions import SessionBacklog
from emberlog.streams.steps.answers import STEP, AnswerFiles, Layout, Told, bad_name
from emberlog.streams.steps.checkpoint import Checkpoint, Record, Totals
from emberlog.streams.steps.quarantine import Inspected, bad_rows, inspect, refused
from emberlog.streams.steps.tuple_log import LogFile
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.wire.messages import Mail, Message

_NO_PART = -1
_SEEN, _WAITING, _ARRIVED = 0, 1, 2
_RESOLVED = " resolved"


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
    needed: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """The columns of each stream in which a row needs a value; all of them if nothing is said."""
    changing: frozenset[str] = frozenset()
    """The streams of changes: behind their columns, rows say whether they come or go."""

    @property
    def location(self) -> str:
        """Returns the place of the checkpoint."""
        return self.options.checkpointLocation

    @property
    def layout(self) -> Layout:
        late = self.streams if self.options.late == "keep" else {}
        return Layout(self.options.tells_changes, self.outputs, late, self.plain_times, self.streams)

    def inspected(self, stream: str, rows: pa.Table | None) -> Inspected:
        """Parts the rows of a batch that can be used from those that cannot."""
        columns = self.streams[stream]
        schema = pa.schema(list(self.schema(stream))[: len(columns)])
        if rows is None:
            rows = self.schema(stream).empty_table()
        typed = rows.select(range(len(columns))).rename_columns(schema.names).cast(schema)
        for place in range(len(columns), rows.num_columns):
            typed = typed.append_column(rows.field(place), rows.column(place))
        return inspect(typed, columns, self.needed.get(stream, range(len(columns))))

    def backlog(self, tuples: Mapping[str, pa.Table]) -> Backlog | SessionBacklog:
        """Returns what keeps tuples that wait."""
        if self.schedule.gap is None:
            return Backlog(self.schedule, tuples)
        key = self.schedule.key
        places = {stream: [one.name for one in columns].index(key) for stream, columns in self.streams.items() if key}
        return SessionBacklog(self.schedule, tuples, places)

    def schema(self, stream: str) -> pa.Schema:
        fields = [(f"c{place}", arrow_type(one.type)) for place, one in enumerate(self.streams[stream])]
        return pa.schema([*fields, (CHANGE, pa.int8())] if stream in self.changing else fields)


@dataclass(frozen=True, slots=True)
class Step:
    """Asks for the evaluation of one micro-batch."""

    number: int
    batch: int
    token: str
    before: Record | None
    closes: bool = False
    """Closes every slide that tuples wait for, because no more will come."""
    idle: tuple[str, ...] = ()
    """The streams that have given nothing for so long that nobody waits for them."""
    barred: Mapping[str, pa.Table] = field(default_factory=dict)
    """Rows of streams of which it is known that a rule has no value for them, with the reason in a last column."""

    def without_barred(self, stream: str, rows: pa.Table) -> pa.Table:
        """Returns the rows without those that are barred."""
        if stream not in self.barred or not rows.num_rows:
            return rows
        gone = set(facts_of_table(self.barred[stream].select(range(rows.num_columns))))
        return rows.filter(pa.array([fact not in gone for fact in facts_of_table(rows)], pa.bool_()))


@dataclass(frozen=True, slots=True)
class Measures:
    """Holds what a step tells about itself, beside its record."""

    part: int
    tuples: int
    late: int
    bad: int
    """The rows that could not be used."""
    expired: int
    told: tuple[Told, ...]
    """The slides, with the sizes of their answers, where these are told whole."""
    arrived: Mapping[str, int]
    """The rows that came, by stream."""
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
    backlog: Backlog | SessionBacklog
    part: int = 0
    """The partition of the facts that it has."""
    parts: int = 1
    """Of so many."""


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
    return _take_part(spec, step, batch, _found(spec, step, 1), Part())


def take_step_together(
    spec: Spec, step: Step, share: Mapping[str, pa.Table], number: int, count: int, swap: Swap
) -> tuple[Record, Measures]:
    """Evaluates a share of a batch as worker `number` of `count`.

    A worker takes the part whose state it has. If some state is not there, all of them make theirs again: they number
    texts alike only if they have seen the same.
    """
    if count == 1:
        return take_step(spec, step, share)
    found = _found(spec, step, count)
    claim = found.part if found is not None else _NO_PART
    claims = [message.numbers[0] for message in swap([Message((claim,)) for _ in range(count)])]
    if sorted(claims) != list(range(count)):
        found, claims = None, list(range(count))
    return _take_part(spec, step, share, found, Part(claims[number], count, _by_part(swap, claims)))


def _found(spec: Spec, step: Step, parts: int) -> State | None:
    """Takes out the state that the last step left here, if it was one of so many."""
    found = take_state(spec.query, step.before.token) if step.before is not None else None
    return found if found is not None and found.parts == parts else None


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
    state = found or new_state(spec, checkpoint, part)
    if part.swap is not None:
        assert isinstance(state.evaluator, PartitionEvaluator)
        state.evaluator.connect(part.swap)
    if found is None and before is not None:
        restore(spec, step, state, checkpoint, before, part)

    inspected = {stream: spec.inspected(stream, batch.get(stream)) for stream in spec.streams}
    bad = bad_rows(inspected)
    if bad and spec.options.bad == "fail":
        raise refused(bad)
    tuples = {stream: step.without_barred(stream, one.good) for stream, one in inspected.items()}
    told = sort_out(spec.schedule, before.clock if before is not None else Clock(), tuples)
    state.backlog.add(told.in_time)
    due = _due(spec, step, state.backlog, told.clock, tuples, part)
    files = AnswerFiles(checkpoint.outputs, spec.layout, f"{step.token}-{part.number}")
    seconds: list[float] = []
    expired = 0

    def tell(at: int, arrived: Mapping[str, pa.Table], *, is_final: bool) -> None:
        nonlocal expired
        begin = time.perf_counter()
        state.evaluator.advance(spec.schedule.slide(at), arrived)
        files.add(at, state.evaluator, is_final=is_final)
        expired += state.evaluator.expired()
        seconds.append(time.perf_counter() - begin)

    for at, arrived in state.backlog.take(due.slides):
        tell(at, arrived, is_final=True)
    if spec.options.early:
        for at, some in _early(spec, state, due.clock):
            tell(at, some, is_final=False)
    for stream, table in told.late.items():
        files.add_late(stream, table.select(range(len(spec.streams[stream]))))
    log = checkpoint.log.append(told.in_time)
    if isinstance(state.evaluator, ChangingEvaluator):
        resolved = state.evaluator.take_resolved()
        log += checkpoint.log.append({resolved_name(stream): table for stream, table in resolved.items()})
    quarantine = _quarantined(spec, step, checkpoint, bad, part)
    if part.is_first:
        kept: Sequence[LogFile] = before.log if before else ()
        if step.barred:
            kept = checkpoint.log.filtered(kept, step.without_barred)
        log = checkpoint.log.pruned([*kept, *log], _kept_since(spec, state, due.clock), _compacted)
    outputs = files.finish()
    keep_state(spec.query, step.token, state)

    late = sum(table.num_rows for table in told.late.values())
    count = sum(one.good.num_rows + one.bad.num_rows for one in inspected.values())
    bad_count = sum(table.num_rows for table in bad.values())
    if part.is_first:
        bad_count += sum(table.num_rows for table in step.barred.values())
    earlier = before.totals if before is not None and part.is_first else Totals()
    totals = Totals(
        tuples=earlier.tuples + count,
        late=earlier.late + late,
        bad=earlier.bad + bad_count,
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
        quarantine=tuple(quarantine),
    )
    measures = Measures(
        part=part.number,
        tuples=count,
        late=late,
        bad=bad_count,
        expired=expired,
        told=tuple(files.told),
        arrived={stream: one.good.num_rows + one.bad.num_rows for stream, one in inspected.items()},
        added=files.added,
        removed=files.removed,
        slide_seconds=tuple(seconds),
        window_tuples=sum(file.rows for file in log),
        state_bytes=state.evaluator.state_bytes(),
        is_rebuilt=found is None and before is not None,
        seconds=time.perf_counter() - since,
    )
    return record, measures


def _kept_since(spec: Spec, state: State, clock: Clock) -> Callable[[str], int | None]:
    """Returns what tells the time before which no slide ahead needs a tuple of a relation of the log."""
    closed = clock.closed
    if isinstance(state.backlog, SessionBacklog):
        earliest = state.backlog.earliest if state.backlog.earliest is not None else closed
        return lambda _: earliest
    if closed is None:
        return lambda _: None
    since, waits = spec.schedule.since(closed), spec.schedule.until(closed) + 1
    # What happened to the rows of a stream of changes is in the log a second time, once it is resolved.
    return lambda relation: waits if relation in spec.changing else since


def resolved_name(stream: str) -> str:
    """Names the changes of a stream in the log that say which copy of a row they are about."""
    return f"{stream}{_RESOLVED}"


def _compacted(relation: str, rows: pa.Table) -> pa.Table:
    return net(rows) if relation.endswith(_RESOLVED) else rows


def _early(spec: Spec, state: State, clock: Clock) -> Iterator[tuple[int, Mapping[str, pa.Table]]]:
    """Yields the slide that closes next with the tuples for it that are there, if there are some."""
    if clock.closed is None or isinstance(state.backlog, SessionBacklog):
        return
    at = clock.closed + spec.schedule.distance
    if at in state.backlog.waiting():
        yield at, state.backlog.take_early(at)


def new_state(spec: Spec, checkpoint: Checkpoint, part: Part) -> State:
    nothing = {stream: spec.schema(stream).empty_table() for stream in spec.streams}
    evaluator = spec.make(checkpoint.static_tables(spec.statics), part.number, part.count)
    if spec.changing:
        evaluator = ChangingEvaluator(cast("DeletingEvaluator", evaluator), spec.changing, spec.schedule.size)
    return State(evaluator, spec.backlog(nothing), part.number, part.count)


def _quarantined(
    spec: Spec, step: Step, checkpoint: Checkpoint, bad: Mapping[str, pa.Table], part: Part
) -> list[LogFile]:
    """Writes the bad rows of a part, and those that are barred once; returns all files that count."""
    layout, found = spec.layout, dict(bad)
    if part.is_first:
        for stream, barred in step.barred.items():
            rows = barred.drop_columns([CHANGE]) if stream in spec.changing else barred
            found[stream] = pa.concat_tables([found[stream], rows]) if stream in found else rows
    shown = {
        stream: layout.shown(
            bad_name(stream),
            rows.append_column(STEP, pa.repeat(pa.scalar(step.number, pa.int64()), rows.num_rows)).rename_columns(
                layout.schema(bad_name(stream)).names
            ),
        )
        for stream, rows in found.items()
    }
    written = checkpoint.quarantine.append(shown)
    earlier = step.before.quarantine if step.before is not None else ()
    return checkpoint.quarantine.pruned([*earlier, *written]) if part.is_first else written


def restore(spec: Spec, step: Step, state: State, checkpoint: Checkpoint, before: Record, part: Part) -> None:
    """Makes the state after a step from the tuples that its window holds or waits for: an equal share of them."""
    tuples = {
        stream: step.without_barred(stream, part.share(checkpoint.log.read(before.log, stream, spec.schema(stream))))
        for stream in spec.streams
    }
    closed = before.clock.closed
    if closed is None or isinstance(state.backlog, SessionBacklog):
        state.backlog.add(tuples)
        if isinstance(state.backlog, SessionBacklog) and closed is not None:
            state.backlog.forget_told(closed)
        return
    until = spec.schedule.until(closed)
    is_waiting = {stream: pc.greater(table.column(TIME), until) for stream, table in tuples.items()}
    state.backlog.add({stream: table.filter(is_waiting[stream]) for stream, table in tuples.items()})
    window = {stream: table.filter(pc.invert(is_waiting[stream])) for stream, table in tuples.items()}
    for stream in spec.changing:
        window[stream] = checkpoint.log.read(before.log, resolved_name(stream), spec.schema(stream))
    state.evaluator.restore(spec.schedule.slide(closed), window)
    if spec.options.early:
        for at, arrived in _early(spec, state, before.clock):
            state.evaluator.advance(spec.schedule.slide(at), arrived)


# --- what partitions have in common -----------------------------------------------------------------------------------


def _due(
    spec: Spec, step: Step, backlog: Backlog | SessionBacklog, clock: Clock, arrived: Mapping[str, pa.Table], part: Part
) -> Due:
    """Finds the slides that close. Each partition has seen its share of the tuples, and slides close for all of them:
    they tell each other the greatest time that they saw on each stream, the slides that their tuples wait for, and
    which streams gave something."""
    gave = {stream for stream, table in arrived.items() if table.num_rows}
    if part.swap is None or isinstance(backlog, SessionBacklog):
        idle = [stream for stream in step.idle if stream not in gave]
        return backlog.due(clock, to_the_end=step.closes, idle=idle)
    streams = list(spec.streams)
    seen = {streams.index(stream): time for stream, time in clock.greatest.items()}
    batches = {
        _SEEN: _pairs(seen),
        _WAITING: _pairs(backlog.waiting()),
        _ARRIVED: _pairs({streams.index(stream): 1 for stream in gave}),
    }
    received = part.swap([Message((), batches) for _ in range(part.count)])
    for number, greatest in _greatest(received, _SEEN).items():
        clock = clock.seen(streams[number], greatest)
    waiting, all_gave = _greatest(received, _WAITING), _greatest(received, _ARRIVED)
    idle = [stream for stream in step.idle if streams.index(stream) not in all_gave]
    return due_slides(spec.schedule, clock, streams, waiting, to_the_end=step.closes, idle=idle)


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
        quarantine=tuple(file for one in records for file in one.quarantine),
        totals=replace(
            totals[0],
            tuples=sum(one.tuples for one in totals),
            late=sum(one.late for one in totals),
            bad=sum(one.bad for one in totals),
            expired=sum(one.expired for one in totals),
            facts=_summed([one.facts for one in totals]),
        ),
    )
    told = replace(
        measures[0],
        tuples=sum(one.tuples for one in measures),
        late=sum(one.late for one in measures),
        bad=sum(one.bad for one in measures),
        told=tuple(
            (slides[0][0], _summed([sizes for _, sizes, _ in slides]), slides[0][2])
            for slides in zip(*(one.told for one in measures), strict=True)
        ),
        arrived=_summed([one.arrived for one in measures]),
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


def with_slides(spec: Spec, record: Record, measures: Measures) -> Record:
    """Writes which slides were told, so that a sink can tell an empty answer from none."""
    if not measures.told:
        return record
    files = AnswerFiles(Checkpoint(spec.location).outputs, spec.layout, f"{record.token}-told")
    files.add_slides(measures.told)
    return replace(record, outputs=(*record.outputs, *files.finish()))


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    names = dict.fromkeys(name for one in counts for name in one)
    return {name: sum(one.get(name, 0) for one in counts) for name in names}
