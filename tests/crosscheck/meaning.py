"""The oracle's operators and functions, written from docs/language.md and from nothing else.

A `Near` is a float that an engine may round in its own way, with how far it may be off. Programs only add, scale and
show such floats; to decide something by one would make the answer a matter of rounding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from decimal import Overflow as DecimalOverflow
from fractions import Fraction
from typing import Any, TypeAlias, cast

from tests.crosscheck.patterns import NoPattern, fits
from tests.crosscheck.programs import Value

SMALLEST, LARGEST = -(2**63), 2**63 - 1
EPSILON = 2.0**-52
SAFELY_FINITE = 1e300

DIVISION, OVERFLOW, CONVERSION, NEGATIVE, LOSSY = "DL501", "DL502", "DL503", "DL504", "DL506"


class Fault(Exception):
    """An operation has no value. An engine may name any of the codes."""

    def __init__(self, *codes: str) -> None:
        super().__init__(*codes)
        self.codes = frozenset(codes)


class Unclear(Exception):
    """The language does not say what happens here, or it hangs on rounding: no program for a test."""


@dataclass(frozen=True, slots=True)
class Near:
    value: float
    slack: float


Known: TypeAlias = "Value | Near"


def number(value: int | float) -> int | float:
    """Checks the result of an operation."""
    if isinstance(value, int):
        if not SMALLEST <= value <= LARGEST:
            raise Fault(OVERFLOW)
        return value
    if not math.isfinite(value):
        raise Fault(OVERFLOW)
    return value + 0.0


def near(value: float, slack: float) -> Near:
    if not abs(value) < SAFELY_FINITE:
        raise Unclear
    return Near(value + 0.0, slack)


def widened(value: Known) -> Known:
    """A value in a column of floats: an int there must not lose anything."""
    if isinstance(value, int) and not isinstance(value, bool):
        if int(float(value)) != value:
            raise Fault(LOSSY)
        return float(value)
    return value


# --- comparisons ----------------------------------------------------------------------------------------------------


def holds(symbol: str, left: Known, right: Known) -> bool:
    """Numbers compare as numbers, which Python does exactly; null satisfies nothing."""
    if left is None or right is None:
        return False
    one, other = cast(Any, left), cast(Any, right)
    assert not isinstance(one, Near) and not isinstance(other, Near)
    match symbol:
        case "=":
            return bool(one == other)
        case "!=":
            return bool(one != other)
        case "<":
            return bool(one < other)
        case "<=":
            return bool(one <= other)
        case ">":
            return bool(one > other)
        case ">=":
            return bool(one >= other)
        case _:
            raise ValueError(symbol)


# --- operators ------------------------------------------------------------------------------------------------------


def negated(value: Known) -> Known:
    match value:
        case None:
            return None
        case Near(x, slack):
            return Near(-x + 0.0, slack)
        case _:
            return number(-cast(Any, value))


def operated(symbol: str, left: Known, right: Known) -> Known:
    if left is None or right is None:
        return None
    if isinstance(left, Near) or isinstance(right, Near):
        return _operated_near(symbol, _as_near(left), _as_near(right))
    one, other = cast(Any, left), cast(Any, right)
    is_real = isinstance(one, float) or isinstance(other, float) or symbol == "/"
    if is_real:
        one, other = float(one), float(other)
    if symbol in ("/", "div", "mod") and other == 0:
        raise Fault(DIVISION)
    match symbol:
        case "+":
            return number(one + other)
        case "-":
            return number(one - other)
        case "*":
            return number(one * other)
        case "/":
            return number(one / other)
        case "div":
            quotient = abs(one) // abs(other)
            return number(quotient if (one < 0) == (other < 0) else -quotient)
        case "mod":
            rest = abs(one) % abs(other)
            return number(-rest if one < 0 else rest)
        case _:
            raise ValueError(symbol)


def _as_near(value: Known) -> Near:
    return value if isinstance(value, Near) else Near(float(cast(Any, value)), 0.0)


def _operated_near(symbol: str, left: Near, right: Near) -> Near:
    a, b = left.value, right.value
    match symbol:
        case "+" | "-":
            result = a + b if symbol == "+" else a - b
            slack = left.slack + right.slack
        case "*":
            result = a * b
            slack = abs(a) * right.slack + abs(b) * left.slack + left.slack * right.slack
        case "/":
            if right.slack:
                raise Unclear
            if b == 0:
                raise Fault(DIVISION)
            result = a / b
            slack = left.slack / abs(b)
        case _:
            raise Unclear
    return near(result, slack * 1.01 + EPSILON * abs(result) + 5e-324)


# --- functions ------------------------------------------------------------------------------------------------------


def called(function: str, values: Sequence[Known]) -> Known:
    """The value of a function; with a null among the arguments it is null."""
    if any(value is None for value in values):
        return None
    if any(isinstance(value, Near) for value in values):
        raise Unclear
    result = FUNCTIONS[function](*values)
    return number(result) if isinstance(result, (int, float)) and not isinstance(result, bool) else result


def text_of(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case tuple():
            return f"({', '.join(map(text_of, value))})"
        case _:
            return repr(value)


def _rounded(x: int | float, digits: int) -> Fraction:
    """The decimal number that x prints as, rounded, halves away from zero."""
    digits = max(-400, min(400, digits))
    printed = Fraction(Decimal(repr(x)))
    power = Fraction(10) ** digits
    nearest = math.floor(abs(printed) * power + Fraction(1, 2)) / power
    return nearest if printed >= 0 else -nearest


def _round(x: int | float, digits: int | None = None) -> int | float:
    if digits is None:
        return int(_rounded(x, 0))
    return _float(_rounded(x, digits))


def _float(exact: Fraction | int) -> float:
    try:
        return float(exact)
    except OverflowError:
        raise Fault(OVERFLOW) from None


def _root(x: int | float) -> float:
    if x < 0:
        raise Fault(OVERFLOW)
    return math.sqrt(x)


_MANY_DIGITS = Context(prec=60, Emax=10**9, Emin=-(10**9))


def _of_real(compute: Callable[..., Decimal], *arguments: int | float) -> Near:
    """A value that engines may miss by four units in the last place, computed with 60 digits here."""
    try:
        exact = compute(*(Decimal(float(argument)) for argument in arguments))
    except DecimalOverflow:
        raise Fault(OVERFLOW) from None
    value = float(exact)
    if not math.isfinite(value):
        raise Fault(OVERFLOW)
    return near(value, 4 * math.ulp(value))


def _log(x: int | float) -> Near:
    if x <= 0:
        raise Fault(OVERFLOW)
    return _of_real(_MANY_DIGITS.ln, x)


def _pow(x: int | float, y: int | float) -> Near:
    x, y = float(x), float(y)
    if x == 0 and y < 0:
        raise Fault(OVERFLOW)
    if x < 0 and not y.is_integer():
        raise Fault(OVERFLOW)
    if y == 0 or x == 1:
        return Near(1.0, 0.0)
    if x == 0:
        return Near(0.0, 0.0)
    size = _of_real(lambda a, b: _MANY_DIGITS.exp(_MANY_DIGITS.multiply(b, _MANY_DIGITS.ln(a))), abs(x), y)
    return Near(-size.value + 0.0, size.slack) if x < 0 and y % 2 == 1 else size


def _exp(x: int | float) -> Near:
    if abs(x) > 1e6:  # the decimal module would take its time
        if x > 0:
            raise Fault(OVERFLOW)
        return Near(0.0, 0.0)
    return _of_real(_MANY_DIGITS.exp, x)


def _substr(text: str, start: int, length: int) -> str:
    return "".join(c for place, c in enumerate(text) if start <= place < start + length)


def _matches(text: str, pattern: str) -> bool:
    try:
        return fits(text, pattern)
    except NoPattern:
        raise Fault(CONVERSION) from None


def _to_float(value: Any) -> float:
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", value.strip()):
            raise Fault(CONVERSION)
        return float(value)
    return _float(value)


def _to_int(value: Any) -> int:
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?[0-9]+", value.strip()):
            raise Fault(CONVERSION)
        return int(value)
    return int(value)


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(*values: Any) -> Any:
        result = choose(values)
        return float(result) if any(isinstance(value, float) for value in values) else result

    return chosen


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": _round,
    "sqrt": _root,
    "exp": _exp,
    "log": _log,
    "pow": _pow,
    "least": _extreme(min),
    "greatest": _extreme(max),
    "cat": lambda *texts: "".join(texts),
    "len": len,
    "substr": _substr,
    "lower": str.lower,
    "upper": str.upper,
    "contains": lambda text, part: part in text,
    "starts_with": str.startswith,
    "matches": _matches,
    "to_string": text_of,
    "string": text_of,
    "to_number": _to_float,
    "int": _to_int,
    "float": _to_float,
    "encd": lambda first, second: (first, second),
    "decd_first": lambda pair: pair[0],
    "decd_second": lambda pair: pair[1],
}
