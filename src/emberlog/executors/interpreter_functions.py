"""The operators and functions of the language over values that are not null. Who has none raises a Fault."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache
from typing import Any

from emberlog.datatypes import INT_MAX, INT_MIN
from emberlog.executors.interpreter_faults import Fault
from emberlog.semantics.model import CellValue
from emberlog.syntax.ast import BinaryOperator

Number = int | float


def in_range(value: Number) -> Number:
    """The number, if the language has it: 64-bit ints and finite floats. There is only one zero."""
    if type(value) is int:
        if value < INT_MIN or value > INT_MAX:
            raise Fault("DL502", "the result does not fit in a 64-bit int", "float(…) of an operand makes it a float")
        return value
    if not math.isfinite(value):
        raise Fault("DL502", "the result is not a finite number")
    return value or 0.0


def negated(value: Number) -> Number:
    return in_range(-_number(value))


def _number(value: Any) -> Any:
    if type(value) is int or type(value) is float:
        return value
    raise Fault("DL403", "this is not a number")


def _of_numbers(function: Callable[..., Number]) -> Callable[..., Number]:
    """The function with its arguments and its result checked."""

    def checked(*values: CellValue) -> Number:
        try:
            return in_range(function(*map(_number, values)))
        except (OverflowError, ValueError):
            raise Fault("DL502", "the result is not a finite number") from None

    return checked


def _divide(left: Number, right: Number) -> float:
    if right == 0:
        raise Fault("DL501", "division by zero")
    return float(left) / float(right)


def _integer_divide(left: int, right: int) -> int:
    """Towards zero."""
    if right == 0:
        raise Fault("DL501", "division by zero")
    quotient, remainder = divmod(left, right)
    return int(quotient) + (1 if remainder and quotient < 0 else 0)


def _modulo(left: int, right: int) -> int:
    """What the division towards zero leaves: it has the sign of the dividend."""
    return left - right * _integer_divide(left, right)


OPERATORS: Mapping[BinaryOperator, Callable[..., CellValue]] = {
    BinaryOperator.ADD: _of_numbers(lambda left, right: left + right),
    BinaryOperator.SUBTRACT: _of_numbers(lambda left, right: left - right),
    BinaryOperator.MULTIPLY: _of_numbers(lambda left, right: left * right),
    BinaryOperator.DIVIDE: _of_numbers(_divide),
    BinaryOperator.INTEGER_DIVIDE: _of_numbers(_integer_divide),
    BinaryOperator.MODULO: _of_numbers(_modulo),
}


def _round(value: Number, digits: int | None = None) -> Number:
    """To the nearest, halves away from zero, of the number as it is written."""
    if digits is None and type(value) is int:
        return value
    places = max(-400, min(400, digits or 0))
    with localcontext() as context:
        context.prec = 1000
        nearest = Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    return int(nearest) if digits is None else float(nearest)


def _power(base: Number, exponent: Number) -> float:
    return math.pow(float(base), float(exponent))


def text_of(value: CellValue) -> str:
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case tuple():
            return "(" + ", ".join(map(text_of, value)) + ")"
        case _:
            return repr(value)


def _substring(text: str, start: int, length: int) -> str:
    end = start + length
    return text[max(0, start) : end] if end > 0 else ""


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise Fault("DL503", f"`{text}` is not a regular expression", str(error)) from None


_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_DECIMAL = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


def _as_int(value: CellValue) -> Number:
    match value:
        case str():
            if not _WHOLE.fullmatch(value):
                raise Fault("DL503", f'"{value}" is not an int')
            # Longer texts cannot fit anyway, and Python refuses to read very long ones.
            return in_range(int(value) if len(value.strip().lstrip("+-0")) < 30 else 2**64)
        case bool():
            return int(value)
        case _:
            return in_range(math.trunc(_number(value)))


def _as_float(value: CellValue) -> Number:
    match value:
        case str():
            if not _DECIMAL.fullmatch(value):
                raise Fault("DL503", f'"{value}" is not a number')
            return in_range(float(value))
        case bool():
            return float(value)
        case _:
            return float(_number(value)) or 0.0


def _pair(value: Any) -> tuple[CellValue, CellValue]:
    match value:
        case (first, second):
            return first, second
        case _:
            raise Fault("DL403", "this is not a pair made by encd")


FUNCTIONS: Mapping[str, Callable[..., CellValue]] = {
    "abs": _of_numbers(abs),
    "floor": _of_numbers(math.floor),
    "ceil": _of_numbers(math.ceil),
    "round": _of_numbers(_round),
    "sqrt": _of_numbers(math.sqrt),
    "exp": _of_numbers(math.exp),
    "log": _of_numbers(math.log),
    "pow": _of_numbers(_power),
    "least": min,
    "greatest": max,
    "cat": lambda *texts: "".join(texts),
    "len": len,
    "substr": _substring,
    "lower": str.lower,
    "upper": str.upper,
    "contains": lambda text, part: part in text,
    "starts_with": str.startswith,
    "matches": lambda text, pattern: _pattern(pattern).fullmatch(text) is not None,
    "to_string": text_of,
    "string": text_of,
    "to_number": _as_float,
    "int": _as_int,
    "float": _as_float,
    "encd": lambda first, second: (first, second),
    "decd_first": lambda pair: _pair(pair)[0],
    "decd_second": lambda pair: _pair(pair)[1],
}
