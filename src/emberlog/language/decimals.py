"""Defines what decimals come to: ints that stand for themselves divided by a power of ten, which the type tells.

Sums of one scale, products, and what is smaller need nothing but the ints. Everything else the type checker writes out
with the functions below, to which it gives the powers of ten as constants: 100 for a scale of 2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from emberlog.datatypes import FLOAT, INT, INT_MAX, INT_MIN, STRING, UNKNOWN, DataType
from emberlog.language.conversions import BLANKS
from emberlog.language.entry import ANY, NUMBER, Function, Types, always, never, sometimes
from emberlog.language.faults import Fault
from emberlog.language.numbers import multiply_vectors
from emberlog.language.spellings import LARGEST_SCALE
from emberlog.language.values import CellValue

if TYPE_CHECKING:
    from emberlog.language.entry import Bad, Vector
    from emberlog.language.spark_columns import Scope, Typed

TOO_LARGE = "the decimal does not fit in 64 bits"
MORE_DIGITS = "the decimal has more digits than the column"
TRUNCATED, FLOOR, CEIL, ROUNDED = range(4)
"""How a decimal becomes an int."""

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?"
_EXACT = Context(prec=900)


# --- plain Python ---------------------------------------------------------------------------------------------------


def _fits(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise Fault("DL502", TOO_LARGE, "decimal(X, S) takes a smaller scale, and float(X) is a float")


def half_up(numerator: int, denominator: int) -> int:
    """Returns the nearest int to a fraction, halves away from zero."""
    size = (2 * abs(numerator) + denominator) // (2 * denominator)
    return size if numerator >= 0 else -size


def _whole(value: int, factor: int, how: int) -> int:
    if how == FLOOR:
        return value // factor
    if how == CEIL:
        return -(-value // factor)
    return half_up(value, factor) if how == ROUNDED else math.trunc(Fraction(value, factor))


def _order(left: Any, left_factor: int, right: Any, right_factor: int) -> int:
    one, other = Fraction(left) * right_factor, Fraction(right) * left_factor
    return (one > other) - (one < other)


def _unscaled(value: int, factor: int) -> int:
    if value % factor:
        raise Fault("DL506", MORE_DIGITS)
    return value // factor


def decimal_literal(value: CellValue, scale: int | None = None) -> tuple[int, int] | None:
    """Returns a number as it is written as a decimal, of the scale that it has or is to have: its int, and its scale.
    None if it has more digits, or does not fit."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = Decimal(repr(value)).normalize()
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    own = max(0, -exponent)
    scale = own if scale is None else scale
    if own > scale or scale > LARGEST_SCALE or len(digits) + exponent > 19:
        return None
    found = int(number.scaleb(scale, context=_EXACT))
    return (found, scale) if INT_MIN <= found <= INT_MAX else None


def _decimal(value: CellValue, factor: int, target: int) -> int:
    if isinstance(value, str):
        text = value.strip(BLANKS)
        if not re.fullmatch(_NUMBER, text):
            raise Fault("DL503", f'"{value}" is not a number')
        found = Decimal(text)
        if found.adjusted() > 30:
            raise Fault("DL502", TOO_LARGE)
        value = _rounded(found, target)
    elif isinstance(value, float):
        value = _rounded(Decimal(repr(value)), target)
    else:
        assert isinstance(value, int)
        value = half_up(value * target, factor)
    return _fits(value)


def _not_called(*_values: CellValue) -> CellValue:
    """Has no value: the type checker writes `decimal!` in the place of `decimal`, with powers of ten."""
    raise Fault("DL503", "only the types tell what becomes of the number")


def _rounded(value: Decimal, target: int) -> int:
    return int((value * target).quantize(Decimal(1), rounding=ROUND_HALF_UP, context=_EXACT)) if value else 0


# --- vectors and columns of Spark -----------------------------------------------------------------------------------


