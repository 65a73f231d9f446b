"""The value of an expression, as plain as possible: every function of the language in Python's own terms."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.datatypes import INT_MAX, INT_MIN
from emberlog.diagnostics import InternalError
from emberlog.language import faults
from emberlog.language.entry import Function
from emberlog.semantics.model import CellValue
from emberlog.syntax.ast import (
    Binary,
    BinaryOperator,
    Call,
    ComparisonOperator,
    Constant,
    Expression,
    Parameter,
    Unary,
    Variable,
    Wildcard,
)
from tests.oracle import decimals, records, times

Valuation: TypeAlias = Mapping[str, CellValue]
Scalars: TypeAlias = Mapping[str, Function]
"""The functions that a program can call, by name."""


class Fault(Exception):
    """An expression has no value; whoever evaluates the rule says which rule and which values."""

    def __init__(self, code: str, message: str, *hints: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hints = hints
        self.expression: Expression | None = None
        self.valuation: Valuation = {}


def evaluate_expression(expression: Expression, valuation: Valuation, scalars: Scalars) -> CellValue:
    """The value of the expression; raises a Fault that knows the smallest part that went wrong."""
    try:
        return _evaluate(expression, valuation, scalars)
    except Fault as fault:
        if fault.expression is None:
            fault.expression = expression
            fault.valuation = valuation
        raise


def _evaluate(expression: Expression, valuation: Valuation, scalars: Scalars) -> CellValue:
    match expression:
        case Constant(value):
            return value
        case Variable(name):
            return valuation[name]
        case Unary(operand):
            operand_value = evaluate_expression(operand, valuation, scalars)
            return None if operand_value is None else checked_number(-_number(operand_value))
        case Binary(operator, left, right):
            first, second = _values((left, right), valuation, scalars)
            if first is None or second is None:
                return None
            return checked_number(_arithmetic(operator, _number(first), _number(second)))
        case Call(function, arguments):
            if function == "try?":
                return _tried(arguments[0], valuation, scalars)
            if function == "if":
                holds = evaluate_expression(arguments[0], valuation, scalars)
                return evaluate_expression(arguments[1 if holds is True else 2], valuation, scalars)
            if function == "coalesce":
                found = (evaluate_expression(argument, valuation, scalars) for argument in arguments)
                return next((one for one in found if one is not None), None)
            if function == "is_null":
                return evaluate_expression(arguments[0], valuation, scalars) is None
            values = _values(arguments, valuation, scalars)
            return None if None in values else _call(function, scalars, values)
        case Parameter(name):
            raise Fault("DL211", f"the parameter `${name}` has no value")
        case Wildcard():
            raise InternalError("a core rule holds a wildcard")
    assert_never(expression)


def _tried(expression: Expression, valuation: Valuation, scalars: Scalars) -> CellValue:
    """The value, or null where there is none: what the type checker writes where an int meets a float."""
    try:
        return evaluate_expression(expression, valuation, scalars)
    except Fault:
        return None


def _values(arguments: Sequence[Expression], valuation: Valuation, scalars: Scalars) -> list[CellValue]:
    """The values of arguments. If one is null, that another has none does not matter."""
    values: list[CellValue] = []
    met: Fault | None = None
    for argument in arguments:
        try:
            values.append(evaluate_expression(argument, valuation, scalars))
        except Fault as fault:
            met = met or fault
    if met is None or None in values:
        return [*values, *[None] * (len(arguments) - len(values))]
    raise met


def agrees(left: CellValue, operator: ComparisonOperator, right: CellValue) -> bool:
    """Whether the comparison holds; with a null on a side it never does."""
    if left is None or right is None:
        return False
    if operator is ComparisonOperator.EQUAL:
        return left == right
    if operator is ComparisonOperator.NOT_EQUAL:
        return left != right
    return _is_ordered(left, operator, right)


def _is_ordered(left: Any, operator: ComparisonOperator, right: Any) -> bool:
    if type(left) is not type(right) and not (_is_numeric(left) and _is_numeric(right)):
        raise Fault("DL403", f"{kind_of(left)} and {kind_of(right)} have no order")
    match operator:
        case ComparisonOperator.LESS:
            return bool(left < right)
        case ComparisonOperator.LESS_OR_EQUAL:
            return bool(left <= right)
        case ComparisonOperator.GREATER:
            return bool(left > right)
        case ComparisonOperator.GREATER_OR_EQUAL:
            return bool(left >= right)
        case ComparisonOperator.EQUAL | ComparisonOperator.NOT_EQUAL:
            raise InternalError("equality needs no order")
    assert_never(operator)


def _is_numeric(value: CellValue) -> bool:
    return isinstance(value, float) or _is_int(value)


def checked_number(value: int | float) -> int | float:
    """The value, if it is one of the language: a 64-bit int or a finite float."""
    if isinstance(value, int):
        if not INT_MIN <= value <= INT_MAX:
            raise Fault("DL502", "the result does not fit in a 64-bit int", "float(…) of an operand makes it a float")
        return value
    if not math.isfinite(value):
        raise Fault("DL502", "the result is not a finite number")
    return value + 0.0  # 0.0 and -0.0 are one value


def shown(value: CellValue) -> str:
    """The value as a message shows it."""
    written = f'"{value}"' if isinstance(value, str) else _to_string(value)
    return written if len(written) <= 60 else f"{written[:60]}…"


def kind_of(value: CellValue) -> str:
    """What a person calls such a value."""
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


def _is_int(value: CellValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: CellValue) -> int | float:
    if isinstance(value, float) or _is_int(value):
        return value  # type: ignore[return-value]
    raise Fault("DL403", f"{kind_of(value)} is not a number")


def _text(value: CellValue) -> str:
    if isinstance(value, str):
        return value
    raise Fault("DL403", f"{kind_of(value)} is not a string")


def _pair(value: CellValue) -> tuple[CellValue, ...]:
    if isinstance(value, tuple) and len(value) == 2:
        return value
    raise Fault("DL403", f"{kind_of(value)} is not a pair made by encd")


def _arithmetic(operator: BinaryOperator, left: int | float, right: int | float) -> int | float:
    try:
        match operator:
            case BinaryOperator.ADD:
                return left + right
            case BinaryOperator.SUBTRACT:
                return left - right
            case BinaryOperator.MULTIPLY:
                return left * right
            case BinaryOperator.DIVIDE:
                return float(left) / float(right)
            case BinaryOperator.INTEGER_DIVIDE:
                return _truncated_quotient(left, right)
            case BinaryOperator.MODULO:
                return _remainder(left, right)
    except ZeroDivisionError:
        raise Fault("DL501", "division by zero") from None
    except OverflowError:
        raise Fault("DL502", "the result is not a finite number") from None
    assert_never(operator)


def _truncated_quotient(left: int | float, right: int | float) -> int:
    """Towards zero, where Python's `//` goes down."""
    if isinstance(left, int) and isinstance(right, int):
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    return math.trunc(left / right)


