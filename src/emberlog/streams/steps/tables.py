"""Tables as Parquet files in the folders of a checkpoint."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from emberlog.workers.store.folders import Folder


def read_table(folder: Folder, name: str) -> pa.Table:
    with folder.open_in(name) as file:
        return pq.read_table(pa.BufferReader(file.read()))


def read_tables(folder: Folder) -> pa.Table:
    """Returns all Parquet files of a folder, as Spark wrote them, as one table."""
    return pa.concat_tables(folder.each(lambda name: read_table(folder, name), folder.files()))


class TableWriter:
    """Writes a table to a file, in parts. The file is there when the writer is closed."""

    def __init__(self, folder: Folder, name: str, schema: pa.Schema) -> None:
        folder.make("")
        self._out = folder.open_out(name)
        self._writer = pq.ParquetWriter(self._out, schema, compression="zstd")

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()
        self._out.close()
