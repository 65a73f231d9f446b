"""Makes facts of rows of plain Python values, and finds the types of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from emberlog.datatypes import (
    FLOAT,
    INT_MAX,
    INT_MIN,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    join_types,
    type_of_value,
)
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.matching import half_character, has_half_characters, no_equal_float
from emberlog.io.moments import time_of
from emberlog.semantics.model import CellValue, Fact


def rows_of(name: str, data: Iterable[object]) -> tuple[list[Fact], list[DataType]] | None:
    """Returns the rows as facts, with the types of their columns; None if there are no rows."""
    rows = [_row(one) for one in data]
    if not rows:
        return None
    arity = len(rows[0])
    types = [UNKNOWN] * arity
    facts: list[Fact] = []
    for number, row in enumerate(rows, 1):
        if len(row) != arity:
            message = f"row {number:,} of `{name}` has {len(row)} values, and the first has {arity}"
            raise fail("DL402", message, None, f"it is {row}")
        facts.append(tuple(_cell(name, number, value) for value in row))
        for index, value in enumerate(row):
            joined = join_types(types[index], _type_of(value))
            if joined is None:
                raise fail(
                    "DL403",
                    f"column {index + 1} of `{name}` holds values of several types",
                    None,
                    f"row {number:,} has {value!r}, and the rows before have {types[index]}",
                )
            types[index] = joined
    for index, type_ in enumerate(types):
        if type_ == FLOAT:
            _check_floats(name, index, facts)
    return facts, types


def _check_floats(name: str, index: int, facts: Sequence[Fact]) -> None:
    """Raises DL506 for an int in a column of floats that would become another number."""
    for fact in facts:
        value = fact[index]
        if isinstance(value, int) and float(value) != value:
            raise no_equal_float(value, f"column {index + 1} of `{name}`")


def _row(one: object) -> tuple[Any, ...]:
    return tuple(one) if isinstance(one, tuple | list) else (one,)


def _cell(name: str, number: int, value: Any) -> CellValue:
    value = _plain(value)
    if isinstance(value, datetime):
        return time_of(value)
    if isinstance(value, int) and not isinstance(value, bool) and not INT_MIN <= value <= INT_MAX:
        raise _misfit(name, number, value, "does not fit in a 64-bit int")
    if isinstance(value, float):
        return value + 0.0  # 0.0 and -0.0 are one value
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        if not value.isascii() and has_half_characters(value):
            raise half_character(f"{value!r} in row {number:,} of `{name}`")
        return value
    if isinstance(value, tuple | list):
        return tuple(_cell(name, number, part) for part in value)
    raise _misfit(name, number, value, f"is a {type(value).__name__}, which programs do not know")


def _misfit(name: str, number: int, value: object, problem: str) -> EmberlogError:
    return fail("DL403", f"{value!r} in row {number:,} of `{name}` {problem}")


def _plain(value: Any) -> Any:
    """Returns a value of numpy as one of Python."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _type_of(value: Any) -> DataType:
    match _plain(value):
        case bool() | int() | float() | str() as plain:
            return type_of_value(plain)
        case datetime():
            return TIMESTAMP
        case (first, second):
            return DataType("pair", (_type_of(first), _type_of(second)))
        case _:
            return UNKNOWN
