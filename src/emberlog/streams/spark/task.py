"""What runs in a task of Spark: the tuples of a micro-batch in, one row out that tells what became of them.

With several workers the tasks of one stage take a step together, each with a partition of the facts.
"""

from __future__ import annotations

import base64
import json
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.spark.key_handover import credentials_for
from emberlog.engines.spark.task import no_gathering, own_host
from emberlog.io.spark_conversions import MALFORMED
from emberlog.language.faults import Fault
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.evaluate.methods import slide_evaluator
from emberlog.streams.plan.slides import Schedule
from emberlog.streams.state.copies import CHANGE
from emberlog.streams.steps.checkpoint import Record
from emberlog.streams.steps.culprits import find_culprits
from emberlog.streams.steps.measures import Measures
from emberlog.streams.steps.resident_state import forget_other_states
from emberlog.streams.steps.spec import Spec, Step
from emberlog.streams.steps.step import take_step, take_step_together
from emberlog.workers.kernels.tuning import WAIT_SECONDS
from emberlog.workers.wire.draining import Lost
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.frames import PeerLost
from emberlog.workers.wire.handshake import Address, Refused, Unreachable
from emberlog.workers.wire.listener import ANY_PORT, Ports
from emberlog.workers.wire.presence import Presence
from emberlog.workers.wire.rendezvous import Taken

_log = logging.getLogger("emberlog")

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


def run_search(spec: Spec, step: Step, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Is the task that looks for the tuples of a batch that a rule has no value for."""
    forget_other_states(spec.query)
    yield _summary_of(lambda: {"culprits": _as_text(find_culprits(spec, step, _by_stream(spec, batches)))})


def _as_text(tables: Mapping[str, pa.Table]) -> dict[str, str]:
    found: dict[str, str] = {}
    for stream, table in tables.items():
        with pa.BufferOutputStream() as sink:
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            found[stream] = base64.b64encode(sink.getvalue()).decode()
    return found


def read_culprits(text: str) -> dict[str, pa.Table]:
    """Reads what `run_search` gave."""
    found: dict[str, str] = _checked([text])[0]["culprits"]
    return {stream: pa.ipc.open_stream(base64.b64decode(table)).read_all() for stream, table in found.items()}


Task = Callable[[Spec, Step, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class PartitionJob:
    spec: Spec
    step: Step
    workers: int
    """That take the step: fewer than the query has if Spark has no room for all."""
    run: str
    tracker: Address | None
    """Where workers are told of each other; None where the driver is out of their reach."""
    ports: Ports = ANY_PORT


def run_partition(job: PartitionJob, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Is the task of one of several workers."""
    from pyspark import BarrierTaskContext, TaskContext

    context: Any = BarrierTaskContext.get() if job.tracker is None else TaskContext.get()
    number: int = context.partitionId()
    workers, host = job.workers, own_host(job.tracker, context)
    forget_other_states(job.spec.query)
    presence = Presence(number, workers, host, WAIT_SECONDS, job.ports)

    def take() -> tuple[Record, Measures]:
        gather = context.allGather if job.tracker is None else no_gathering
        met = presence.begin(credentials_for(context, job.run), job.tracker, gather)
        with closing(Exchange(number, met.peers, met.routes)) as exchange:
            share = _by_stream(job.spec, batches)
            return take_step_together(job.spec, job.step, share, number, workers, exchange.swap)

    try:
        yield _summary(partial(_taken_or_told, take))
        presence.leave_peers()
    finally:
        presence.end()


class _Stopped(Exception):
    """Says why a worker of several stopped. Spark would try its task again, without the others."""


def _taken_or_told(take: Callable[[], tuple[Record, Measures]]) -> tuple[Record, Measures]:
    try:
        return take()
    except (Fault, EmberlogError, PeerLost, Unreachable, Refused, Taken):
        raise
    except Exception as error:
        _log.exception("a worker of a step stopped")
        raise _Stopped("".join(traceback.format_exception_only(error)).strip()) from error


def _by_stream(spec: Spec, batches: Iterator[pa.RecordBatch]) -> Mapping[str, pa.Table]:
    found: dict[str, list[pa.RecordBatch]] = {stream: [] for stream in spec.streams}
    for batch in batches:
        tags = batch.column(0)
        for tag, (stream, columns) in enumerate(spec.streams.items()):
            rows = batch.filter(pc.equal(tags, tag))
            if rows.num_rows:
                names = [column_name(tag, place) for place in range(len(columns))]
                extras = [MALFORMED, CHANGE] if stream in spec.changing else [MALFORMED]
                found[stream].append(rows.select([*names, *extras]))
    return {stream: pa.Table.from_batches(parts) for stream, parts in found.items() if parts}


def _summary(take: Callable[[], tuple[Record, Measures]]) -> pa.RecordBatch:
    def summary() -> dict[str, Any]:
        record, measures = take()
        return {"record": record.to_json().decode(), "measures": asdict(measures)}

    return _summary_of(summary)


def _summary_of(summary: Callable[[], dict[str, Any]]) -> pa.RecordBatch:
    """Returns what a step gives, or the fault that it met, as the one row of a task."""
    try:
        told = summary()
    except Fault as fault:
        told = {"fault": [fault.code, fault.message, fault.rule, list(fault.notes)]}
    except EmberlogError as error:
        first = error.diagnostics[0]
        told = {"fault": [first.code, first.message, "", [note.text for note in first.notes]]}
    except (Unreachable, _Stopped) as problem:
        told = {"stopped": str(problem)}
    except (PeerLost, Refused, Taken) as problem:
        told = {"lost": str(problem)}
    return pa.record_batch([pa.array([json.dumps(told)])], names=[SUMMARY])


def read_summaries(texts: Sequence[str]) -> list[tuple[Record, Measures]]:
    """Reads what the tasks of a step gave."""
    return [_read(summary["record"], summary["measures"]) for summary in _checked(texts)]


def _checked(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Raises the Fault that one of several tasks met, or Lost if one is gone: the others only miss that task."""
    summaries: list[dict[str, Any]] = [json.loads(text) for text in texts]
    for summary in summaries:
        if "fault" in summary:
            code, message, rule, notes = summary["fault"]
            raise Fault(code, message, *notes, rule=rule)
    for summary in summaries:
        if "stopped" in summary:
            raise fail("DL520", f"a worker stopped: {summary['stopped']}")
    for summary in summaries:
        if "lost" in summary:
            raise Lost(summary["lost"])
    return summaries


def _read(record: str, measures: dict[str, Any]) -> tuple[Record, Measures]:
    measures["slide_seconds"] = tuple(measures["slide_seconds"])
    measures["told"] = tuple((at, sizes, is_final) for at, sizes, is_final in measures["told"])
    return Record.from_json(record.encode()), Measures(**measures)
