"""A second, slow look at text files, after Spark has found that something in them is wrong: which line it is."""

from __future__ import annotations

import bz2
import gzip
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TextIO

from emberlog.datatypes import BOOL, FLOAT, INT, INT_MAX, INT_MIN, TIMESTAMP, DataType
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.delimited_text import Cell, read_rows
from emberlog.semantics.model import Column
from emberlog.source import Source, Span

_INT = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NULL = r"\N"

_OPEN: dict[str, Callable[..., TextIO]] = {".gz": gzip.open, ".bz2": bz2.open}


def find_bad_line(
    files: Sequence[Path], delimiter: str, *, header: bool, columns: Sequence[Column]
) -> EmberlogError | None:
    """The error for the first line that does not fit, with its place; None if no such line is found."""
    for file in files:
        for number, line in _lines(file, header):
            error = _complaint(file, number, line, delimiter, columns)
            if error is not None:
                return error
    return None


def _lines(file: Path, header: bool) -> Iterator[tuple[int, str]]:
    opened = _OPEN.get(file.suffix, open)
    try:
        with opened(file, "rt", encoding="utf-8-sig", newline="") as text:
            for number, line in enumerate(text, 1):
                if line.strip("\r\n") and not (header and number == 1):
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise fail(
            "DL406", f"`{file}` is not text in UTF-8", None, f"byte {error.start + 1:,} of a line cannot stand there"
        ) from None
    except OSError as error:
        raise fail("DL405", f"cannot read `{file}`: {(error.strerror or str(error)).lower()}") from None


def _complaint(file: Path, number: int, line: str, delimiter: str, columns: Sequence[Column]) -> EmberlogError | None:
    # Line breaks in the place of the lines before make the error show the right number.
    before = number - 1
    source = Source(str(file), "\n" * before + line)
    try:
        rows = read_rows(source, delimiter)
    except EmberlogError as error:
        return error
    cells = rows[0] if rows else ()
    if len(cells) != len(columns):
        return fail(
            "DL402",
            f"this line has {_counted(len(cells), 'cell')}, but the relation has {_counted(len(columns), 'column')}",
            Span(source, before, before + len(line)),
        )
    for index, (cell, column) in enumerate(zip(cells, columns, strict=True)):
        problem = _problem(cell, column.type)
        if problem is not None:
            message = f"`{cell.text}` {problem}: column {index + 1}, `{column.name}`"
            return fail("DL404", message, Span(source, cell.start, cell.end))
    return None


def _problem(cell: Cell, type_: DataType) -> str | None:
    """What is wrong with a cell, or None."""
    text = cell.text.strip()
    if not cell.quoted and (cell.text == _NULL or not text):
        return None
    if type_ == INT:
        if not _INT.fullmatch(text):
            return "is not an int"
        return None if len(text) < 30 and INT_MIN <= int(text) <= INT_MAX else "does not fit in a 64-bit int"
    if type_ == FLOAT:
        is_float = _FLOAT.fullmatch(text) is not None and abs(float(text)) != float("inf")
        return None if is_float else "is not a float"
    if type_ == BOOL:
        return None if text.lower() in ("true", "false") else "is not a bool"
    if type_ == TIMESTAMP:
        return None if _INT.fullmatch(text) or _is_moment(text) else "is not a timestamp"
    return None


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
