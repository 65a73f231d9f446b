"""Reads and writes files of delimited text in plain Python: `.csv` with commas, `.tsv` and `.facts` with tabs.

One fact per line, no header unless asked for, quoting as in RFC 4180. A missing value (null) is `\\N`; in a column
that is not of strings an empty cell is null too. Lists and pairs are JSON. What is written reads back as it was.
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

from emberlog.datatypes import BOOL, FLOAT, INT, INT_MAX, INT_MIN, STRING, TIMESTAMP, UNKNOWN, DataType
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.delimited_text import Cell, read_rows, written_cell
from emberlog.io.moments import time_of
from emberlog.io.paths import COMPRESSIONS, DELIMITERS, kind_of, reason_of, unreadable
from emberlog.semantics.model import CellValue, Column, Fact
from emberlog.source import Source, Span

NULL = r"\N"

_UNPACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".bz2": bz2.decompress}
_OPEN: dict[str, Callable[..., TextIO]] = {".gz": gzip.open, ".bz2": bz2.open}
"""How compressed files are read; others are read as they are."""

_INT = re.compile(r"[+-]?[0-9]{1,30}")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def read_facts(path: Path, columns: Sequence[Column], *, header: bool = False) -> tuple[Fact, ...]:
    """Returns the facts of a file, in its order and with those that are repeated."""
    text = read_cells(path, len(columns), _delimiter(path), header=header)
    return text.facts(with_inferred_types(columns, text.rows))


def infer_columns(path: Path, columns: Sequence[Column], *, header: bool = False) -> tuple[Column, ...]:
    """Returns the columns, with the types that the file holds where they are unknown: int, else float, else string."""
    return with_inferred_types(columns, read_cells(path, len(columns), _delimiter(path), header=header).rows)


def write_facts(path: Path, facts: Iterable[Fact], columns: Sequence[Column], *, header: bool = False) -> None:
    """Writes the facts in order, null first. The file appears whole or not at all."""
    delimiter = _delimiter(path)
    lines = [
        delimiter.join(
            _written(value, column.type, delimiter, len(columns)) for value, column in zip(fact, columns, strict=True)
        )
        for fact in sorted(facts, key=in_order)
    ]
    if header:
        lines.insert(0, delimiter.join(written_cell(column.name, delimiter, must_quote=False) for column in columns))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
        unfinished.replace(path)
    except OSError as error:
        raise fail("DL408", f"cannot write `{path}`: {reason_of(error)}") from None
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def in_order(fact: Fact) -> tuple[tuple[bool, CellValue], ...]:
    """Returns a key to sort facts by, null before everything else."""
    return tuple((value is not None, value) for value in fact)


# --- reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cells:
    """Holds the cells of a text, all rows as long as the first."""

    source: Source
    rows: Sequence[tuple[Cell, ...]]

    def facts(self, columns: Sequence[Column]) -> tuple[Fact, ...]:
        """Returns the rows as values of the columns' types; raises DL404 for a cell that spells none."""
        return tuple(
            tuple(_parsed(self.source, cell, columns[i], i) for i, cell in enumerate(row)) for row in self.rows
        )


def read_cells(path: Path, arity: int, delimiter: str, *, header: bool) -> Cells:
    """Reads the rows of a file; raises DL402 if one does not have `arity` cells."""
    try:
        # Not as text: Python would change the line breaks inside quoted cells.
        source = Source(str(path), read_bytes(path).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        hint = f"byte {error.start + 1:,} cannot stand there"
        raise fail("DL406", f"`{path}` is not text in UTF-8", None, hint) from None
    rows = _rows(source, path, arity, delimiter)
    return Cells(source, rows[1:] if header else rows)


def _rows(source: Source, path: Path, arity: int, delimiter: str) -> list[tuple[Cell, ...]]:
    rows = read_rows(source, delimiter)
    for row in rows:
        if len(row) != arity:
            place = Span(source, row[0].start, row[-1].end)
            raise fail(
                "DL402",
                f"this line has {_count(len(row), 'cell')}, but the relation has {_count(arity, 'column')}",
                place,
                *_hint_of_arity(row, path),
            )
    return rows


def read_bytes(path: Path) -> bytes:
    """Returns what the file holds, uncompressed; raises DL405 if it cannot be read."""
    suffix = path.suffix.lower()
    if suffix in COMPRESSIONS and suffix not in _UNPACK:
        raise _not_a_fact_file(path)
    try:
        data = path.read_bytes()
        return _UNPACK[suffix](data) if suffix in _UNPACK else data
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from None


def find_bad_line(
    files: Sequence[Path], columns: Sequence[Column], delimiter: str, *, header: bool
) -> EmberlogError | None:
    """Returns the error for the first line that does not fit the columns, with its place, or None. Reads line by line,
    as Spark does, and so also files that do not fit into memory."""
    for file in files:
        for number, line in _lines(file):
            if (header and number == 1) or _complaint(file, line, columns, delimiter) is None:
                continue
            # Line breaks in the place of the lines before make the error show the right number.
            return _complaint(file, "\n" * (number - 1) + line, columns, delimiter)
    return None


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    opened = _OPEN.get(file.suffix.lower(), open)
    try:
        with opened(file, "rt", encoding="utf-8-sig", newline="") as text:
            for number, line in enumerate(text, 1):
                yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        hint = f"byte {error.start + 1:,} of a line cannot stand there"
        raise fail("DL406", f"`{file}` is not text in UTF-8", None, hint) from None
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file, error) from None


