"""Finds the files that a path means, and of which kind they are."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.table_formats import table_kind

DELIMITERS = {".csv": ",", ".tsv": "\t", ".facts": "\t"}
COMPRESSIONS = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate")
JSON_KINDS = (".json", ".jsonl", ".ndjson")
_PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
KINDS = (*DELIMITERS, ".parquet", *JSON_KINDS, ".orc")


def looks_like_a_path(text: str) -> bool:
    """Tells whether a string is the path of a file, and not the name of a table."""
    return "/" in text or os.sep in text or kind_of(text) in KINDS or os.path.exists(text)


def kind_of(path: str) -> str:
    """Returns the ending that tells the kind of a file: `.csv` for `arc.csv.gz`."""
    plain = Path(path.rstrip("/"))
    if plain.suffix.lower() in COMPRESSIONS:
        plain = plain.with_suffix("")
    return plain.suffix.lower()


def is_text(path: str) -> bool:
    """Tells whether a path means files of text, by its name or that of the first file in the folder."""
    if "://" in path or kind_of(path) in KINDS or not looks_like_a_path(path):
        return kind_of(path) in DELIMITERS
    return not table_kind(path) and kind_of(str(local_files(path)[0])) in DELIMITERS


def kind_given(format_: str | None, path: str) -> str:
    """Returns the kind that a person names, or that a path has."""
    return f".{format_.lstrip('.').lower()}" if format_ else kind_of(path)


def unknown_kind(path: str) -> EmberlogError:
    """Returns the error for a file of a kind that cannot be read."""
    return fail(
        "DL407",
        f"`{path}` is not a kind of file that is known",
        None,
        f'known are {", ".join(KINDS)}, also compressed; say format="csv" if its name does not tell',
    )


def without_scheme(path: str) -> str:
    """Returns a path of this machine that is written as an address, `file:///data/arc.csv`, as a plain one."""
    return unquote(urlsplit(path).path) if path.lower().startswith("file:/") else path


def local_files(path: str) -> list[Path]:
    """Returns the files of a path, which may be a folder or a pattern; raises DL405 if nothing there can be read. In a
    folder that is partitioned as Hive does it, these are the files of all folders such as `year=2026`."""
    if any(character in path for character in "*?[") and not os.path.exists(path):
        found = [Path(one) for one in sorted(glob.glob(path))]
        if not found:
            raise fail("DL405", f"no file fits `{path}`")
        return [file for one in found for file in local_files(str(one))]
    here = Path(path)
    try:
        if here.is_dir():
            inside = [one for one in sorted(here.iterdir()) if not one.name.startswith((".", "_"))]
            files = [one for one in inside if one.is_file()]
            for folder in inside:
                if _PARTITION.fullmatch(folder.name) and folder.is_dir():
                    files += local_files(str(folder))
            if not files:
                raise fail("DL405", f"the folder `{path}` holds no files")
            return files
        with here.open("rb"):
            return [here]
    except OSError as error:
        raise unreadable(path, error) from None


def file_states(files: Iterable[Path]) -> list[tuple[int, int]]:
    """Returns what changes about files when somebody writes them."""
    return [(one.st_mtime_ns, one.st_size) for one in map(os.stat, files)]


def partition_values(root: str, file: Path) -> dict[str, str | None]:
    """Returns what the folders between a root and a file say of its rows: `year` and `2026` for `year=2026`."""
    parts = file.relative_to(root).parts[:-1] if Path(root) in file.parents else ()
    found = [_PARTITION.fullmatch(part) for part in parts]
    values = {unquote(one[1]): unquote(one[2]) for one in found if one is not None}
    return {name: None if value == _NO_VALUE else value for name, value in values.items()}


def unreadable(path: str | Path, error: Exception) -> EmberlogError:
    """Returns the error for a file or a folder that the system does not let one read."""
    return fail("DL405", f"cannot read `{path}`: {reason_of(error)}")


def reason_of(error: Exception) -> str:
    """Returns what the system says about a file, in lower case, as it stands behind a colon."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def cause_in(report: str) -> str:
    """Returns the line of a long report of Spark or Arrow that says the most: the last cause, or the first line."""
    causes = re.findall(r"^Caused by: (?:[\w.$]+: )?(.+)$", report, re.MULTILINE)
    return causes[-1] if causes else report.strip().partition("\n")[0].strip()
