"""Recognises folders that are tables of Delta, Iceberg or Hudi, and reads the first two in this process.

Which of the files in such a folder count, its log says: a folder that is read as plain Parquet has rows that were
deleted long ago. So it is read by what knows the log, or not at all.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emberlog.diagnostics import EmberlogError, fail

if TYPE_CHECKING:
    import pyarrow as pa

TABLE_KINDS = {".delta": "Delta", ".iceberg": "Iceberg", ".hudi": "Hudi"}
"""The formats by the kind that `format=` gives, and as people write them."""

_PACKAGES = {".delta": ("deltalake", "emberlog[delta]"), ".iceberg": ("pyiceberg", "emberlog[iceberg]")}
"""What reads a format here, and what installs it."""
_VERSION = re.compile(r"v?(\d+).*\.metadata\.json(?:\.gz)?")


def table_kind(path: str) -> str:
    """Returns the kind of the table in a folder; an empty text if it is none. Raises DL430 for a partition of one, and
    for a pattern of its files."""
    folder = Path(path).absolute()
    kind = _kind_at(folder)
    while not kind and not folder.is_file() and any(character in folder.name for character in "=*?["):
        folder = folder.parent
        if found := _kind_at(folder):
            hint = f"its log says which files count: register the whole table, `{folder}`"
            raise fail("DL430", f"`{path}` is a part of a {TABLE_KINDS[found]} table", None, hint)
    return kind


def _kind_at(folder: Path) -> str:
    try:
        if (folder / "_delta_log").is_dir():
            return ".delta"
        if (folder / ".hoodie").is_dir():
            return ".hudi"
        if any((folder / "metadata").glob("*.metadata.json*")):
            return ".iceberg"
    except OSError:  # what cannot be read is told by whoever reads it
        pass
    return ""


def read_table(kind: str, path: str) -> pa.Table:
    """Returns the rows of a table as its log has them now; raises DL430 if nothing here can read it."""
    if kind not in _PACKAGES:
        raise unreadable_table(kind, path, "Spark reads it, if its session has the package of that format")
    package, extra = _PACKAGES[kind]
    try:
        return _delta(path) if kind == ".delta" else _iceberg(path)
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        hint = f"pip install '{extra}' reads it, or a session of Spark that has the package of {TABLE_KINDS[kind]}"
        raise unreadable_table(kind, path, hint) from None
    except EmberlogError:
        raise
    except Exception as error:  # each package has errors of its own, and some have none in common
        raise unreadable_table(kind, path, str(error).strip().partition("\n")[0]) from None


def unreadable_table(kind: str, path: str, hint: str) -> EmberlogError:
    """Returns the error for a table that nothing here can read."""
    return fail("DL430", f"`{path}` is {TABLE_KINDS[kind]}, a table that cannot be read here", None, hint)


def _delta(path: str) -> pa.Table:
    import deltalake
    import pyarrow as pa

    table: Any = deltalake.DeltaTable(path)
    return pa.table(table.to_pyarrow_table())


def _iceberg(path: str) -> pa.Table:
    import pyarrow as pa
    from pyiceberg.table import StaticTable

    return pa.table(StaticTable.from_metadata(str(_newest(Path(path) / "metadata"))).scan().to_arrow())


def _newest(folder: Path) -> Path:
    """Returns the file that says what an Iceberg table holds now: the one that the hint names, or the last one."""
    found = {file: match for file in folder.iterdir() if (match := _VERSION.fullmatch(file.name))}
    hint = folder / "version-hint.text"
    if hint.is_file():
        said = hint.read_text().strip()
        for file, match in found.items():
            if said in (match[1], file.name):
                return file
    return max(found, key=lambda file: (int(found[file][1]), file.stat().st_mtime_ns))
