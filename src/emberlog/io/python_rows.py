"""Makes facts of rows of plain Python values, and finds the types of their columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from emberlog.datatypes import (
    BOOL,
    DATE,
    DURATION,
    FLOAT,
    INT,
    INT_MAX,
    INT_MIN,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    decimal_of,
    join_types,
    list_of,
    pair_of,
)
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.matching import decimal_misfit, half_character, has_half_characters, no_equal_float
from emberlog.language.spellings import LARGEST_SCALE, days_of, spelled, time_of
from emberlog.semantics.model import CellValue, Fact
from emberlog.syntax.ast import Constant


class HalfCharacter(ValueError):
    """Says that a text has half of a character in it."""


def rows_of(name: str, data: Iterable[object]) -> tuple[list[Fact], list[DataType]] | None:
    """Returns the rows as facts, with the types of their columns; None if there are no rows."""
    rows = [_row(one) for one in data]
    if not rows:
        return None
    arity = len(rows[0])
    types = [UNKNOWN] * arity
    facts: list[Fact] = []
    own_types: list[list[DataType]] = []
    for number, row in enumerate(rows, 1):
        if len(row) != arity:
            message = f"row {number:,} of `{name}` has {len(row)} values, and the first has {arity}"
            raise fail("DL402", message, None, f"it is {row}")
        fact: list[CellValue] = []
        own_types.append([])
        for index, value in enumerate(row):
            try:
                cell, type_ = cell_of(value)
            except HalfCharacter:
                raise half_character(f"{value!r} in row {number:,} of `{name}`") from None
            except ValueError as error:
                raise _misfit(name, number, value, str(error)) from None
            joined = join_types(types[index], type_)
            if joined is None:
                raise fail(
                    "DL403",
                    f"column {index + 1} of `{name}` holds values of several types",
                    None,
                    f"row {number:,} has {value!r}, and the rows before have {types[index]}",
                )
            fact.append(cell)
            own_types[-1].append(type_)
            types[index] = joined
        facts.append(tuple(fact))
    for index, type_ in enumerate(types):
        if type_ == FLOAT:
            _check_floats(name, index, facts)
    if any(map(_holds_decimals, types)):
        facts = [_scaled(name, *one, types) for one in zip(facts, own_types, strict=True)]
    return facts, types


def _holds_decimals(type_: DataType) -> bool:
    return type_.is_decimal or any(map(_holds_decimals, type_.parts))


def _scaled(name: str, fact: Fact, own: Sequence[DataType], types: Sequence[DataType]) -> Fact:
    """Returns a row with its decimals in the scales of their columns."""
    cells = enumerate(zip(fact, own, types, strict=True), 1)
    return tuple(_with_scale(*one, f"column {index} of `{name}`") for index, one in cells)


def _with_scale(cell: CellValue, own: DataType, wanted: DataType, where: str) -> CellValue:
    if own == wanted or not _holds_decimals(wanted):
        return cell
    if isinstance(cell, tuple):
        inside = zip(cell, own.types_of(cell), wanted.types_of(cell), strict=True)
        return tuple(_with_scale(*one, where) for one in inside)
    if wanted.scale is None or not isinstance(cell, int):
        return cell
    value: int = cell * 10 ** (wanted.scale - (own.scale or 0))
    if not INT_MIN <= value <= INT_MAX:
        raise decimal_misfit(spelled(cell, decimal_of(own.scale or 0)), wanted.scale, where)
    return value


def parameters_of(given: Mapping[str, object]) -> dict[str, Constant]:
    """Returns the values of parameters as constants of programs; raises DL265 for one that programs do not know."""
    constants = {}
    for name, value in given.items():
        if isinstance(value, Constant):
            constants[name] = value
            continue
        try:
            cell, type_ = cell_of(value)
        except HalfCharacter:
            raise half_character(f"{value!r}, the value of `${name}`,") from None
        except ValueError as error:
            raise _no_parameter(name, f"{value!r} {error}") from None
        if isinstance(cell, tuple):
            raise _no_parameter(name, f"{value!r} holds several values")
        if isinstance(cell, float) and not math.isfinite(cell):
            raise _no_parameter(name, f"{value!r} is not finite")
        constants[name] = Constant.of(cell, type_)
    return constants


def _no_parameter(name: str, problem: str) -> EmberlogError:
    hint = f'a parameter is one value; several are a relation: db["{name}"] = [(1,), (2,)]'
    return fail("DL265", f"the parameter `${name}` cannot have this value: {problem}", None, hint)


def _check_floats(name: str, index: int, facts: Sequence[Fact]) -> None:
    """Raises DL506 for an int in a column of floats that would become another number."""
    for fact in facts:
        value = fact[index]
        if isinstance(value, int) and float(value) != value:
            raise no_equal_float(value, f"column {index + 1} of `{name}`")


def _row(one: object) -> tuple[Any, ...]:
    return tuple(one) if isinstance(one, tuple | list) else (one,)


def cell_of(value: Any) -> tuple[CellValue, DataType]:
    """Returns a value of Python, numpy or pandas as programs know it, with its type; raises ValueError, which says why,
    if they do not know it."""
    value = _plain(value)
    match value:
        case None:
            return None, UNKNOWN
        case str():
            if not value.isascii() and has_half_characters(value):
                raise HalfCharacter
            return str(value), STRING
        case bool():
            return value, BOOL
        case int():
            if not INT_MIN <= value <= INT_MAX:
                raise ValueError("does not fit in a 64-bit int")
            return int(value), INT
        case float():
            return float(value) + 0.0, FLOAT  # 0.0 and -0.0 are one value
        case datetime():
            _refuse_nanoseconds(value)
            return time_of(value), TIMESTAMP
        case date():
            return days_of(value), DATE
        case timedelta():
            _refuse_nanoseconds(value)
            microseconds = value // timedelta(microseconds=1)
            if not INT_MIN <= microseconds <= INT_MAX:
                raise ValueError("does not fit in 64 bits of microseconds")
            return microseconds, DURATION
        case Decimal():
            return _decimal_of(value)
        case (first, second) if isinstance(value, tuple):
            cells = (cell_of(first), cell_of(second))
            return tuple(cell for cell, _ in cells), pair_of(cells[0][1], cells[1][1])
        case tuple() | list():
            element = UNKNOWN
            for part in value:
                joined = join_types(element, cell_of(part)[1])
                if joined is None:
                    raise ValueError("holds values of several types")
                element = joined
            cells_of_list = [cell_of(part) for part in value]
            return tuple(_with_scale(*one, element, "a list") for one in cells_of_list), list_of(element)
    raise ValueError(f"is a {type(value).__name__}, which programs do not know")


def _decimal_of(value: Decimal) -> tuple[int, DataType]:
    """Returns a decimal with the digits that it has; one without digits behind the point is an int."""
    if not value.is_finite():
        raise ValueError("is not finite")
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    number = Fraction(value) * 10**scale
    if scale > LARGEST_SCALE or not INT_MIN <= number <= INT_MAX:
        raise ValueError(f"does not fit in 64 bits, with {LARGEST_SCALE} digits behind the point at most")
    return int(number), decimal_of(scale) if scale else INT


def _refuse_nanoseconds(value: Any) -> None:
    if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):
        raise ValueError("is finer than a microsecond, which programs do not know")


def _misfit(name: str, number: int, value: object, problem: str) -> EmberlogError:
    return fail("DL403", f"{value!r} in row {number:,} of `{name}` {problem}")


def _plain(value: Any) -> Any:
    """Returns a value of numpy as one of Python, and what pandas and numpy call missing as None."""
    kind = type(value)
    if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in ("NaTType", "NAType"):
        return None
    if kind.__module__ != "numpy" or not hasattr(value, "item"):
        return value
    if value.dtype.kind in "mM":
        import numpy as np

        if np.isnat(value):
            return None
        fine = value.astype("datetime64[us]" if value.dtype.kind == "M" else "timedelta64[us]")
        if fine.astype(value.dtype) != value:
            raise ValueError("is finer than a microsecond, which programs do not know")
        is_day = value.dtype in (np.dtype("datetime64[D]"), np.dtype("datetime64[M]"), np.dtype("datetime64[Y]"))
        found = fine.item()
        if isinstance(found, int):
            raise ValueError("is outside the years 1 to 9999")
        return found.date() if is_day else found
    return value.item()
