"""Relations of this process as lanes, and lanes as relations. Column by column where there is a table of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from emberlog.datatypes import FLOAT, INT, DataType
from emberlog.engines.recording import ITERATION
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.nodes import Field
from emberlog.semantics.model import CellValue
from emberlog.workers.kernels.lanes import Lane, Lanes, floats_to_lane
from emberlog.workers.kernels.memory import claim
from emberlog.workers.kernels.threads import in_threads
from emberlog.workers.kernels.tuning import LARGE_BYTES
from emberlog.workers.plan.faults import Refused
from emberlog.workers.store.history import HistoryBatch
from emberlog.workers.store.stores import distinct_rows
from emberlog.workers.store.texts import TextCodes
from emberlog.workers.wire.draining import arrow_column
from emberlog.workers.wire.feeding import LikeNull, lane_of_column


def encoded(
    name: str,
    relation: LocalRelation,
    types: Sequence[DataType],
    codes: TextCodes,
    *,
    must_be_set: bool,
    threads: int = 1,
) -> Lanes:
    """Returns the facts of a relation, each once if they must be a set; raises Refused."""
    nullable = relation.columns_with_nulls
    if not relation.is_table and not nullable:
        facts = list(relation.facts)
        lanes = [_lane_of_values([fact[i] for fact in facts], type_, codes) for i, type_ in enumerate(types)]
        return np.stack(lanes) if lanes else np.empty((0, len(facts)), np.int64)
    table = relation.table
    claim(8 * len(types) * table.num_rows)
    rows = np.empty((len(types), table.num_rows), np.int64)
    chunks = []
    try:
        for i, (column, type_) in enumerate(zip(table.columns, types, strict=True)):
            if type_.is_coded or i in nullable:
                # One after the other, so that texts have the same codes in every run; and one chunk may have nulls,
                # and another what stands for them.
                _fill(rows[i], column, type_, codes, i in nullable)
                continue
            begin = 0
            for one in column.chunks:
                part = rows[i, begin : begin + len(one)]
                chunks.append(partial(_fill, part, pa.chunked_array([one]), type_, codes, False))
                begin += len(one)
        in_threads(chunks, threads)
    except LikeNull:
        raise Refused(f"`{name}` has nulls, and the int that stands for them") from None
    return distinct_rows(rows) if must_be_set and not relation.is_known_set else rows


def _fill(lane: Lane, column: pa.ChunkedArray, type_: DataType, codes: TextCodes, nullable: bool) -> None:
    lane[:] = lane_of_column(column, type_, codes, nullable=nullable)


def _lane_of_values(values: Sequence[CellValue], type_: DataType, codes: TextCodes) -> Lane:
    if type_.is_coded:
        return codes.encode_values(values, type_)
    if type_ == FLOAT:
        return floats_to_lane(np.array(values, np.float64))
    return np.array(values, np.int64)


def decoded(
    columns: Sequence[Field], parts: Sequence[Iterable[Sequence[Lane]]], codes: TextCodes, nullable: frozenset[int]
) -> LocalRelation:
    """Returns a relation of several parts, each with batches of its own, which some workers find only now. `nullable`
    are the columns that may have nulls. Batches stay apart, as they came: there may be more of them than one wants to
    copy."""
    types = [column.type for column in columns]
    found = in_threads([partial(_columns, part, types, codes, nullable) for part in parts], len(parts))
    batches = [batch for part in found for batch in part]
    if not batches:
        batches = [[_column(np.empty(0, np.int64), type_, codes, False) for type_ in types]]
    return _relation(columns, [pa.chunked_array(chunks) for chunks in zip(*batches, strict=True)])


def listed(parts: Sequence[Iterable[Sequence[Lane]]]) -> list[list[Sequence[Lane]]]:
    """Returns the batches of each part, found by as many threads."""
    return in_threads([partial(list, _claimed(part)) for part in parts], len(parts))


def _columns(
    batches: Iterable[Sequence[Lane]], types: Sequence[DataType], codes: TextCodes, nullable: frozenset[int]
) -> list[list[pa.Array]]:
    return [
        [_column(lane, type_, codes, i in nullable) for i, (lane, type_) in enumerate(zip(batch, types, strict=True))]
        for batch in _claimed(batches)
    ]


def _claimed(batches: Iterable[Sequence[Lane]]) -> Iterator[Sequence[Lane]]:
    """Yields batches for which there is room. Small ones are claimed together: one alone is too small to be looked
    at."""
    unclaimed = 0
    for batch in batches:
        unclaimed += sum(lane.nbytes for lane in batch)
        if unclaimed >= LARGE_BYTES:
            claim(unclaimed)
            unclaimed = 0
        yield batch


def decoded_history(
    columns: Sequence[Field], batches: Iterable[HistoryBatch], codes: TextCodes, nullable: frozenset[int]
) -> LocalRelation:
    """Returns a relation with the iteration of each row behind its columns. Batches stay apart, as they came: recording
    should not cost another copy of everything."""
    types = [column.type for column in columns]
    chunks = [[_column(np.empty(0, np.int64), type_, codes, False)] for type_ in types]
    iterations = [pa.array(np.empty(0, np.int32))]
    for batch in batches:
        claim(batch.iterations.nbytes + sum(lane.nbytes for lane in batch.columns))
        for place, (chunk, lane, type_) in enumerate(zip(chunks, batch.columns, types, strict=True)):
            chunk.append(_column(lane, type_, codes, place in nullable))
        iterations.append(pa.array(batch.iterations))
    return _relation((*columns, Field(ITERATION, INT)), [pa.chunked_array(chunk) for chunk in (*chunks, iterations)])


def _relation(columns: Sequence[Field], arrays: Sequence[pa.Array | pa.ChunkedArray]) -> LocalRelation:
    names = [column.name for column in columns]
    return LocalRelation(names, [column.type for column in columns], pa.table(list(arrays), names=names))


def _column(lane: Lane, type_: DataType, codes: TextCodes, nullable: bool) -> pa.Array:
    return arrow_column(np.ascontiguousarray(lane), type_, codes, narrow=False, nullable=nullable)
