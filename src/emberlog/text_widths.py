"""Makes texts fit the width of a terminal. What is left out is where a `…` stands."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Sequence
from typing import TextIO

NARROWEST = 4
"""A column is not made narrower than this, but for its own texts."""

SHORTENED = "what ends in … is longer; a file or a pipe gets all of it"


def terminal_width(stream: TextIO) -> int | None:
    """Returns how many characters a line of the terminal has; None where the stream leads elsewhere."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def width_of(text: str) -> int:
    """Returns the columns of a terminal that a text takes: none for accents of their own, two for wide characters."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text
    )


def padded(text: str, width: int, *, is_number: bool = False) -> str:
    """Returns the text with blanks up to a width: numbers stand to the right."""
    blanks = " " * (width - width_of(text))
    return f"{blanks}{text}" if is_number else f"{text}{blanks}"


def shortened(text: str, width: int) -> str:
    """Returns the text, or as much of its beginning as fits with a `…` behind it."""
    if width_of(text) <= width:
        return text
    kept = text[: max(width - 1, 0)]
    while width_of(kept) > max(width - 1, 0):
        kept = kept[:-1]
    return f"{kept}…"


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """Returns how wide columns may be that together have no more room than this: the widest give first."""
    fixed = list(widths)
    while sum(fixed) > room:
        widest = max(fixed)
        if widest <= NARROWEST:
            break
        below = max((one for one in fixed if one < widest), default=0)
        many = fixed.count(widest)
        needed = -(-(sum(fixed) - room) // many)
        narrower = max(widest - needed, below, NARROWEST)
        fixed = [narrower if one == widest else one for one in fixed]
    return fixed


def table_lines(
    rows: Sequence[Sequence[str]],
    are_numbers: Sequence[bool],
    *,
    width: int | None,
    margin: str = "",
    between: str = "  ",
) -> tuple[list[str], bool]:
    """Returns rows as lines with aligned columns, and whether something had to be left out for the width."""
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    room = None if width is None else width - len(margin) - len(between) * (len(widths) - 1)
    fixed = widths if room is None else fitted(widths, room)
    lines = []
    is_cut = fixed != widths
    for row in rows:
        cells = [
            padded(shortened(cell, most), most, is_number=is_number)
            for cell, most, is_number in zip(row, fixed, are_numbers, strict=True)
        ]
        line = f"{margin}{between.join(cells)}".rstrip()
        # So many columns that even narrow ones do not fit: the last ones go.
        lines.append(line if width is None else shortened(line, width))
        is_cut |= lines[-1] != line
    return lines, is_cut