def _complaint(file: Path, text: str, columns: Sequence[Column], delimiter: str) -> EmberlogError | None:
    source = Source(str(file), text)
    try:
        Cells(source, _rows(source, file, len(columns), delimiter)).facts(columns)
    except EmberlogError as error:
        return error
    return None


def _hint_of_arity(row: Sequence[Cell], path: Path) -> list[str]:
    for delimiter, name in ((",", "commas"), ("\t", "tabs"), (";", "semicolons")):
        if len(row) == 1 and delimiter in row[0].text:
            wanted = "commas" if path.suffix == ".csv" else "tabs"
            return [f"cells of a {path.suffix} file are separated by {wanted}; these look separated by {name}"]
    return []


def _delimiter(path: Path) -> str:
    delimiter = DELIMITERS.get(kind_of(str(path)))
    if delimiter is None:
        raise _not_a_fact_file(path)
    return delimiter


def _not_a_fact_file(path: Path) -> EmberlogError:
    known = f"known are {', '.join(DELIMITERS)}"
    return fail("DL407", f"`{path}` is not a kind of fact file that is known", None, known)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def with_inferred_types(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> tuple[Column, ...]:
    """Returns the columns, those of unknown type with the type that all cells have."""
    return tuple(
        column if column.type.is_known else Column(column.name, _inferred([row[i] for row in rows]), column.aggregate)
        for i, column in enumerate(columns)
    )


def _inferred(cells: Sequence[Cell]) -> DataType:
    texts = [cell.text.strip() for cell in cells if cell.text and not _is_null(cell, UNKNOWN)]
    if not texts:
        return STRING if cells else UNKNOWN
    if all(_INT.fullmatch(text) for text in texts):
        return INT
    if all(_FLOAT.fullmatch(text) for text in texts):
        return FLOAT
    return STRING


def _is_null(cell: Cell, type_: DataType) -> bool:
    if cell.quoted:
        return False
    return cell.text == NULL or (type_ != STRING and not cell.text.strip())


def _parsed(source: Source, cell: Cell, column: Column, index: int) -> CellValue:
    type_ = column.type
    if _is_null(cell, type_):
        return None
    try:
        return _value(cell.text, type_)
    except ValueError:
        problem = "does not fit in a 64-bit int" if _INT.fullmatch(cell.text.strip()) else f"is not {type_.described}"
        message = f"`{cell.text}` {problem}: column {index + 1}, `{column.name}`"
        raise fail("DL404", message, Span(source, cell.start, cell.end)) from None


def _value(text: str, type_: DataType) -> CellValue:
    """Returns the value that the text spells; raises ValueError if it spells none."""
    if type_ in (STRING, UNKNOWN):
        return text
    if type_ == INT:
        return _int(text.strip())
    if type_ == FLOAT:
        return _float(text.strip())
    if type_ == BOOL:
        return _bool(text.strip().lower())
    if type_ == TIMESTAMP:
        return _timestamp(text.strip())
    return _structured(json.loads(text), type_)


def _bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _int(text: str) -> int:
    if not _INT.fullmatch(text) or not INT_MIN <= int(text) <= INT_MAX:
        raise ValueError(text)
    return int(text)


def _float(text: str) -> float:
    if not _FLOAT.fullmatch(text) or abs(float(text)) == float("inf"):
        raise ValueError(text)
    return float(text) + 0.0  # 0.0 and -0.0 are one value


def _timestamp(text: str) -> int:
    """Returns microseconds since 1970 in UTC. A date and time without a zone is in UTC."""
    if _INT.fullmatch(text):
        return _int(text)
    return time_of(datetime.fromisoformat(text))


def _structured(value: object, type_: DataType) -> CellValue:
    """Returns a list or a pair from its JSON form."""
    if isinstance(value, list):
        parts = type_.parts * len(value) if type_.name == "list" else type_.parts
        if len(parts) != len(value):
            raise ValueError(value)
        return tuple(_structured(element, part) for element, part in zip(value, parts, strict=True))
    if type_ == FLOAT and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(value)


# --- writing --------------------------------------------------------------------------------------------------------


def _written(value: CellValue, type_: DataType, delimiter: str, arity: int) -> str:
    if value is None:
        # A line that holds nothing at all is no fact, so a lone null is spelled out.
        return NULL if type_ == STRING or not type_.is_known or arity == 1 else ""
    text = _text(value)
    must_quote = isinstance(value, str) and (text == NULL or (not text and arity == 1))
    return written_cell(text, delimiter, must_quote=must_quote)


def _text(value: CellValue) -> str:
    match value:
        case str():
            return value
        case bool() | tuple() | None:
            return json.dumps(value, ensure_ascii=False)
        case _:
            return repr(value)
