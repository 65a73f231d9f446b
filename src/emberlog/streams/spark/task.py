"""What runs in a task of Spark: the tuples of a micro-batch in, one row out that tells what became of them.

With several workers the tasks of one barrier stage take a step together, each with a partition of the facts.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.spark.key_handover import credentials_for
from emberlog.language.faults import Fault
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.evaluate.methods import slide_evaluator
from emberlog.streams.plan.slides import Schedule
from emberlog.streams.steps.checkpoint import Record
from emberlog.streams.steps.step import Measures, Spec, Step, forget_other_states, take_step, take_step_together
from emberlog.workers.kernels.tuning import WAIT_SECONDS
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.frames import PeerLost
from emberlog.workers.wire.handshake import Address, Unreachable
from emberlog.workers.wire.listener import ANY_PORT, Ports
from emberlog.workers.wire.presence import Presence

TAG = "tag"
SUMMARY = "summary"
NO_STREAM = -1


def column_name(tag: int, place: int) -> str:
    """Names the column of the micro-batch that holds a column of a stream."""
    return f"s{tag}c{place}"


def evaluator_of(
    plan: bytes, schedule: Schedule, tracks_changes: bool, statics: Mapping[str, pa.Table], part: int, parts: int
) -> SlideEvaluator:
    """Makes an evaluator from a pickled plan, which only a task without a state has to read."""
    return slide_evaluator(pickle.loads(plan), schedule, tracks_changes, statics, part, parts)


def run_step(spec: Spec, step: Step, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Is the task of a query whose facts are in one place."""
    forget_other_states(spec.query)
    yield _summary(lambda: take_step(spec, step, _by_stream(spec, batches)))


@dataclass(frozen=True, slots=True)
class PartitionJob:
    spec: Spec
    step: Step
    run: str
    tracker: Address | None
    """Where workers are told of each other; None where the driver may be out of their reach."""
    ports: Ports = ANY_PORT


def run_partition(job: PartitionJob, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Is the task of one of several workers."""
    from pyspark import BarrierTaskContext

    context: Any = BarrierTaskContext.get()
    number: int = context.partitionId()
    workers = job.spec.options.workers
    host = job.tracker.host if job.tracker else context.getTaskInfos()[number].address.rpartition(":")[0]
    forget_other_states(job.spec.query)
    share = _by_stream(job.spec, batches)
    presence = Presence(number, workers, host, WAIT_SECONDS, job.ports)

    def take() -> tuple[Record, Measures]:
        met = presence.begin(credentials_for(context, job.run), job.tracker, context.allGather)
        exchange = Exchange(number, met.peers, met.routes)
        return take_step_together(job.spec, job.step, share, number, workers, exchange.swap)

    try:
        yield _summary(take)
    finally:
        presence.end()


def _by_stream(spec: Spec, batches: Iterator[pa.RecordBatch]) -> Mapping[str, pa.Table]:
    found: dict[str, list[pa.RecordBatch]] = {stream: [] for stream in spec.streams}
    for batch in batches:
        tags = batch.column(0)
        for tag, (stream, columns) in enumerate(spec.streams.items()):
            rows = batch.filter(pc.equal(tags, tag))
            if rows.num_rows:
                found[stream].append(rows.select([column_name(tag, place) for place in range(len(columns))]))
    return {stream: pa.Table.from_batches(parts) for stream, parts in found.items() if parts}


def _summary(take: Callable[[], tuple[Record, Measures]]) -> pa.RecordBatch:
    """Returns what a step gives, or the fault that it met, as the one row of a task."""
    try:
        record, measures = take()
        summary: dict[str, Any] = {"record": record.to_json().decode(), "measures": asdict(measures)}
    except Fault as fault:
        summary = {"fault": [fault.code, fault.message, fault.rule, list(fault.notes)]}
    except EmberlogError as error:
        first = error.diagnostics[0]
        summary = {"fault": [first.code, first.message, "", [note.text for note in first.notes]]}
    except (PeerLost, Unreachable) as problem:
        summary = {"lost": str(problem)}
    return pa.record_batch([pa.array([json.dumps(summary)])], names=[SUMMARY])


def read_summaries(texts: Sequence[str]) -> list[tuple[Record, Measures]]:
    """Reads what the tasks of a step gave. Raises the Fault that one of them met: the others only miss that task."""
    summaries: list[dict[str, Any]] = [json.loads(text) for text in texts]
    for summary in summaries:
        if "fault" in summary:
            code, message, rule, notes = summary["fault"]
            raise Fault(code, message, *notes, rule=rule)
    for summary in summaries:
        if "lost" in summary:
            raise fail("DL520", f"a worker stopped: {summary['lost']}")
    return [_read(summary["record"], summary["measures"]) for summary in summaries]


def _read(record: str, measures: dict[str, Any]) -> tuple[Record, Measures]:
    measures["slide_seconds"] = tuple(measures["slide_seconds"])
    return Record.from_json(record.encode()), Measures(**measures)
