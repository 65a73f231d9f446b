"""Writes the facts that a worker owns into Parquet files or Arrow batches, and checks that all of them are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from emberlog.datatypes import BOOL, FLOAT, STRING, DataType
from emberlog.io.arrow_values import arrow_type, as_arrow
from emberlog.workers.kernels.lanes import NULL, Lane, lane_to_floats
from emberlog.workers.kernels.tuning import LONGEST_FILE, RANGE_SAMPLE
from emberlog.workers.store.folders import Folder
from emberlog.workers.store.texts import Texts


class Lost(Exception):
    """Says that an attempt lost a worker or what it wrote; the text says how. The next one may come to its end."""


def relation_folder(index: int) -> str:
    """Returns the name of the folder of an output, by its place among them."""
    return f"relation-{index}"


def check_files(folder: Folder, written: Mapping[str, int]) -> None:
    """Raises Lost unless all files that workers say that they wrote are there, as long as they say."""
    try:
        places = sorted({name.rpartition("/")[0] for name in written})
        found = {name: size for sizes in folder.each(folder.sizes, places) for name, size in sizes.items()}
    except (OSError, pa.ArrowException) as error:
        raise Lost(f"the files that workers wrote cannot be listed: {error}") from error
    for name, size in written.items():
        if name not in found:
            raise Lost("a file that a worker wrote is gone")
        if found[name] != size:
            raise Lost(f"a worker wrote {size:,} bytes, and the file has {found[name]:,}")


_INT32 = np.iinfo(np.int32)


class ResultFiles:
    """Writes Parquet files whose names begin with `stem`, written batch by batch. Ints are as narrow as a batch allows,
    which Spark reads back as what they are; columns that change rarely are encoded as runs."""

    def __init__(
        self,
        types: Sequence[DataType],
        names: Sequence[str],
        texts: Texts,
        folder: Folder,
        stem: str,
        nullable: frozenset[int] = frozenset(),
    ) -> None:
        """`folder` is that of the run, and `stem` is below it. `nullable` are the columns that may have nulls."""
        self.types = types
        self.nullable = nullable
        self.names = names
        self.texts = texts
        self.folder = folder
        self.stem = stem
        self.rows = 0
        self.files: dict[str, int] = {}
        """Those that are complete, below the folder of the run, and how many bytes each has."""
        self._writer: pq.ParquetWriter | None = None
        self._out: Any = None
        self._path = ""
        self._schema: pa.Schema | None = None
        self._in_file = 0

    def go_on_from(self, files: Mapping[str, int], rows: int) -> None:
        """Goes on behind those of these files that are of the same relation."""
        self.files = {name: size for name, size in files.items() if name.split("/")[-2] == self.stem.split("/")[-2]}
        self.rows = rows

    def write(self, lanes: list[Lane]) -> None:
        columns = [
            arrow_column(lane, data_type, self.texts, nullable=place in self.nullable)
            for place, (lane, data_type) in enumerate(zip(lanes, self.types, strict=True))
        ]
        fields = enumerate(zip(self.names, columns, strict=True))
        schema = pa.schema([pa.field(name, one.type, nullable=place in self.nullable) for place, (name, one) in fields])
        if self._writer is None or self._schema != schema or self._in_file >= LONGEST_FILE:
            self.close_file()
            self._open(schema, [name for name, lane in zip(self.names, lanes, strict=True) if _has_runs(lane)])
        assert self._writer is not None
        self._writer.write_batch(pa.record_batch(columns, schema=schema), row_group_size=len(lanes[0]))
        self.rows += len(lanes[0])
        self._in_file += len(lanes[0])

    def _open(self, schema: pa.Schema, runs: list[str]) -> None:
        self._path = f"{self.stem}-{len(self.files)}.parquet"
        self._out = self.folder.open_out(self._path)
        self._writer = pq.ParquetWriter(
            self._out, schema, use_dictionary=runs, compression="none", write_statistics=False, store_schema=False
        )
        self._schema, self._in_file = schema, 0

    def close_file(self) -> None:
        """Closes the current Parquet file. The next batch opens a new one."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            with self._out:
                writer.close()
                size = int(self._out.tell())
            self.files[self._path] = size


def arrow_column(
    lane: Lane, data_type: DataType, texts: Texts, *, narrow: bool = True, nullable: bool = False
) -> pa.Array:
    if nullable and bool((null := lane == NULL).any()):
        there = arrow_column(lane[~null], data_type, texts, narrow=narrow)
        places = np.cumsum(~null) - 1
        return there.take(pa.array(places, mask=null))
    if data_type.parts:
        values = texts.decode_values(lane, data_type)
        return pa.array((as_arrow(value, data_type) for value in values), arrow_type(data_type))
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
    sample = lane[:RANGE_SAMPLE]
    return bool(np.count_nonzero(sample[1:] != sample[:-1]) * 8 < len(sample))
