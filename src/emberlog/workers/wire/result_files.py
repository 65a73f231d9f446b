"""Where workers write their results, and whether all of it is there: nobody relies on it before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


class Lost(Exception):
    """An attempt lost a worker or what it wrote; the text says how. The next one may come to its end."""


def relation_folder(index: int) -> str:
    """Of an output, by its place among them."""
    return f"relation-{index}"


def check_files(place: Path, expected: Sequence[int]) -> None:
    """Whether the files of each output have as many rows as the workers say that they wrote."""
    for index, rows in enumerate(expected):
        try:
            found = sum(int(pq.read_metadata(path).num_rows) for path in (place / relation_folder(index)).iterdir())
        except (OSError, pa.ArrowException) as error:
            raise Lost("a file that a worker wrote cannot be read") from error
        if found != rows:
            raise Lost(f"workers wrote {rows:,} rows, and their files have {found:,}")
