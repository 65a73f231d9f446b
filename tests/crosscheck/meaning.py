"""The oracle's operators and functions, written from docs/language.md and from nothing else.

A `Near` is a float that an engine may round in its own way, with how far it may be off. Programs only add, scale and
show such floats; to decide something by one would make the answer a matter of rounding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from decimal import Overflow as DecimalOverflow
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias, cast

from tests.crosscheck import times
from tests.crosscheck.patterns import NoPattern, first_found, fits, is_like, replaced
from tests.crosscheck.programs import Value

SMALLEST, LARGEST = -(2**63), 2**63 - 1
EPSILON = 2.0**-52
SAFELY_FINITE = 1e300

DIVISION, OVERFLOW, CONVERSION, NEGATIVE, LOSSY = "DL501", "DL502", "DL503", "DL504", "DL506"
BEYOND, NOT_SPELLED, NOT_WHOLE_DAYS = "DL515", "DL516", "DL517"


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
    if isinstance(one, datetime) is not isinstance(other, datetime):  # a date beside a timestamp is its midnight
        one, other = times.midnight(one), times.midnight(other)
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


def word_holds(word: str, values: Sequence[Known], is_negated: bool) -> bool:
    """Tells whether `in`, `between` or `like` holds, or its negation: each is made of comparisons."""
    subject, *others = values
    match word:
        case "in" if is_negated:
            return all(holds("!=", subject, other) for other in others)
        case "in":
            return any(holds("=", subject, other) for other in others)
        case "between" if is_negated:
            return holds("<", subject, others[0]) or holds(">", subject, others[1])
        case "between":
            return holds(">=", subject, others[0]) and holds("<=", subject, others[1])
        case "in list":
            elements = others[0]
            if subject is None or elements is None:
                return False
            return any(holds("=", subject, one) for one in cast(tuple[Value, ...], elements)) is not is_negated
        case "like":
            text, pattern = subject, others[0]
            if text is None or pattern is None:
                return False
            return is_like(cast(str, text), cast(str, pattern)) is not is_negated
        case _:
            raise ValueError(word)


# --- operators ------------------------------------------------------------------------------------------------------


def negated(value: Known) -> Known:
    match value:
        case None:
            return None
        case Near(x, slack):
            return Near(-x + 0.0, slack)
        case timedelta() | Decimal():
            return operated("*", value, -1)
        case _:
            return number(-cast(Any, value))


def operated(symbol: str, left: Known, right: Known) -> Known:
    if left is None or right is None:
        return None
    if isinstance(left, Near) or isinstance(right, Near):
        return _operated_near(symbol, _as_near(left), _as_near(right))
    one, other = cast(Any, left), cast(Any, right)
    if isinstance(one, date | timedelta) or isinstance(other, date | timedelta):
        return _with_time(symbol, one, other)
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        return _with_decimals(symbol, one, other)
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


def _duration(number: int | float) -> timedelta:
    assert isinstance(number, int)
    if not SMALLEST <= number <= LARGEST:
        raise Fault(OVERFLOW)
    return timedelta(microseconds=number)


def _with_time(symbol: str, one: Any, other: Any) -> Known:
    if isinstance(one, timedelta) and isinstance(other, date):
        one, other = other, one
    if isinstance(one, date):
        if isinstance(other, date):
            return _duration((times.midnight(one) - times.midnight(other)) // times.MICROSECOND)
        return cast(date, _timely(times.moved, one, other if symbol == "+" else -other))
    numbers = [times.microseconds(x) if isinstance(x, timedelta) else x for x in (one, other)]
    is_cut_off = symbol == "/" and not isinstance(other, timedelta)
    result = _unbounded("div" if is_cut_off else symbol, *numbers)
    is_number = symbol in ("/", "div") and isinstance(other, timedelta)
    return number(result) if is_number else _duration(result)


def _unbounded(symbol: str, one: int, other: int) -> int | float:
    if symbol in ("/", "div", "mod") and other == 0:
        raise Fault(DIVISION)
    match symbol:
        case "/":
            return float(one) / float(other)
        case "div":
            return int(Fraction(one, other))
        case "mod":
            return one - other * int(Fraction(one, other))
        case "*":
            return one * other
        case _:
            return one + other if symbol == "+" else one - other


def _timely(function: Callable[..., Any], *values: Any) -> Any:
    try:
        return function(*values)
    except times.Beyond:
        raise Fault(BEYOND) from None
    except times.NotSpelled:
        raise Fault(NOT_SPELLED) from None
    except times.NotWholeDays:
        raise Fault(NOT_WHOLE_DAYS) from None


def _with_decimals(symbol: str, one: Any, other: Any) -> Known:
    if symbol == "/":
        return operated("/", *(float(Fraction(x)) for x in (one, other)))
    scales = [times.scale_of(x) if isinstance(x, Decimal) else 0 for x in (one, other)]
    scale = sum(scales) if symbol == "*" else max(scales)
    exact = cast(Fraction, _unbounded(symbol, Fraction(one), Fraction(other)))  # type: ignore[arg-type]
    return _fitting(exact, scale)


def _fitting(exact: Fraction, scale: int) -> Decimal:
    found = times.decimal_of(exact, scale)
    if found is None:
        raise Fault(OVERFLOW)
    return found


def _to_decimal(value: Any, scale: int) -> Decimal:
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", value.strip(BLANKS)):
            raise Fault(CONVERSION)
        value = Decimal(value.strip(BLANKS))
    return _fitting(Fraction(Decimal(repr(value)) if isinstance(value, float) else value), scale)


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
        case date() | timedelta() | Decimal():
            return times.spelled(value)
        case tuple():
            return f"({', '.join(map(text_of, value))})"
        case _:
            return repr(value)


def _rounded(x: int | float | Decimal, digits: int) -> Fraction:
    """The decimal number that x prints as, rounded, halves away from zero."""
    digits = max(-400, min(400, digits))
    printed = Fraction(x if isinstance(x, Decimal) else Decimal(repr(x)))
    power = Fraction(10) ** digits
    nearest = math.floor(abs(printed) * power + Fraction(1, 2)) / power
    return nearest if printed >= 0 else -nearest


def _round(x: int | float | Decimal, digits: int | None = None) -> int | float | Decimal:
    if digits is None:
        return int(_rounded(x, 0))
    if isinstance(x, Decimal):
        return _fitting(_rounded(x, digits), digits)
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


BLANKS = " \t\n\r\v\f"
LONGEST_TEXT = 10_000_000


def _parts(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else list(text)


def _nth(elements: tuple[Value, ...], place: int) -> Value:
    if not -len(elements) <= place < len(elements):
        raise Fault(OVERFLOW)
    return elements[place + len(elements) if place < 0 else place]


def _split_part(text: str, separator: str, place: int) -> str:
    parts = dict(enumerate(_parts(text, separator)))
    return parts.get(place if place >= 0 else place + len(parts), "")


def _index_of(text: str, part: str) -> int:
    return next((place for place in range(len(text) + 1) if text[place:].startswith(part)), -1)


def _repeat(text: str, times: int) -> str:
    if times <= 0:
        return ""
    if len(text) * times > LONGEST_TEXT:
        raise Fault(OVERFLOW)
    return "".join(text for _ in range(times)) if text else ""


def _filling(text: str, length: int, filling: str) -> str:
    if length <= len(text) or not filling:
        return ""
    if length > LONGEST_TEXT:
        raise Fault(OVERFLOW)
    return "".join(filling[place % len(filling)] for place in range(length - len(text)))


def _bits(value: int) -> int:
    """An int as its 64 bits, which count from zero."""
    return value if value >= 0 else value + 2**64


def _of_bits(bits: int) -> int:
    bits %= 2**64
    return bits if bits < 2**63 else bits - 2**64


def _shift_left(x: int, places: int) -> int:
    if not 0 <= places <= 63:
        raise Fault(OVERFLOW)
    return _of_bits(_bits(x) * 2**places)


def _shift_right(x: int, places: int) -> int:
    if not 0 <= places <= 63:
        raise Fault(OVERFLOW)
    return math.floor(Fraction(x, 2**places))


def _int_power(x: int, n: int) -> int:
    if n < 0 or (n > 64 and abs(x) > 1):
        raise Fault(OVERFLOW)
    return math.prod([x] * (n if abs(x) > 1 else min(n, 2 - n % 2)))


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
    if isinstance(value, date):
        return times.whole(value)
    return times.microseconds(value) if isinstance(value, timedelta) else int(value)


def _to_date(value: Any) -> date:
    if isinstance(value, str):
        return cast(date, _timely(times.read_date, value))
    return times.midnight(value).date()


def _to_timestamp(value: Any) -> datetime:
    if isinstance(value, date):
        return times.midnight(value)
    return cast(datetime, _timely(times.read_timestamp if isinstance(value, str) else times.from_microseconds, value))


FIELDS = ("year", "month", "day", "hour", "minute", "second", "weekday", "day_of_year", "week")


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
    "band": lambda x, y: _of_bits(_bits(x) & _bits(y)),
    "bor": lambda x, y: _of_bits(_bits(x) | _bits(y)),
    "bxor": lambda x, y: _of_bits(_bits(x) ^ _bits(y)),
    "bnot": lambda x: -x - 1,
    "shl": _shift_left,
    "shr": _shift_right,
    "ipow": _int_power,
    "sign": lambda x: 1 if x > 0 else -1 if x < 0 else 0,
    "trim": lambda text: text.strip(BLANKS),
    "ltrim": lambda text: text.lstrip(BLANKS),
    "rtrim": lambda text: text.rstrip(BLANKS),
    "split_part": _split_part,
    "replace": lambda text, old, new: new.join(text.split(old)) if old else text,
    "ends_with": lambda text, end: text[len(text) - len(end) :] == end if len(end) <= len(text) else False,
    "index_of": _index_of,
    "reverse": lambda text: "".join(reversed(text)),
    "repeat": _repeat,
    "pad_left": lambda text, length, filling: _filling(text, length, filling) + text,
    "pad_right": lambda text, length, filling: text + _filling(text, length, filling),
    "regex_extract": first_found,
    "regex_replace": replaced,
    **{name: partial(times.field, name=name) for name in FIELDS},
    "truncate": times.truncated,
    "add_months": lambda moment, months: _timely(times.add_months, moment, months),
    "format_time": times.formatted,
    "parse_time": lambda text, format: _timely(times.parsed, text, format),
    "parse_date": lambda text, format: _timely(times.parsed, text, format).date(),
    "date": _to_date,
    "timestamp": _to_timestamp,
    "seconds": lambda duration: times.microseconds(duration) / 10**6,
    "decimal": _to_decimal,
    "list": lambda *elements: elements,
    "append": lambda elements, last: (*elements, last),
    "prepend": lambda elements, first: (first, *elements),
    "concat": lambda one, other: (*one, *other),
    "nth": _nth,
    "split": lambda text, separator: tuple(_parts(text, separator)),
    "encd": lambda first, second: (first, second),
    "decd_first": lambda pair: pair[0],
    "decd_second": lambda pair: pair[1],
}
