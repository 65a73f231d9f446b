"""One step of a stream query, where its state lives: a batch of tuples in, the slides that close evaluated and written.

It needs a checkpoint and an evaluator, and no Spark: a task of Spark calls it, and so do tests. Several workers take a
step together, each with a partition of the facts and a share of the tuples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from emberlog.streams.evaluate.changing import ChangingEvaluator
from emberlog.streams.evaluate.incremental import PartitionEvaluator, Swap
from emberlog.streams.evaluate.several_windows import SeveralWindows
from emberlog.streams.plan.slides import Clock
from emberlog.streams.state.backlog import sort_out
from emberlog.streams.state.copies import CHANGE
from emberlog.streams.state.sessions import SessionBacklog
from emberlog.streams.steps.answers import STEP, AnswerFiles, bad_name
from emberlog.streams.steps.checkpoint import Checkpoint, Record, Totals
from emberlog.streams.steps.measures import Measures
from emberlog.streams.steps.partitions import Part, due_of_all
from emberlog.streams.steps.quarantine import bad_rows, refused
from emberlog.streams.steps.resident_state import (
    State,
    compacted,
    early_slides,
    keep_state,
    new_state,
    resolved_name,
    restore,
    take_state,
)
from emberlog.streams.steps.spec import Spec, Step
from emberlog.streams.steps.tuple_log import LogFile
from emberlog.workers.wire.messages import Mail, Message

_NO_PART = -1


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
        assert isinstance(state.evaluator, PartitionEvaluator | SeveralWindows)
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
    due = due_of_all(spec, step, state.backlog, told.clock, tuples, part)
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
        for at, some in early_slides(spec, state, due.clock):
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
        log = checkpoint.log.pruned([*kept, *log], _kept_since(spec, state, due.clock), compacted)
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


def with_slides(spec: Spec, record: Record, measures: Measures) -> Record:
    """Writes which slides were told, so that a sink can tell an empty answer from none."""
    if not measures.told:
        return record
    files = AnswerFiles(Checkpoint(spec.location).outputs, spec.layout, f"{record.token}-told")
    files.add_slides(measures.told)
    return replace(record, outputs=(*record.outputs, *files.finish()))