def _remainder(left: int | float, right: int | float) -> int | float:
    """With the sign of the dividend, where Python's `%` has that of the divisor."""
    if right == 0:
        raise ZeroDivisionError
    if isinstance(left, int) and isinstance(right, int):
        remainder = abs(left) % abs(right)
        return -remainder if left < 0 else remainder
    return math.fmod(left, right)


def _call(name: str, scalars: Scalars, values: Sequence[CellValue]) -> CellValue:
    if name in scalars and scalars[name].is_registered:
        return called(scalars[name].python, *values)
    known = times.FUNCTIONS | decimals.FUNCTIONS
    if name in records.FUNCTIONS:
        try:
            return records.FUNCTIONS[name](*values)  # type: ignore[no-any-return]
        except records.NoValue as error:
            raise Fault("DL519", *error.args) from None
        except records.OutOfBounds as error:
            raise Fault("DL507", *error.args) from None
        except records.TooLong:
            raise Fault("DL518", "this value has more than 32,768 characters as text") from None
    result = _of_types(known[name], name, values) if name in known else _FUNCTIONS[name](*values)
    return checked_number(result) if isinstance(result, float) or _is_int(result) else result  # type: ignore[arg-type]


def _of_types(function: Callable[..., Any], name: str, values: Sequence[CellValue]) -> CellValue:
    """What only types tell: a moment, a length of time or a decimal."""
    try:
        return function(*values)  # type: ignore[no-any-return]
    except decimals.NoNumber:
        raise Fault("DL503", f'"{values[0]}" is not a number') from None
    except decimals.TooLarge:
        raise Fault("DL502", "the decimal does not fit in 64 bits") from None
    except decimals.MoreDigits:
        raise Fault("DL506", "the decimal has more digits than the column") from None
    except times.OutOfCalendar:
        raise Fault("DL515", "the moment is outside the years 1 to 9999") from None
    except times.NoMoment:
        told = values[0] if name in ("date", "timestamp") else values[-1]
        what = {"date": "a date", "timestamp": "a timestamp", "truncate": "a unit of the calendar"}
        message = f'"{told}" is not {what.get(name, "a format of a moment")}'
        if name.startswith("parse"):
            message = f'"{values[0]}" is not a moment in the format "{told}"'
        raise Fault("DL516", message) from None
    except times.NotWholeDays:
        raise Fault("DL517", "a date and a duration that is not of whole days give no date") from None


