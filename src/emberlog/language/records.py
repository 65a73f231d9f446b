"""Defines what makes and takes apart the values of declared types: records, and algebraic types with branches.

Such a value is a text that tells all of it, `$Node($Leaf(1), "a")`, the same text for the same value. So it is kept,
compared, joined, exchanged and written as texts are, on every engine: workers compare one number.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING

from emberlog.datatypes import BOOL, FLOAT, INT, INT_MAX, INT_MIN, STRING, DataType
from emberlog.language.entry import ANY, Function, always, sometimes
from emberlog.language.faults import Fault
from emberlog.language.spellings import (
    read_date,
    read_decimal,
    read_duration,
    read_timestamp,
    spelled_as,
)
from emberlog.language.texts import of_text
from emberlog.language.values import CellValue

if TYPE_CHECKING:
    from pyspark.sql import Column

    from emberlog.language.entry import Bad, Vector

LONGEST = 32_768
"""Characters of a value: a recursion that wraps its own values ends there."""

RAW = "record"
"""What a field of a declared type counts as: its text is a part of the text around it."""


def kind_of_field(type_: DataType) -> str:
    """Returns how a field is written: the name of its type, which code on executors knows."""
    return RAW if type_.is_record else str(type_.underlying)


def ending(opening: str) -> str:
    """Returns what closes a value that begins like this; nothing if that is all of it."""
    return {"(": ")", "[": "]"}.get(opening[-1], "")


_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_PLAIN = {escape[1]: letter for letter, escape in _ESCAPED.items()}
_ESCAPES = re.compile("[" + re.escape("".join(_ESCAPED)) + "]")
_MARKS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\](),]', re.DOTALL)


def spelled_field(value: CellValue, kind: str) -> str:
    """Returns a field as it stands in the text of its value."""
    if kind == RAW:
        return str(value)
    if isinstance(value, str):
        return '"' + _ESCAPES.sub(lambda found: _ESCAPED[found[0]], value) + '"'
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    return spelled_as(value, kind)


def read_field(text: str, kind: str) -> CellValue:
    """Returns the value of a field from its text in a value; raises ValueError if it is none of that kind."""
    match kind:
        case "record":
            return text
        case "string":
            inside = text[1:-1]
            return re.sub(r"\\(.)", lambda found: _PLAIN.get(found[1], found[1]), inside) if "\\" in inside else inside
        case "int":
            return int(text)
        case "float":
            return float(text)
        case "bool":
            return text == "true"
        case "date":
            return read_date(text)
        case "timestamp":
            return read_timestamp(text)
        case "duration":
            return read_duration(text)
        case _:
            return read_decimal(text, int(kind[8:-1]))


def parts_of(text: str) -> list[str]:
    """Returns the texts of the fields of a value."""
    begin = min((place for place in (text.find("("), text.find("[")) if place >= 0), default=-1)
    if begin < 0:
        return []
    level, start, parts = 0, begin + 1, []
    for mark in _MARKS.finditer(text, begin):
        found = mark[0]
        if found in "([":
            level += 1
        elif found in ")]":
            level -= 1
        elif found == "," and level == 1:
            parts.append(text[start : mark.start()])
            start = mark.end() + 1
    return [*parts, text[start:-1]]


def made(opening: str, kinds: str, *values: CellValue) -> str:
    """Returns the value of a branch with these fields."""
    fields = ", ".join(map(spelled_field, values, kinds.split(";")))
    if len(opening) + len(fields) >= LONGEST:
        raise Fault(
            "DL518",
            f"this value has more than {LONGEST:,} characters as text",
            "a recursion that wraps its own values needs a condition that stops it",
        )
    return f"{opening}{fields}{ending(opening)}"


def _make(opening: CellValue, kinds: CellValue, *values: CellValue) -> CellValue:
    return made(str(opening), str(kinds), *values)


def _is_of(value: str, opening: str) -> bool:
    return value.startswith(opening) if ending(opening) else value == opening


_SPLIT: dict[str, list[str]] = {}
"""The parts of values that were taken apart lately."""
_MOST_SPLIT = 1_024
"""So many, and of no more characters: functions go to executors with what they know."""


def _field(value: str, opening: str, place: int, kind: str, otherwise: CellValue) -> CellValue:
    if not _is_of(value, opening):
        return otherwise
    parts = _SPLIT.get(value)
    if parts is None:
        if len(value) > _MOST_SPLIT:
            return read_field(parts_of(value)[place], kind)
        if len(_SPLIT) >= _MOST_SPLIT:
            _SPLIT.clear()
        parts = _SPLIT[value] = parts_of(value)
    return read_field(parts[place], kind)


def _is_of_column(value: Column, opening: Column) -> Column:
    from pyspark.sql import functions as F

    return F.when(F.right(opening, F.lit(1)).isin("(", "["), F.startswith(value, opening)).otherwise(value == opening)


# --- reading what comes from outside ---------------------------------------------------------------------------------


def grammar_of(type_: DataType) -> str:
    """Returns what `read!` has to know of a type: its branches, and those of all types that are in its fields."""
    found: dict[str, list[list[object]]] = {}
    pending = [type_]
    while pending:
        one = pending.pop()
        if one.named is None or one.named.name in found:
            continue
        found[one.named.name] = [
            [branch.opening, [f"={of}" if of.is_record else kind_of_field(of) for _, of in branch.fields]]
            for branch in one.named.branches
        ]
        pending += [of for branch in one.named.branches for _, of in branch.fields if of.is_record]
    return json.dumps([str(type_), found])


_BRANCH = re.compile(r"\s*(\[\]|\[|\$?[^\W\d][\w.]*)\s*(\(\s*\)|\()?")
_SCALAR = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^,\])]*)\s*', re.DOTALL)


def read_value(text: str, grammar: str) -> str:
    """Returns the text of the value that another text means: with or without blanks, and with texts that need no
    quotation marks."""
    name, types = json.loads(grammar)
    try:
        value = _read(text, types, f"={name}")
    except (ValueError, IndexError):
        shown = text if len(text) <= 60 else f"{text[:60]}…"
        openings = ", ".join(f"{one}{'…' + ending(one) if ending(one) else ''}" for one, _ in types[name])
        raise Fault("DL519", f"`{shown}` is no value of the type `{name}`", f"values are written {openings}") from None
    if len(value) > LONGEST:
        raise Fault("DL518", f"this value has more than {LONGEST:,} characters as text")
    return value


def _read(text: str, types: dict[str, list[tuple[str, list[str]]]], kind: str) -> str:
    begun: list[tuple[str, list[str], list[str]]] = []
    """The values that are being read, the outermost first: their beginnings, and the kinds and texts of fields."""
    place = 0
    while True:
        if kind[0] == "=":
            found = _BRANCH.match(text, place)
            if found is None:
                raise ValueError(text)
            opening, kinds = next((one for one in types[kind[1:]] if one[0].removesuffix("(") == found[1]), ("", []))
            if not opening or (found[2] == "(") != opening.endswith("("):
                raise ValueError(text)
            place = found.end()
            if kinds:
                begun.append((opening, kinds, []))
                kind = kinds[0]
                continue
            value = opening
        else:
            scalar = _SCALAR.match(text, place)
            assert scalar is not None, "it fits any text"
            value, place = _scalar(scalar[1].strip(), kind), scalar.end()
        while begun:
            opening, kinds, fields = begun[-1]
            fields.append(value)
            place += len(text[place:]) - len(text[place:].lstrip())
            if text[place] != ("," if len(fields) < len(kinds) else ending(opening)):
                raise ValueError(text)
            place += 1
            if len(fields) < len(kinds):
                kind = kinds[len(fields)]
                break
            begun.pop()
            value = f"{opening}{', '.join(fields)}{ending(opening)}"
        else:
            if text[place:].strip():
                raise ValueError(text)
            return value


def _scalar(text: str, kind: str) -> str:
    is_quoted = text.startswith('"')
    if kind == "string":
        return spelled_field(read_field(text, kind) if is_quoted else text, kind)
    if is_quoted or (kind == "bool" and text not in ("true", "false")):
        raise ValueError(text)
    value = read_field(text, kind)
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(text)
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        raise ValueError(text)
    return spelled_field(value if not isinstance(value, float) else value + 0.0, kind)


def _bounded(value: int, least: int, greatest: int, name: str) -> int:
    if least <= value <= greatest:
        return value
    raise Fault("DL507", f"{value:,} is no {name}", f"they go from {least:,} to {greatest:,}")


def _bounded_vector(values: Vector, least: Vector, greatest: Vector, _names: Vector) -> tuple[Vector, Bad]:
    bad = (values < least) | (values > greatest)
    return values, bad if bad.any() else None


RECORD = Function(
    name="record!",
    parameters=(STRING, STRING, ANY),
    variadic=True,
    result=lambda types: types[0],
    signature="$Node(X, Y)",
    meaning="the value of a branch with these fields",
    python=_make,
    fails=sometimes,
)
"""What `$Node(X, Y)` becomes: how the value begins, which has its type, the kinds of its fields, and the fields."""

BRANCH = Function(
    name="branch!",
    parameters=(ANY, STRING),
    result=always(BOOL),
    signature="X = $Node(…)",
    meaning="whether X is of this branch",
    python=_is_of,
    spark=of_text(_is_of_column, BOOL),
)
"""What a pattern asks first."""

FIELD = Function(
    name="field!",
    parameters=(ANY, STRING, INT, STRING, ANY),
    result=lambda types: types[4],
    signature="X = $Node(Y, …)",
    meaning="a field of X, if it is of this branch",
    python=_field,
)
"""What a pattern binds variables to. The last argument has the type of the field, and stands for it elsewhere."""


def otherwise(type_: DataType) -> int | float | str | bool:
    """Returns what stands for a field of a value of another branch; no rule ever keeps it."""
    if type_ == STRING:
        return ""
    return False if type_ == BOOL else 0.0 if type_ == FLOAT else 0


READ = Function(
    name="read!",
    parameters=(STRING, STRING),
    result=lambda types: types[1],
    signature="read!(S, Type)",
    meaning="the value of a declared type that a text from outside means",
    python=read_value,
    fails=sometimes,
)
"""What data of a declared type goes through. The last argument has the type, and says what it is made of."""

BOUNDED = Function(
    name="bounded!",
    parameters=(INT, INT, INT, STRING),
    result=always(INT),
    signature="bounded!(X, Least, Greatest, Type)",
    meaning="X, which is within the bounds of its type",
    python=_bounded,
    vector=_bounded_vector,
    fails=sometimes,
)
"""What a value for a column of a type with bounds goes through."""

INTERNAL = (RECORD, BRANCH, FIELD, READ, BOUNDED)
