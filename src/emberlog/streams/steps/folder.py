"""A folder of a checkpoint, on this machine's disk or wherever Arrow and Spark both can reach."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs


@dataclass(frozen=True, slots=True)
class Folder:
    location: str
    """A path, or an address such as `s3://bucket/checkpoints/rides`."""

    @property
    def uri(self) -> str:
        """Returns the address in the form that Spark wants."""
        return self.location if "://" in self.location else f"file://{os.path.abspath(self.location)}"

    def within(self, name: str) -> Folder:
        return Folder(f"{self.location.rstrip('/')}/{name}")

    def names(self) -> list[str]:
        """Lists the files of the folder, without those that are not finished."""
        system, path = self._place("")
        found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return sorted(one.base_name for one in found if one.is_file and not one.base_name.startswith("."))

    def read(self, name: str) -> bytes:
        system, path = self._place(name)
        with system.open_input_stream(path) as stream:
            return bytes(stream.read())

    def write(self, name: str, data: bytes) -> None:
        """Writes all of a file or nothing: a reader never sees half of it."""
        system, path = self._place(name)
        _, unfinished = self._place(f".{name}.{uuid.uuid4().hex}")
        system.create_dir(os.path.dirname(path))
        with system.open_output_stream(unfinished) as stream:
            stream.write(data)
        system.move(unfinished, path)

    def delete(self, name: str) -> None:
        system, path = self._place(name)
        if system.get_file_info(path).type is not fs.FileType.NotFound:
            system.delete_file(path)

    def table(self, name: str) -> pa.Table:
        system, path = self._place(name)
        return pq.read_table(path, filesystem=system)

    def tables(self) -> pa.Table:
        """Returns all Parquet files of the folder, as Spark wrote them, as one table."""
        system, path = self._place("")
        return pq.read_table(path, filesystem=system)

    def writer(self, name: str, schema: pa.Schema) -> pq.ParquetWriter:
        system, path = self._place(name)
        system.create_dir(os.path.dirname(path))
        return pq.ParquetWriter(path, schema, filesystem=system, compression="zstd")

    def _place(self, name: str) -> tuple[fs.FileSystem, str]:
        system, base = (
            fs.FileSystem.from_uri(self.location)
            if "://" in self.location
            else (fs.LocalFileSystem(), os.path.abspath(self.location))
        )
        return system, f"{base.rstrip('/')}/{name}" if name else base