def called(function: Callable[..., CellValue], *arguments: object) -> CellValue:
    """The result of a function that the user registered."""
    try:
        return function(*arguments)
    except faults.Fault as fault:
        raise Fault(fault.code, fault.message, *fault.notes) from None


def _of_real(function: Callable[..., float]) -> Callable[..., float]:
    """A function of the math module, whose complaints become faults."""

    def wrapped(*values: CellValue) -> float:
        try:
            return function(*(float(_number(value)) for value in values))
        except (ValueError, OverflowError):
            raise Fault("DL502", "the result is not a finite number") from None

    return wrapped


_EXACT = Context(prec=800)
"""Enough digits to write down any float in full."""


def _round(value: CellValue, digits: CellValue | None = None) -> int | float:
    """Halves go away from zero; a float counts as the decimal number that it prints as."""
    number = _number(value)
    if digits is None:
        return number if isinstance(number, int) else int(Decimal(number).to_integral_value(ROUND_HALF_UP))
    # No float has digits beyond these places.
    places = max(-400, min(400, int(_number(digits))))
    return float(_rounded(number, places))


def _rounded(number: int | float, places: int) -> Decimal:
    return Decimal(repr(number)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP, context=_EXACT)


def _substr(text: CellValue, start: CellValue, length: CellValue) -> str:
    first = int(_number(start))
    behind = first + int(_number(length))
    return _text(text)[max(first, 0) : max(behind, 0)]


def _matches(text: CellValue, pattern: CellValue) -> bool:
    """Asks RE2, of which the whole text has to be the longest match."""
    try:
        pc.match_substring_regex("", _text(pattern))
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        raise Fault("DL503", f"`{pattern}` is not a regular expression", str(error)) from None
    quoted = r"\E" if str(pattern).rfind(r"\Q") > str(pattern).rfind(r"\E") else ""
    return bool(pc.match_substring_regex(_text(text), rf"\A(?:{pattern}{quoted})\z").as_py())


