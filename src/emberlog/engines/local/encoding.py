"""Relations of this process as lanes, and lanes as relations. Column by column where there is a table of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, DataType
from emberlog.diagnostics import fail
from emberlog.engines.recording import ITERATION
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.nodes import Field
from emberlog.semantics.model import CellValue
from emberlog.workers.kernels.lanes import Lane, Lanes, floats_to_lane, joined, lane_to_floats
from emberlog.workers.kernels.memory import claim
from emberlog.workers.store.history import HistoryBatch
from emberlog.workers.store.stores import distinct_rows
from emberlog.workers.store.texts import TextCodes


def encoded(
    name: str, relation: LocalRelation, types: Sequence[DataType], codes: TextCodes, *, must_be_set: bool
) -> Lanes:
    """Returns the facts of a relation, each once if they must be a set."""
    if relation.has_nulls:
        raise fail("DL330", f"`{name}`, which this recursion reads, has nulls, which this executor cannot keep")
    if not relation.is_table:
        facts = list(relation.facts)
        lanes = [_lane_of_values([fact[i] for fact in facts], type_, codes) for i, type_ in enumerate(types)]
        return np.stack(lanes) if lanes else np.empty((0, len(facts)), np.int64)
    lanes = [_lane_of_column(relation.table.column(i), type_, codes) for i, type_ in enumerate(types)]
    rows = np.stack(lanes)
    return distinct_rows(rows) if must_be_set else rows


def _lane_of_values(values: Sequence[CellValue], type_: DataType, codes: TextCodes) -> Lane:
    if type_ == STRING:
        return codes.encode(pa.array(values, pa.large_string()))
    if type_ == FLOAT:
        return floats_to_lane(np.array(values, np.float64))
    return np.array(values, np.int64)


def _lane_of_column(column: pa.ChunkedArray, type_: DataType, codes: TextCodes) -> Lane:
    if type_ == STRING:
        return codes.encode(column)
    if type_ == FLOAT:
        return floats_to_lane(column.to_numpy())
    return column.cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]


def decoded(columns: Sequence[Field], batches: Iterable[Sequence[Lane]], codes: TextCodes) -> LocalRelation:
    types = [column.type for column in columns]
    lanes = joined(list(_kept(batches)), len(types))
    return _relation(columns, _columns(lanes, types, codes))


def decoded_history(columns: Sequence[Field], batches: Iterable[HistoryBatch], codes: TextCodes) -> LocalRelation:
    """Returns a relation with the iteration of each row behind its columns. Batches stay apart, as they came: recording
    should not cost another copy of everything."""
    types = [column.type for column in columns]
    chunks = [[_column(np.empty(0, np.int64), type_, codes)] for type_ in types]
    iterations = [pa.array(np.empty(0, np.int32))]
    for batch in batches:
        claim(batch.iterations.nbytes + sum(lane.nbytes for lane in batch.columns))
        for chunk, lane, type_ in zip(chunks, batch.columns, types, strict=True):
            chunk.append(_column(lane, type_, codes))
        iterations.append(pa.array(batch.iterations))
    return _relation((*columns, Field(ITERATION, INT)), [pa.chunked_array(chunk) for chunk in (*chunks, iterations)])


def _columns(lanes: Lanes, types: Sequence[DataType], codes: TextCodes) -> list[pa.Array]:
    return [_column(lane, type_, codes) for lane, type_ in zip(lanes, types, strict=True)]


def _relation(columns: Sequence[Field], arrays: Sequence[pa.Array | pa.ChunkedArray]) -> LocalRelation:
    names = [column.name for column in columns]
    return LocalRelation(names, [column.type for column in columns], pa.table(list(arrays), names=names))


def _kept(batches: Iterable[Sequence[Lane]]) -> Iterator[Lanes]:
    """Batches that all stay in memory."""
    for batch in batches:
        claim(sum(lane.nbytes for lane in batch))
        yield np.stack(batch)


def _column(lane: Lane, type_: DataType, codes: TextCodes) -> pa.Array:
    if type_ == STRING:
        return codes.decode(lane).cast(pa.string())
    if type_ == FLOAT:
        return pa.array(lane_to_floats(lane))
    return pa.array(lane.astype(np.bool_)) if type_ == BOOL else pa.array(np.ascontiguousarray(lane))
