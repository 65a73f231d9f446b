"""Reads and writes lines of delimited cells, quoted as in RFC 4180 or raw.

Python's own csv module does not say whether a cell was quoted, nor where in the file it stands. Here the
first tells text from a missing value, and the second lets an error point at the cell.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from emberlog.diagnostics import fail
from emberlog.source import Source, Span


class Cell(NamedTuple):
    """Holds a cell and where it stands."""

    text: str
    """Without its quotes."""
    quoted: bool
    start: int
    """Where it stands in the file, quotes included."""
    end: int


def read_rows(source: Source, delimiter: str, quote: str = '"') -> list[tuple[Cell, ...]]:
    """Returns the rows of cells. Empty lines are skipped; a quoted cell may hold delimiters and line breaks. Without a
    quote, all characters of a cell are its text."""
    text = source.text
    rows: list[tuple[Cell, ...]] = []
    row: list[Cell] = []
    position = 0
    plain = _plain_text(delimiter)
    while position < len(text):
        if text[position] == quote:
            cell = _quoted_cell(source, position, quote)
        else:
            found = plain.match(text, position)
            assert found is not None
            cell = Cell(found[0], False, position, found.end())
        row.append(cell)
        position = cell.end
        if position < len(text) and text[position] == delimiter:
            position += 1
            if position < len(text):
                continue
            row.append(Cell("", False, position, position))
        elif position < len(text) and text[position] not in "\r\n":
            raise fail("DL404", "there is text behind the closing quote", Span(source, position, position + 1))
        if len(row) > 1 or row[0].quoted or row[0].text:
            rows.append(tuple(row))
        row = []
        position += 2 if text.startswith("\r\n", position) else 1
    return rows


@cache
def _plain_text(delimiter: str) -> re.Pattern[str]:
    return re.compile(f"[^{re.escape(delimiter)}\r\n]*")


def _quoted_cell(source: Source, start: int, quote: str) -> Cell:
    text = source.text
    parts = []
    position = start + 1
    while True:
        closing = text.find(quote, position)
        if closing < 0:
            raise fail("DL404", "this quoted cell has no closing quote", Span(source, start, start + 1))
        parts.append(text[position:closing])
        if not text.startswith(quote * 2, closing):
            return Cell("".join(parts), True, start, closing + 1)
        parts.append(quote)
        position = closing + 2


def written_cell(text: str, delimiter: str, *, must_quote: bool = False) -> str:
    if must_quote or text.startswith('"') or any(character in text for character in (delimiter, '"', "\r", "\n")):
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text
