"""What runs in a task of Spark: the tuples of a micro-batch in, one row out that tells what became of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.diagnostics import EmberlogError
from emberlog.executors.cyclic.faults import Fault
from emberlog.executors.streaming.checkpoint import Record
from emberlog.executors.streaming.step import Measures, Spec, Step, take_step

TAG = "tag"
SUMMARY = "summary"
NO_STREAM = -1


def column_name(tag: int, place: int) -> str:
    """The column of the micro-batch that holds a column of a stream."""
    return f"s{tag}c{place}"


def run_step(spec: Spec, step: Step, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    try:
        record, measures = take_step(spec, step, _by_stream(spec, batches))
        told: dict[str, Any] = {"record": record.to_json().decode(), "measures": asdict(measures)}
    except Fault as fault:
        told = {"fault": [fault.code, fault.message, fault.rule, list(fault.notes)]}
    except EmberlogError as error:
        first = error.diagnostics[0]
        told = {"fault": [first.code, first.message, "", [note.text for note in first.notes]]}
    yield pa.record_batch([pa.array([json.dumps(told)])], names=[SUMMARY])


def read_summary(text: str) -> tuple[Record, Measures]:
    """Raises the Fault that the task met, if it did."""
    told: dict[str, Any] = json.loads(text)
    if "fault" in told:
        code, message, rule, notes = told["fault"]
        raise Fault(code, message, rule, tuple(notes))
    measures = told["measures"]
    measures["slide_seconds"] = tuple(measures["slide_seconds"])
    return Record.from_json(told["record"].encode()), Measures(**measures)


def _by_stream(spec: Spec, batches: Iterator[pa.RecordBatch]) -> Mapping[str, pa.Table]:
    found: dict[str, list[pa.RecordBatch]] = {stream: [] for stream in spec.streams}
    for batch in batches:
        tags = batch.column(0)
        for tag, (stream, types) in enumerate(spec.streams.items()):
            rows = batch.filter(pc.equal(tags, tag))
            if rows.num_rows:
                found[stream].append(rows.select([column_name(tag, place) for place in range(len(types))]))
    return {stream: pa.Table.from_batches(parts) for stream, parts in found.items() if parts}
