"""Defines the functions that cut text, search in it and put it together anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from emberlog.datatypes import BOOL, INT, STRING, DataType, list_of
from emberlog.language.conversions import BLANKS
from emberlog.language.entry import Constants, Function, Types, always, sometimes
from emberlog.language.faults import Fault
from emberlog.language.texts import check_pattern, clean, end_of_quotation, named, of_text
from emberlog.language.values import CellValue, text

if TYPE_CHECKING:
    from pyspark.sql import Column

    from emberlog.language.spark_columns import Scope, Typed

LONGEST_TEXT = 10_000_000
"""Characters that `repeat` and the like may make: one more digit in a number should not take all memory."""


def _texts(function: Callable[..., CellValue]) -> Callable[..., CellValue]:
    return lambda *values: function(*map(text, values))


def _split(source: str, separator: str) -> tuple[str, ...]:
    return tuple(source.split(separator) if separator else source)


def _part(source: str, separator: str, place: int) -> str:
    parts = _split(source, text(separator))
    return parts[place] if -len(parts) <= place < len(parts) else ""


def _replace(source: str, old: str, new: str) -> str:
    return source.replace(old, new) if old else source


def _repeat(source: str, times: int) -> str:
    _check_length(len(source) * max(times, 0))
    return source * max(times, 0)


def _filled(source: str, length: int, filling: str) -> str:
    """Returns what is missing to the length."""
    missing = length - len(source)
    if missing <= 0 or not text(filling):
        return ""
    _check_length(length)
    return (filling * (missing // len(filling) + 1))[:missing]


def _check_length(length: int) -> None:
    if length > LONGEST_TEXT:
        raise Fault("DL502", f"the text would have {length:,} characters, more than {LONGEST_TEXT:,}")


# --- patterns -------------------------------------------------------------------------------------------------------


def _like(source: str, pattern: str) -> bool:
    """Matches as SQL does: from `%` to `%`, each piece at its first place is right if any is."""
    first, *others = _pieces(pattern)
    if not others:
        return len(source) == len(first) and _fits(source, 0, first)
    *middle, last = others
    if not _fits(source, 0, first) or len(source) < len(first) + len(last):
        return False
    place, end = len(first), len(source) - len(last)
    for piece in middle:
        while place + len(piece) <= end and not _fits(source, place, piece):
            place += 1
        place += len(piece)
        if place > end:
            return False
    return _fits(source, end, last)


def _pieces(pattern: str) -> list[list[str | None]]:
    """Returns what stands between the `%` of a pattern; None is any character."""
    pieces: list[list[str | None]] = [[]]
    letters = iter(pattern)
    for letter in letters:
        if letter == "%":
            pieces.append([])
        else:
            pieces[-1].append(None if letter == "_" else next(letters, letter) if letter == "\\" else letter)
    return pieces


def _fits(source: str, place: int, piece: list[str | None]) -> bool:
    here = source[place : place + len(piece)]
    return len(here) == len(piece) and all(one is None or one == other for one, other in zip(piece, here, strict=True))


def _regex_extract(source: str, pattern: str, group: int = 0) -> str:
    import pyarrow as pa
    import pyarrow.compute as pc

    _check_pattern(pattern)
    ended = f"{pattern}{end_of_quotation(pattern)}"
    inner = f"({ended})" if group == 0 else f"(?:{ended})"
    around = rf"\A(?s:.*?){inner}(?s:.*)\z"
    if not 0 <= group <= 9:
        raise Fault("DL503", f"there is no group {group}", "groups have the numbers 1 to 9, and 0 is the whole match")
    whole = pa.scalar(source, pa.string())
    try:
        found = pc.replace_substring_regex(whole, around, rf"\{max(group, 1)}")
    except pa.ArrowInvalid:
        raise Fault("DL503", f"`{pattern}` has no group {group}") from None
    return str(found.as_py()) if pc.match_substring_regex(whole, around).as_py() else ""


def _regex_replace(source: str, pattern: str, new: str) -> str:
    import pyarrow as pa
    import pyarrow.compute as pc

    _check_pattern(pattern)
    try:
        return str(pc.replace_substring_regex(pa.scalar(source, pa.string()), pattern, text(new)).as_py())
    except pa.ArrowInvalid as error:
        hint = r"\1 to \9 are what the groups found, \0 is all of it, \\ is a backslash"
        raise Fault("DL503", f"`{new}` cannot replace what `{pattern}` finds", str(error), hint) from None


_BYTE = re.compile(r"(?<!\\)(\\\\)*\\C")
"""In a pattern, one byte, which may be part of a character."""


def _check_pattern(pattern: str) -> None:
    if _BYTE.search(text(pattern)):
        raise Fault("DL503", f"`{pattern}` takes characters apart", r"`\C` can only be used in matches(S, Pattern)")
    check_pattern(pattern)


def _fails_unless(function: Callable[..., CellValue], *defaults: object) -> Callable[[Types, Constants], bool]:
    """Returns the test for a function of a text and constants: whether it fails tells the empty text."""

    def fails(_types: Types, constants: Constants) -> bool:
        given = (*constants[1:], *defaults)[: 2 if not defaults else len(defaults) + 1]
        if not all(isinstance(one, str | int) for one in given):
            return True
        try:
            function("", *given)
        except Fault:
            return True
        return False

    return fails


# --- columns of Spark -----------------------------------------------------------------------------------------------


def _trimmed(name: str) -> Callable[[Scope, list[Typed]], Typed]:
    def column(operand: Column) -> Column:
        from pyspark.sql import functions as F

        return getattr(F, name)(operand, F.lit(BLANKS))  # type: ignore[no-any-return]

    return of_text(column, STRING)


def _index_column(source: Column, part: Column) -> Column:
    from pyspark.sql import functions as F

    return F.position(part, source).cast("long") - F.lit(1).cast("long")


# --- the entries ----------------------------------------------------------------------------------------------------


def _function(
    signature: str, meaning: str, parameters: tuple[DataType, ...], result: DataType, python: Any, **rest: Any
) -> Function:
    return Function(
        name=signature.partition("(")[0],
        parameters=parameters,
        result=always(result),
        signature=signature,
        meaning=meaning,
        python=python,
        **rest,
    )


FUNCTIONS = (
    _function(
        "trim(S)",
        "S without the blanks at its ends: spaces, tabs and line breaks",
        (STRING,),
        STRING,
        clean(lambda source: source.strip(BLANKS)),
        spark=_trimmed("trim"),
    ),
    _function(
        "ltrim(S)",
        "S without the blanks at its beginning",
        (STRING,),
        STRING,
        clean(lambda source: source.lstrip(BLANKS)),
        spark=_trimmed("ltrim"),
    ),
    _function(
        "rtrim(S)",
        "S without the blanks at its end",
        (STRING,),
        STRING,
        clean(lambda source: source.rstrip(BLANKS)),
        spark=_trimmed("rtrim"),
    ),
    _function(
        "split(S, Separator)",
        "the list of the parts of S between separators; without a separator, its characters",
        (STRING, STRING),
        list_of(STRING),
        _texts(_split),
    ),
    _function(
        "split_part(S, Separator, N)",
        "the part number N between separators, counted from 0, or from -1 backwards; empty if there is none",
        (STRING, STRING, INT),
        STRING,
        clean(_part),
    ),
    _function(
        "replace(S, Old, New)",
        "S with New in all places of Old",
        (STRING, STRING, STRING),
        STRING,
        _texts(_replace),
        spark=of_text(named("replace"), STRING),
    ),
    _function(
        "ends_with(S, Suffix)",
        "whether S ends with Suffix",
        (STRING, STRING),
        BOOL,
        _texts(str.endswith),
        spark=of_text(named("endswith"), BOOL),
    ),
    _function(
        "index_of(S, Part)",
        "where Part first occurs in S, counted from 0; -1 if it does not",
        (STRING, STRING),
        INT,
        _texts(str.find),
        spark=of_text(_index_column, INT),
    ),
    _function(
        "reverse(S)",
        "the characters of S, the last first",
        (STRING,),
        STRING,
        clean(lambda source: source[::-1]),
        spark=of_text(named("reverse"), STRING),
    ),
    _function(
        "repeat(S, N)",
        "S, N times; nothing if N is not above 0",
        (STRING, INT),
        STRING,
        clean(_repeat),
        fails=sometimes,
    ),
    _function(
        "pad_left(S, Length, Filling)",
        "S with so much of Filling before it that it has Length characters; S itself if it has as many",
        (STRING, INT, STRING),
        STRING,
        clean(lambda source, length, filling: _filled(source, length, filling) + source),
        fails=sometimes,
    ),
    _function(
        "pad_right(S, Length, Filling)",
        "S with so much of Filling behind it that it has Length characters; S itself if it has as many",
        (STRING, INT, STRING),
        STRING,
        clean(lambda source, length, filling: source + _filled(source, length, filling)),
        fails=sometimes,
    ),
    Function(
        name="regex_extract",
        parameters=(STRING, STRING, INT),
        optional=1,
        result=always(STRING),
        signature="regex_extract(S, Pattern), regex_extract(S, Pattern, Group)",
        meaning="what the regular expression, or one of its groups, finds first in S; empty if it finds nothing",
        python=clean(_regex_extract),
        fails=_fails_unless(_regex_extract, 0),
    ),
    _function(
        "regex_replace(S, Pattern, New)",
        r"S with New in the place of all that the regular expression finds; `\1` in New is what its first group found",
        (STRING, STRING, STRING),
        STRING,
        clean(_regex_replace),
        fails=_fails_unless(_regex_replace),
    ),
)
REGULAR = ("matches", "regex_extract", "regex_replace")
"""The functions whose second argument is a regular expression."""

LIKE = Function(
    name="like!",
    parameters=(STRING, STRING),
    result=always(BOOL),
    signature="S like Pattern",
    meaning=r"whether S fits, where `%` is any text and `_` any character; a backslash takes the next one as it is",
    python=_texts(_like),
)
"""What the parser writes for `S like Pattern`. A relation may be called `like`."""
