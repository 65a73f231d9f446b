"""Defines the functions of ints: their bits, as 64 of them in two's complement, their powers and their signs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from emberlog.datatypes import INT, INT_MAX
from emberlog.language.entry import NUMBER, Constants, Function, Types, always, sometimes
from emberlog.language.faults import Fault
from emberlog.language.values import OVERFLOW, CellValue, in_range, kind_of, number

if TYPE_CHECKING:
    from emberlog.language.entry import Bad, Vector
    from emberlog.language.spark_columns import Scope, Typed

WIDTH = 64


def _whole(value: CellValue) -> int:
    if type(value) is int:
        return value
    raise Fault("DL403", f"{kind_of(value)} is not an int")


def _ints(function: Callable[..., int]) -> Callable[..., CellValue]:
    return lambda *values: in_range(function(*map(_whole, values)))


def _shift_left(value: int, places: int) -> int:
    bits: int = (value << _places(places)) & (2**WIDTH - 1)
    return bits - 2**WIDTH if bits > INT_MAX else bits


def _shift_right(value: int, places: int) -> int:
    return value >> _places(places)


def _places(places: int) -> int:
    if 0 <= places < WIDTH:
        return places
    raise Fault("DL502", f"a shift by {places:,} places", "it goes from 0 to 63")


def _power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise Fault("DL502", "a power of an int with a negative exponent", "pow(X, Y) gives a float")
    if abs(base) > 1 and exponent > WIDTH:
        raise Fault("DL502", OVERFLOW, "pow(X, Y) gives a float")
    power: int = base ** (exponent % 2 if base == -1 else exponent)
    return power


# --- vectors --------------------------------------------------------------------------------------------------------


def _of_bits(function: Callable[..., Any]) -> Callable[..., tuple[Vector, Bad]]:
    return lambda *values: (function(*values), None)


def _shifted(function: Callable[[Any, Any], Any]) -> Callable[..., tuple[Vector, Bad]]:
    def shifted(values: Vector, places: Vector) -> tuple[Vector, Bad]:
        import numpy as np

        bad = (places < 0) | (places >= WIDTH)
        return function(values, np.where(bad, 0, places)), bad if bad.any() else None

    return shifted


def _sign_vector(values: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    return np.sign(values).astype(np.int64), None


# --- columns of Spark -----------------------------------------------------------------------------------------------


def _bit_column(name: str) -> Callable[[Scope, list[Typed]], Typed]:
    def compiled(_scope: Scope, operands: list[Typed]) -> Typed:
        from emberlog.language import spark_columns as spark

        first, *others = operands
        return spark.from_operands(getattr(first.column, name)(*(one.column for one in others)), INT, operands)

    return compiled


def _not_column(_scope: Scope, operands: list[Typed]) -> Typed:
    from pyspark.sql import functions as F

    from emberlog.language import spark_columns as spark

    return spark.from_operands(F.bitwise_not(operands[0].column), INT, operands)


def _shift_column(name: str) -> Callable[[Scope, list[Typed]], Typed]:
    def compiled(scope: Scope, operands: list[Typed]) -> Typed:
        from pyspark.sql import functions as F

        from emberlog.language import spark_columns as spark

        value, places = scope.held(operands[0]), scope.held(operands[1])
        fits = (places.column >= 0) & (places.column < WIDTH)
        shifted = F.call_function(name, value.column, F.when(fits, places.column).cast("int"))
        check = spark.Check(
            ~fits, "DL502", f" places is no shift: it goes from 0 to {WIDTH - 1}", places.column.cast("string")
        )
        return spark.opened(shifted, INT, [value, places], check, conditions=1)

    return compiled


def _sign_column(_scope: Scope, operands: list[Typed]) -> Typed:
    from pyspark.sql import functions as F

    from emberlog.language import spark_columns as spark

    return spark.from_operands(F.signum(operands[0].value_or_null).cast("long"), INT, operands)


# --- the entries ----------------------------------------------------------------------------------------------------


def _shift_fails(_types: Types, constants: Constants) -> bool:
    places = constants[1]
    return not (isinstance(places, int) and 0 <= places < WIDTH)


def _bits(name: str, meaning: str, function: Callable[..., int], spark: str) -> Function:
    return Function(
        name=name,
        parameters=(INT, INT),
        result=always(INT),
        signature=f"{name}(X, Y)",
        meaning=meaning,
        python=_ints(function),
        vector=_of_bits(function),
        spark=_bit_column(spark),
        commutative=True,
    )


def _shift(name: str, meaning: str, function: Callable[[int, int], int], vector: Any, spark: str) -> Function:
    return Function(
        name=name,
        parameters=(INT, INT),
        result=always(INT),
        signature=f"{name}(X, N)",
        meaning=meaning,
        python=_ints(function),
        vector=_shifted(vector),
        spark=_shift_column(spark),
        fails=_shift_fails,
    )


FUNCTIONS = (
    _bits("band", "the bits that both have", operator.and_, "bitwiseAND"),
    _bits("bor", "the bits that one of them has", operator.or_, "bitwiseOR"),
    _bits("bxor", "the bits that only one of them has", operator.xor, "bitwiseXOR"),
    Function(
        name="bnot",
        parameters=(INT,),
        result=always(INT),
        signature="bnot(X)",
        meaning="the bits that X has not",
        python=_ints(operator.invert),
        vector=_of_bits(operator.invert),
        spark=_not_column,
    ),
    _shift(
        "shl",
        "the bits of X, N places to the left, from 0 to 63; those that fall out are lost",
        _shift_left,
        operator.lshift,
        "shiftleft",
    ),
    _shift("shr", "the bits of X, N places to the right; the sign stays", _shift_right, operator.rshift, "shiftright"),
    Function(
        name="ipow",
        parameters=(INT, INT),
        result=always(INT),
        signature="ipow(X, N)",
        meaning="X to the power N, which is not negative, as an int",
        python=_ints(_power),
        fails=sometimes,
    ),
    Function(
        name="sign",
        parameters=(NUMBER,),
        result=always(INT),
        signature="sign(X)",
        meaning="-1, 0 or 1: whether X is below, at or above zero",
        python=lambda value: (number(value) > 0) - (number(value) < 0),
        vector=_sign_vector,
        spark=_sign_column,
        rises=True,
        keeps_sign=True,
    ),
)
