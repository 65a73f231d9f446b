"""Says what a value is: which numbers there are, how values compare, and how they are written."""

from __future__ import annotations

import math
from typing import Any, TypeAlias, assert_never

from emberlog.datatypes import INT_MAX, INT_MIN
from emberlog.language.faults import Fault

CellValue: TypeAlias = int | float | str | bool | tuple["CellValue", ...] | None
"""A value in a fact. Pairs and lists are tuples; a timestamp is an int (microseconds) or a plain number."""

Fact: TypeAlias = tuple[CellValue, ...]
Number: TypeAlias = int | float

OVERFLOW = "the result does not fit in a 64-bit int"
NOT_FINITE = "the result is not a finite number"


def in_range(value: Number) -> Number:
    """Returns the number if the language has it: 64-bit ints and finite floats, with one zero."""
    if type(value) is int:
        if INT_MIN <= value <= INT_MAX:
            return value
        raise Fault("DL502", OVERFLOW, "float(…) of an operand makes it a float")
    if not math.isfinite(value):
        raise Fault("DL502", NOT_FINITE)
    return value or 0.0


def number(value: Any) -> Any:
    """Returns the value if it is a number, which truth values are not."""
    if type(value) is int or type(value) is float:
        return value
    raise Fault("DL403", f"{kind_of(value)} is not a number")


def text(value: Any) -> str:
    """Returns the value if it is text."""
    if type(value) is str:
        return value
    raise Fault("DL403", f"{kind_of(value)} is not a string")


def widened(value: int) -> float:
    """Returns the float that is equal to an int; there is none for some ints beyond 2⁵³."""
    result = float(value)
    if result != value:
        raise Fault("DL506", f"{value:,} has no equal float", "float(X) takes the nearest one")
    return result


def narrowed(value: float) -> int:
    """Returns the int that is equal to a float."""
    if not value.is_integer() or not INT_MIN <= value <= INT_MAX:
        raise Fault("DL506", f"{value!r} has no equal int", "int(X), floor(X) and round(X) convert")
    return int(value)


def kind_of(value: CellValue) -> str:
    """Names the kind of a value as a person would."""
    match value:
        case None:
            return "null"
        case bool():
            return "a bool"
        case int():
            return "an int"
        case float():
            return "a float"
        case str():
            return "a string"
        case tuple():
            return "a pair or a list"
    assert_never(value)


def text_of(value: CellValue) -> str:
    """Writes a value as `to_string` does."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case tuple():
            return f"({', '.join(map(text_of, value))})"
        case int() | float():
            return repr(value)
    assert_never(value)


_LONGEST = 60
"""Characters of a value in a message."""


def shown(value: CellValue) -> str:
    """Writes a value as a program would; the beginning of a long one."""
    written = _written(value)
    return written if len(written) <= _LONGEST else f"{written[:_LONGEST]}…"


def _written(value: CellValue) -> str:
    match value:
        case str():
            return f'"{value}"'
        case tuple():
            return f"({', '.join(map(_written, value))})"
        case _:
            return text_of(value)
