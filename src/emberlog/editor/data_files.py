"""Says how many rows the data of a relation has, without reading them."""

from __future__ import annotations

from pathlib import Path

from emberlog.io.paths import DELIMITERS, kind_of
from emberlog.logical.summary import counted

_LARGEST_COUNTED = 256 << 20
"""Bytes of a text whose lines are counted."""


def rows_text(file: Path, folder: Path) -> str:
    """Returns `1,204 rows in facts/arc.parquet`; without a number where it would take reading."""
    shown = file.relative_to(folder) if file.is_relative_to(folder) else file
    try:
        rows = _rows(file)
    except OSError:
        rows = None
    return f"{rows} in `{shown}`." if rows else f"Its facts are in `{shown}`."


def _rows(file: Path) -> str | None:
    if not file.is_file():
        return None
    if file.suffix.lower() == ".parquet":
        from pyarrow.lib import ArrowException
        from pyarrow.parquet import read_metadata

        try:
            return counted(read_metadata(file).num_rows, "row")
        except ArrowException:
            return None
    if file.suffix.lower() in DELIMITERS and kind_of(str(file)) in DELIMITERS:
        if file.stat().st_size > _LARGEST_COUNTED:
            return None
        with file.open("rb") as lines:
            return counted(sum(not line.isspace() for line in lines), "line")
    return None