def _to_string(value: CellValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case tuple():
            return f"({', '.join(_to_string(part) for part in value)})"
        case None:
            return "null"
        case int() | float():
            return repr(value)
    assert_never(value)


_BLANKS = " \t\n\r\f\v"
_INT_TEXT = re.compile(r"[+-]?[0-9]+")
_FLOAT_TEXT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _to_float(value: CellValue) -> float:
    if isinstance(value, str):
        if not _FLOAT_TEXT.fullmatch(value.strip(_BLANKS)):
            raise Fault("DL503", f'"{value}" is not a number')
        return float(value.strip(_BLANKS))
    return float(value if isinstance(value, bool) else _number(value))


def _exactly_float(value: CellValue) -> float:
    """What an int becomes in a column of floats."""
    nearest = float(_number(value))
    if nearest != value:
        raise Fault("DL506", f"{value:,} has no equal float")
    return nearest


def _exactly_int(value: CellValue) -> int:
    """The int that a float is looked for as."""
    number = Decimal(_number(value))
    if number != number.to_integral_value() or not INT_MIN <= number <= INT_MAX:
        raise Fault("DL506", f"{value} has no equal int")
    return int(number)


def _to_int(value: CellValue) -> int:
    if isinstance(value, str):
        if not _INT_TEXT.fullmatch(value.strip(_BLANKS)):
            raise Fault("DL503", f'"{value}" is not an int')
        try:
            return int(value.strip(_BLANKS))
        except ValueError:  # Python refuses to read thousands of digits
            raise Fault("DL502", "the result does not fit in a 64-bit int") from None
    return math.trunc(value if isinstance(value, bool) else _number(value))


def _extreme(choose: Callable[..., Any]) -> Callable[..., CellValue]:
    def wrapped(*values: CellValue) -> CellValue:
        has_float = any(isinstance(value, float) for value in values)
        of_one_type = [float(value) if has_float and _is_int(value) else value for value in values]  # type: ignore[arg-type]
        if len({type(value) for value in of_one_type}) > 1:
            raise Fault("DL403", f"{kind_of(of_one_type[0])} and values of other types have no order")
        return choose(of_one_type)  # type: ignore[no-any-return]

    return wrapped


def _compared(operator: ComparisonOperator) -> Callable[..., CellValue]:
    return lambda left, right: agrees(left, operator, right)


def _nth(values: Any, place: Any) -> CellValue:
    try:
        return values[place]  # type: ignore[no-any-return]
    except IndexError:
        message = f"there is no element {place:,} in a list of {len(values):,}"
        raise Fault("DL502", message, "they are counted from 0") from None


def _without_blanks(text: str, *, left: bool, right: bool) -> str:
    while left and text and text[0] in _BLANKS:
        text = text[1:]
    while right and text and text[-1] in _BLANKS:
        text = text[:-1]
    return text


def _split(text: CellValue, separator: CellValue) -> tuple[str, ...]:
    if separator == "":
        return tuple(_text(text))
    rest, parts = _text(text), []
    while _text(separator) in rest:
        part, _, rest = rest.partition(_text(separator))
        parts.append(part)
    return (*parts, rest)


def _part(text: CellValue, separator: CellValue, place: CellValue) -> str:
    try:
        return _split(text, separator)[int(_number(place))]
    except IndexError:
        return ""


def _like(text: CellValue, pattern: CellValue) -> bool:
    """Says it in Python's own regular expressions."""
    said, escaped = "", False
    for letter in _text(pattern):
        if letter == "\\" and not escaped:
            escaped = True
            continue
        said += ".*" if letter == "%" and not escaped else "." if letter == "_" and not escaped else re.escape(letter)
        escaped = False
    return re.fullmatch(said + (re.escape("\\") if escaped else ""), _text(text), re.DOTALL) is not None


def _short(length: int) -> None:
    if length > 10_000_000:
        raise Fault("DL502", f"the text would have {length:,} characters, more than 10,000,000")


def _repeat(text: CellValue, times: CellValue) -> str:
    count = max(0, int(_number(times)))
    _short(len(_text(text)) * count)
    return "".join([_text(text)] * count) if text else ""


def _padding(text: CellValue, length: CellValue, filling: CellValue) -> str:
    missing = int(_number(length)) - len(_text(text))
    if missing <= 0 or filling == "":
        return ""
    _short(int(_number(length)))
    return "".join(_text(filling)[i % len(_text(filling))] for i in range(missing))


def _pattern(pattern: CellValue) -> str:
    if re.search(r"(?<!\\)(\\\\)*\\C", _text(pattern)):
        raise Fault("DL503", f"`{pattern}` takes characters apart")
    try:
        pc.match_substring_regex("", _text(pattern))
        pc.match_substring_regex("", f"(?:{pattern}{_quotation_end(pattern)})")
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        raise Fault("DL503", f"`{pattern}` is not a regular expression", str(error)) from None
    return _text(pattern)


def _quotation_end(pattern: CellValue) -> str:
    return r"\E" if str(pattern).rfind(r"\Q") > str(pattern).rfind(r"\E") else ""


def _regex_extract(text: CellValue, pattern: CellValue, group: CellValue = 0) -> str:
    """Marks the first match, with what the group found in it, by characters that nothing else has."""
    ended = f"{_pattern(pattern)}{_quotation_end(pattern)}"
    number = int(_number(group))
    if not 0 <= number <= 9:
        raise Fault("DL503", f"there is no group {number}")
    try:
        marked = pc.replace_substring_regex(
            _text(text), f"(?:{ended})", f"\ue001\\{number}\ue002", max_replacements=1
        ).as_py()
    except pa.ArrowInvalid as error:
        raise Fault("DL503", f"`{pattern}` has no group {number}", str(error)) from None
    return str(marked.partition("\ue001")[2].partition("\ue002")[0])


def _regex_replace(text: CellValue, pattern: CellValue, new: CellValue) -> str:
    try:
        return str(pc.replace_substring_regex(_text(text), _pattern(pattern), _text(new)).as_py())
    except pa.ArrowInvalid as error:
        raise Fault("DL503", f"`{new}` cannot replace what `{pattern}` finds", str(error)) from None


def _of_bits(one: CellValue, other: CellValue, rule: Callable[[bool, bool], bool]) -> int:
    bits = [f"{int(_number(value)) % 2**64:064b}" for value in (one, other)]
    return _in_64_bits(int("".join("01"[rule(a == "1", b == "1")] for a, b in zip(*bits, strict=True)), 2))


def _in_64_bits(value: int | float) -> int:
    return (int(value) + 2**63) % 2**64 - 2**63


def _places(places: CellValue) -> int:
    if not 0 <= _number(places) < 64:
        raise Fault("DL502", f"a shift by {places:,} places", "it goes from 0 to 63")
    return int(_number(places))


def _ipow(base: CellValue, exponent: CellValue) -> int:
    if _number(exponent) < 0:
        raise Fault("DL502", "a power of an int with a negative exponent", "pow(X, Y) gives a float")
    result, times = 1, int(_number(exponent))
    if base in (0, 1, -1):
        times = min(times, 2 + times % 2)
    for _ in range(times):
        result *= int(_number(base))
        checked_number(result)
    return result


_FUNCTIONS: Mapping[str, Callable[..., CellValue]] = {
    "abs": lambda x: abs(_number(x)),
    "floor": lambda x: math.floor(_number(x)),
    "ceil": lambda x: math.ceil(_number(x)),
    "round": _round,
    "sqrt": _of_real(math.sqrt),
    "exp": _of_real(math.exp),
    "log": _of_real(math.log),
    "pow": _of_real(math.pow),
    "least": _extreme(min),
    "greatest": _extreme(max),
    "cat": lambda *texts: "".join(_text(text) for text in texts),
    "len": lambda value: sum(1 for _ in (value if isinstance(value, tuple) else _text(value))),
    "list!": lambda *values: values,
    "member!": lambda value, values: value in values,
    "append": lambda values, value: values + (value,),  # noqa: RUF005, as plain as can be
    "prepend": lambda values, value: (value,) + values,  # noqa: RUF005
    "concat": lambda one, other: one + other,
    "nth": _nth,
    "substr": _substr,
    "lower": lambda text: _text(text).lower(),
    "upper": lambda text: _text(text).upper(),
    "contains": lambda text, part: _text(part) in _text(text),
    "starts_with": lambda text, prefix: _text(text).startswith(_text(prefix)),
    "matches": _matches,
    "trim": lambda text: _without_blanks(_text(text), left=True, right=True),
    "ltrim": lambda text: _without_blanks(_text(text), left=True, right=False),
    "rtrim": lambda text: _without_blanks(_text(text), left=False, right=True),
    "split": _split,
    "split_part": _part,
    "replace": lambda text, old, new: _text(new).join(_text(text).split(_text(old))) if old else _text(text),
    "ends_with": lambda text, suffix: (
        _text(text)[len(_text(text)) - len(_text(suffix)) :] == suffix
        if len(_text(suffix)) <= len(_text(text))
        else False
    ),
    "like!": _like,
    "index_of": lambda text, part: _text(text).index(_text(part)) if _text(part) in _text(text) else -1,
    "reverse": lambda text: "".join(reversed(_text(text))),
    "repeat": _repeat,
    "pad_left": lambda text, length, filling: _padding(text, length, filling) + text,
    "pad_right": lambda text, length, filling: text + _padding(text, length, filling),
    "regex_extract": _regex_extract,
    "regex_replace": _regex_replace,
    "band": lambda x, y: _of_bits(x, y, lambda one, other: one and other),
    "bor": lambda x, y: _of_bits(x, y, lambda one, other: one or other),
    "bxor": lambda x, y: _of_bits(x, y, lambda one, other: one != other),
    "bnot": lambda x: -_number(x) - 1,
    "shl": lambda x, places: _in_64_bits(_number(x) * 2 ** _places(places)),
    "shr": lambda x, places: _number(x) // 2 ** _places(places),
    "ipow": _ipow,
    "sign": lambda x: 0 if _number(x) == 0 else int(math.copysign(1, _number(x))),
    "to_string": _to_string,
    "to_number": _to_float,
    "int": _to_int,
    "float": _to_float,
    **{one.value: _compared(one) for one in ComparisonOperator},
    "in!": lambda value, *others: any(agrees(value, ComparisonOperator.EQUAL, one) for one in others),
    "not!": lambda value: value is False,
    "float!": _exactly_float,
    "int!": _exactly_int,
    "halves!": lambda upper, lower: _number(upper) * 2**32 + _number(lower),
    "string": _to_string,
    "encd": lambda first, second: (first, second),
    "decd_first": lambda pair: _pair(pair)[0],
    "decd_second": lambda pair: _pair(pair)[1],
}
