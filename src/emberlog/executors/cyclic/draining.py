"""The facts that a worker owns, on their way out: into Parquet files, or as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from emberlog.datatypes import BOOL, FLOAT, STRING, DataType
from emberlog.executors.cyclic.lanes import Lane, lane_to_floats
from emberlog.executors.cyclic.text_table import TextTable

_INT32 = np.iinfo(np.int32)
_SAMPLE = 1 << 16

LONGEST_FILE = 1 << 25
"""Rows: several files can be read by several tasks, also without a splittable footer in between."""


def write_parquet(
    batches: Iterator[list[Lane]], types: Sequence[DataType], names: Sequence[str], texts: TextTable, stem: Path
) -> int:
    """Writes files that begin with `stem`; gives their number of rows. Ints are as narrow as a batch allows, which
    Spark reads back as what they are; columns that change rarely are encoded as runs."""
    writer: pq.ParquetWriter | None = None
    schema: pa.Schema | None = None
    rows = in_file = files = 0
    try:
        for lanes in batches:
            columns = [arrow_column(lane, data_type, texts) for lane, data_type in zip(lanes, types, strict=True)]
            wanted = pa.schema([pa.field(n, c.type, nullable=False) for n, c in zip(names, columns, strict=True)])
            if writer is None or schema != wanted or in_file >= LONGEST_FILE:
                if writer is not None:
                    writer.close()
                runs = [name for name, lane in zip(names, lanes, strict=True) if _has_runs(lane)]
                path = stem.with_name(f"{stem.name}-{files}.parquet")
                writer = pq.ParquetWriter(
                    path, wanted, use_dictionary=runs, compression="none", write_statistics=False, store_schema=False
                )
                schema, in_file, files = wanted, 0, files + 1
            writer.write_batch(pa.record_batch(columns, schema=wanted), row_group_size=len(lanes[0]))
            rows += len(lanes[0])
            in_file += len(lanes[0])
    finally:
        if writer is not None:
            writer.close()
    return rows


def arrow_column(lane: Lane, data_type: DataType, texts: TextTable, *, narrow: bool = True) -> pa.Array:
    if data_type == STRING:
        return texts.decode(lane).cast(pa.string())
    if data_type == FLOAT:
        return pa.array(lane_to_floats(lane))
    if data_type == BOOL:
        return pa.array(lane != 0)
    if narrow and len(lane) and lane.min() >= _INT32.min and lane.max() <= _INT32.max:
        return pa.array(lane.astype(np.int32))
    return pa.array(lane)


def _has_runs(lane: Lane) -> bool:
    sample = lane[:_SAMPLE]
    return bool(np.count_nonzero(sample[1:] != sample[:-1]) * 8 < len(sample))
