"""What runs in a task of Spark: the tuples of a micro-batch in, one row out that tells what became of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.diagnostics import EmberlogError, fail
from emberlog.language.faults import Fault
from emberlog.streams.steps.checkpoint import Record
from emberlog.streams.steps.query_state import forget_others
from emberlog.streams.steps.step import Measures, Spec, Step, take_step
from emberlog.workers.wire.exchange import PeerLost

TAG = "tag"
SUMMARY = "summary"
NO_STREAM = -1


def column_name(tag: int, place: int) -> str:
    """The column of the micro-batch that holds a column of a stream."""
    return f"s{tag}c{place}"


def run_step(spec: Spec, step: Step, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The task of a query whose facts are in one place."""
    forget_others(spec.query)
    yield told(lambda: take_step(spec, step, by_stream(spec, batches)))


def told(take: Callable[[], tuple[Record, Measures]]) -> pa.RecordBatch:
    """What a step gives, or the fault that it met, as the one row of a task."""
    try:
        record, measures = take()
        summary: dict[str, Any] = {"record": record.to_json().decode(), "measures": asdict(measures)}
    except Fault as fault:
        summary = {"fault": [fault.code, fault.message, fault.rule, list(fault.notes)]}
    except EmberlogError as error:
        first = error.diagnostics[0]
        summary = {"fault": [first.code, first.message, "", [note.text for note in first.notes]]}
    except PeerLost as problem:
        summary = {"lost": str(problem)}
    return pa.record_batch([pa.array([json.dumps(summary)])], names=[SUMMARY])


def read_summaries(texts: Sequence[str]) -> list[tuple[Record, Measures]]:
    """Raises the Fault that a task met, if one did: it takes the others with it, which only miss it."""
    summaries: list[dict[str, Any]] = [json.loads(text) for text in texts]
    for summary in summaries:
        if "fault" in summary:
            code, message, rule, notes = summary["fault"]
            raise Fault(code, message, *notes, rule=rule)
    for summary in summaries:
        if "lost" in summary:
            raise fail("DL520", f"a worker stopped: {summary['lost']}")
    return [_read(summary) for summary in summaries]


def _read(told: Mapping[str, Any]) -> tuple[Record, Measures]:
    measures = told["measures"]
    measures["slide_seconds"] = tuple(measures["slide_seconds"])
    return Record.from_json(told["record"].encode()), Measures(**measures)


def by_stream(spec: Spec, batches: Iterator[pa.RecordBatch]) -> Mapping[str, pa.Table]:
    found: dict[str, list[pa.RecordBatch]] = {stream: [] for stream in spec.streams}
    for batch in batches:
        tags = batch.column(0)
        for tag, (stream, types) in enumerate(spec.streams.items()):
            rows = batch.filter(pc.equal(tags, tag))
            if rows.num_rows:
                found[stream].append(rows.select([column_name(tag, place) for place in range(len(types))]))
    return {stream: pa.Table.from_batches(parts) for stream, parts in found.items() if parts}