def _scaled_columns(_scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.arithmetic_of("try_multiply", operands, operands[1].type)


def _float_vectors(values: Vector, factors: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    result = values.astype(np.float64) / factors.astype(np.float64)
    # One rounding is exact; where the ints themselves would be rounded, Python divides.
    far = np.flatnonzero((np.abs(values) > 2**53) | (values == INT_MIN))
    if len(far):
        result[far] = [a / b for a, b in zip(values[far].tolist(), factors[far].tolist(), strict=True)]
    return result, None


def _unscaled_columns(scope: Scope, operands: list[Typed]) -> Typed:
    from pyspark.sql import functions as F

    from emberlog.language import spark_columns as spark

    value, factor = scope.bound(operands[0]), operands[1]
    is_whole = value.column % factor.column == 0
    number = F.when(is_whole, F.call_function("div", value.column, factor.column))
    return spark.opened(
        number, factor.type, [value, factor], spark.Check(~is_whole, "DL506", MORE_DIGITS), conditions=1
    )


def _decimal_columns(scope: Scope, operands: list[Typed]) -> Typed:
    from pyspark.sql import functions as F

    from emberlog.language import spark_columns as spark

    held = [scope.held(operands[0]), *operands[1:]]
    made = spark.through_python(scope, DECIMAL_OF, held)
    if held[0].type != STRING:
        return made
    spells = F.rlike(held[0].column, F.lit(rf"\A[ \t\n\r\f\x0b]*{_NUMBER}[ \t\n\r\f\x0b]*\z"))
    shown = F.concat(F.lit('"'), held[0].column)
    check = spark.Check(made.column.isNull() & ~spells, "DL503", '" is not a number', shown)
    return replace(made, checks=(*made.checks, check))


# --- the entries ----------------------------------------------------------------------------------------------------


def _entry(
    name: str, parameters: tuple[DataType, ...], meaning: str, python: Callable[..., Any], **rest: Any
) -> Function:
    rest.setdefault("signature", f"{name}({', '.join('XYZW'[: len(parameters)])})")
    return Function(name=name, parameters=parameters, meaning=meaning, python=python, **rest)


def _last(types: Types) -> DataType:
    return types[-1]


SCALED = _entry(
    "scaled!",
    (INT, INT),
    "a number as a decimal of a larger scale: the number times a power of ten, of whose type it becomes",
    lambda value, factor: _fits(value * factor),
    result=_last,
    vector=multiply_vectors,
    spark=_scaled_columns,
    fails=sometimes,
    leaves_range=True,
    rises=True,
    keeps_sign=True,
)
NEAREST_FLOAT = _entry(
    "float_of!",
    (INT, INT),
    "the float that is nearest to a decimal",
    lambda value, factor: value / factor,
    result=always(FLOAT),
    vector=_float_vectors,
    fails=never,
    rises=True,
    keeps_sign=True,
)
WHOLE = _entry(
    "whole!",
    (INT, INT, INT),
    "a decimal as an int: without its fraction, or the next one below, above, or nearest",
    _whole,
    result=always(INT),
    fails=never,
    rises=True,
    keeps_sign=True,
)
ORDER = _entry(
    "order!",
    (NUMBER, INT, NUMBER, INT),
    "-1, 0 or 1 for a number that is less than, equal to or greater than another, each divided by a power of ten",
    _order,
    result=always(INT),
    fails=never,
)
DECIMAL_OF = _entry(
    "decimal!",
    (ANY, INT, INT),
    "the nearest decimal, of the type of the last power of ten, to a number or the number that a text spells",
    _decimal,
    result=_last,
    spark=_decimal_columns,
    fails=sometimes,
    rises=True,
    keeps_sign=True,
)
UNSCALED = _entry(
    "unscaled!",
    (INT, INT),
    "the number of a smaller scale that is equal to a decimal, of the type of the power of ten",
    _unscaled,
    result=_last,
    spark=_unscaled_columns,
    fails=sometimes,
    rises=True,
    keeps_sign=True,
)
INTERNAL = (SCALED, UNSCALED, NEAREST_FLOAT, WHOLE, ORDER, DECIMAL_OF)
"""What the type checker writes, and programs cannot."""

DECIMAL = _entry(
    "decimal",
    (ANY, INT),
    f"X as a decimal with S digits behind the point, a constant up to {LARGEST_SCALE}; halves go away from zero, and "
    "text is read exactly",
    _not_called,
    result=always(UNKNOWN),
    fails=sometimes,
    signature="decimal(X, S)",
)
FUNCTIONS = (DECIMAL,)
