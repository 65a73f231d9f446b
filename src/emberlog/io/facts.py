"""Reads and writes files of delimited text in plain Python: `.csv` with commas, `.tsv` and `.facts` with tabs.

One fact per line, no header unless asked for, spelled as `text_format` says. A missing value (null) is `\\N`; in a
column that is not of strings an empty cell is null too. Lists and pairs are JSON. What is written reads back as it was.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from emberlog.datatypes import (
    BOOL,
    FLOAT,
    INT,
    INT_MAX,
    INT_MIN,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DataType,
)
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.delimited_text import Cell, read_rows, written_cell
from emberlog.io.matching import has_half_characters
from emberlog.io.paths import COMPRESSIONS, DELIMITERS, kind_of, reason_of, unreadable
from emberlog.io.text_format import NULL, TextFormat, TextOptions
from emberlog.language.spellings import read_cell, spelled
from emberlog.semantics.model import CellValue, Column, Fact
from emberlog.source import Source, Span

_UNPACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".bz2": bz2.decompress}
_OPEN: dict[str, Callable[..., TextIO]] = {".gz": gzip.open, ".bz2": bz2.open}
"""How compressed files are read; others are read as they are."""

BLANKS = " \t"
"""What may stand around a number. Other white space is text like any other."""

_INT = re.compile(r"[+-]?[0-9]{1,30}")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NO_NAME = re.compile(r"[ \t]*[+-]?\.?[0-9]")
_CODE = re.compile(r"[+-]?0[0-9]")
"""How a number begins that would lose its zeros, as postal codes do: such a column is of text unless it is declared."""


def read_facts(path: Path, columns: Sequence[Column], *, header: bool | None = None) -> tuple[Fact, ...]:
    """Returns the facts of a file, in its order and with those that are repeated."""
    text = read_cells(path, len(columns), _format(path, header=header))
    return text.facts(text.typed(columns))


def infer_columns(path: Path, columns: Sequence[Column], *, header: bool | None = None) -> tuple[Column, ...]:
    """Returns the columns, with the types that the file holds where they are unknown: int, else float, else string."""
    return read_cells(path, len(columns), _format(path, header=header)).typed(columns)


def write_facts(path: Path, facts: Iterable[Fact], columns: Sequence[Column], *, header: bool = False) -> None:
    """Writes the facts in order, null first. The file appears whole or not at all."""
    text = _format(path, header=header)
    if not text.quote:
        raise fail("DL408", f"cannot write `{path}`: a file without quotes cannot hold every text")
    delimiter = text.delimiter
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
    text: TextFormat
    has_first_line: bool = True

    def facts(self, columns: Sequence[Column]) -> tuple[Fact, ...]:
        """Returns the rows as values of the columns' types; raises DL404 for a cell that spells none."""
        return tuple(
            tuple(self._parsed(cell, columns[i], number, i) for i, cell in enumerate(row))
            for number, row in enumerate(self.rows)
        )

    def typed(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Returns the columns, those of unknown type with the type that all cells have."""
        return with_inferred_types(columns, self.rows, self.text.null)

    def _parsed(self, cell: Cell, column: Column, number: int, index: int) -> CellValue:
        type_ = column.type
        if _is_null(cell, type_, self.text.null):
            return None
        try:
            return _value(cell.text, type_)
        except ValueError:
            is_int = _INT.fullmatch(cell.text.strip(BLANKS))
            problem = "does not fit in a 64-bit int" if is_int else f"is not {type_.described}"
            message = f"`{cell.text}` {problem}: column {index + 1}, `{column.name}`"
            is_header = number == 0 and self.has_first_line and self.text.may_have_header
            hints = [HEADER_HINT] if is_header and can_be_header([one.text for one in self.rows[0]]) else []
            raise fail("DL404", message, Span(self.source, cell.start, cell.end), *hints) from None


HEADER_HINT = "if the first line has the names of the columns, say header=True (--header)"


def can_be_header(cells: Sequence[str | None]) -> bool:
    """Tells whether the cells of a first line may be names: none is empty, or begins as numbers and times do."""
    return all(cell and cell.strip(BLANKS) and _NO_NAME.match(cell) is None for cell in cells)


def is_number(cell: str) -> bool:
    return _FLOAT.fullmatch(cell.strip(BLANKS)) is not None


def read_cells(path: Path, arity: int, text: TextFormat) -> Cells:
    """Reads the rows of a file; raises DL402 if one does not have `arity` cells."""
    data = read_bytes(path)
    try:
        # Not as a text file: Python would change the line breaks inside quoted cells.
        source = Source(str(path), data.decode(text.encoding))
    except UnicodeError as error:
        raise _undecodable(path, text, data, error) from None
    rows = _rows(source, path, arity, text)
    return Cells(source, rows[1:] if text.header else rows, text, has_first_line=not text.header)


def _undecodable(path: Path, text: TextFormat, data: bytes, error: UnicodeError) -> EmberlogError:
    hints = []
    if data.startswith(b"\x1f\x8b"):
        hint = f"it is compressed by gzip, which the name of a file tells: call it `{path.name}.gz`"
        return fail("DL406", f"`{path}` is not text in {text.encoding_shown}", None, hint)
    if isinstance(error, UnicodeDecodeError):
        line = data.count(b"\n", 0, error.start) + 1
        hints = [f"line {line:,} has the byte 0x{data[error.start]:02x}, which cannot stand there"]
    usual = "utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "cp1252"
    hint = f'say in which encoding it is: encoding="{usual}" (--encoding {usual}) is common'
    return fail("DL406", f"`{path}` is not text in {text.encoding_shown}", None, *hints, hint)


def _rows(source: Source, path: Path, arity: int, text: TextFormat) -> list[tuple[Cell, ...]]:
    rows = read_rows(source, text.delimiter, text.quote)
    for row in rows:
        if len(row) != arity:
            place = Span(source, row[0].start, row[-1].end)
            raise fail(
                "DL402",
                f"this line has {_count(len(row), 'cell')}, but the relation has {_count(arity, 'column')}",
                place,
                *_hint_of_arity(row, text.delimiter),
            )
    return rows


def read_bytes(path: Path) -> bytes:
    """Returns what the file holds, uncompressed; raises DL405 if it cannot be read."""
    suffix = _compression(path)
    try:
        data = path.read_bytes()
        return _UNPACK[suffix](data) if suffix in _UNPACK else data
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from None


def _compression(path: Path) -> str:
    """Returns the ending of a file; raises DL407 if it is compressed in a way that Python does not know."""
    suffix = path.suffix.lower()
    if suffix in COMPRESSIONS and suffix not in _UNPACK:
        raise _not_a_fact_file(path)
    return suffix


def find_bad_line(files: Sequence[Path], columns: Sequence[Column], text: TextFormat) -> EmberlogError | None:
    """Returns the error for the first line that does not fit the columns, with its place, or None. Reads line by line,
    as Spark does, and so also files that do not fit into memory."""
    for file in files:
        for number, line in lines_of(file, text):
            if (text.header and number == 1) or _complaint(file, line, columns, text, number) is None:
                continue
            # Line breaks in the place of the lines before make the error show the right number.
            return _complaint(file, "\n" * (number - 1) + line, columns, text, number)
    return None


def lines_of(file: Path, text: TextFormat) -> Iterator[tuple[int, str]]:
    """Yields the lines and their numbers, as far as somebody asks for them."""
    opened = _OPEN.get(_compression(file), open)
    try:
        with opened(file, "rt", encoding=text.encoding, newline="") as stream:
            for number, line in enumerate(stream, 1):
                yield number, line.rstrip("\r\n")
    except UnicodeError as error:
        raise _undecodable(file, text, read_bytes(file), _whole_error(file, text) or error) from None
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file, error) from None


def _whole_error(file: Path, text: TextFormat) -> UnicodeError | None:
    """Returns the error with its place in the whole file; what reads block by block knows that in the block."""
    try:
        read_bytes(file).decode(text.encoding)
    except UnicodeError as error:
        return error
    return None


def _complaint(file: Path, line: str, columns: Sequence[Column], text: TextFormat, number: int) -> EmberlogError | None:
    source = Source(str(file), line)
    try:
        Cells(source, _rows(source, file, len(columns), text), text, has_first_line=number == 1).facts(columns)
    except EmberlogError as error:
        return error
    return None


DELIMITER_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


def _hint_of_arity(row: Sequence[Cell], wanted: str) -> list[str]:
    for delimiter, name in DELIMITER_NAMES.items():
        if len(row) == 1 and delimiter in row[0].text and delimiter != wanted:
            said = "\\t" if delimiter == "\t" else delimiter
            usual = DELIMITER_NAMES.get(wanted, f"`{wanted}`")
            looks = f"cells are to be separated by {usual}, and these look separated by {name}"
            return [f"{looks}: say delimiter={delimiter!r} (--delimiter '{said}')"]
    return []


def _format(path: Path, *, header: bool | None) -> TextFormat:
    """Returns how a file is spelled that is known by its name alone."""
    kind = kind_of(str(path))
    if kind not in DELIMITERS:
        raise _not_a_fact_file(path)
    return TextOptions(header=header).of_kind(kind)


def _not_a_fact_file(path: Path) -> EmberlogError:
    known = f"known are {', '.join(DELIMITERS)}"
    return fail("DL407", f"`{path}` is not a kind of fact file that is known", None, known)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def with_inferred_types(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], null: str) -> tuple[Column, ...]:
    """Returns the columns, those of unknown type with the type that all cells have."""
    return tuple(
        column
        if column.type.is_known
        else Column(column.name, _inferred([row[i] for row in rows], null), column.aggregate)
        for i, column in enumerate(columns)
    )


def _inferred(cells: Sequence[Cell], null: str) -> DataType:
    texts = [cell.text for cell in cells if cell.text and not _is_null(cell, UNKNOWN, null)]
    if not texts:
        return STRING if cells else UNKNOWN
    return type_of_texts(texts)


def type_of_texts(texts: Iterable[str]) -> DataType:
    """Returns the type that all texts spell: int, else float, else string."""
    texts = [text.strip(BLANKS) for text in texts]
    if any(_CODE.match(text) for text in texts):
        return STRING
    if all(_INT.fullmatch(text) for text in texts):
        return INT
    if all(_FLOAT.fullmatch(text) for text in texts):
        return FLOAT
    return STRING


def _is_null(cell: Cell, type_: DataType, null: str) -> bool:
    if cell.quoted:
        return False
    return cell.text == null or (type_ != STRING and not cell.text.strip(BLANKS))


def _value(text: str, type_: DataType) -> CellValue:
    """Returns the value that the text spells; raises ValueError if it spells none."""
    if type_ in (STRING, UNKNOWN):
        return text
    if type_ == INT:
        return _int(text.strip(BLANKS))
    if type_ == FLOAT:
        return _float(text.strip(BLANKS))
    if type_ == BOOL:
        return _bool(text.strip(BLANKS).lower())
    if type_ == TIMESTAMP and _INT.fullmatch(text.strip(BLANKS)):
        return _int(text.strip(BLANKS))  # microseconds may be written as such
    if type_.is_told_by_type and not type_.parts:
        return read_cell(text.strip(BLANKS), type_)
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


def _structured(value: object, type_: DataType) -> CellValue:
    """Returns a list or a pair from its JSON form."""
    if isinstance(value, list):
        return tuple(_structured(element, part) for element, part in zip(value, type_.types_of(value), strict=True))
    if type_ == FLOAT and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and has_half_characters(value):
        raise ValueError(value)
    if isinstance(value, str) and type_.is_told_by_type and not type_.parts:
        return read_cell(value, type_)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(value)


# --- writing --------------------------------------------------------------------------------------------------------


def _written(value: CellValue, type_: DataType, delimiter: str, arity: int) -> str:
    if value is None:
        # A line that holds nothing at all is no fact, so a lone null is spelled out.
        return NULL if type_ == STRING or not type_.is_known or arity == 1 else ""
    text = _text(_told(value, type_))
    must_quote = isinstance(value, str) and (text == NULL or (not text and arity == 1))
    return written_cell(text, delimiter, must_quote=must_quote)


def _told(value: CellValue, type_: DataType) -> CellValue:
    """Returns a value with what only its type tells spelled out."""
    if isinstance(value, tuple) and type_.is_told_by_type:
        return tuple(_told(part, own) for part, own in zip(value, type_.types_of(value), strict=True))
    if type_ == TIMESTAMP or not type_.is_told_by_type or value is None:
        return value  # moments are the caller's, who knows whether they came as plain numbers
    return spelled(value, type_)


def _text(value: CellValue) -> str:
    match value:
        case str():
            return value
        case bool() | tuple() | None:
            return json.dumps(value, ensure_ascii=False)
        case _:
            return repr(value)
