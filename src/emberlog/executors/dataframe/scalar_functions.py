"""The scalar functions of the language, each as a column made of its arguments' columns.

Every function gives null when an argument is null, and only then, which `Typed.leaves` records. Functions of numbers
take open operands and give open results; the others close theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, TIMESTAMP, UNKNOWN, DataType, join_types, pair_of
from emberlog.diagnostics import fail
from emberlog.executors.dataframe.python_functions import float_text_udf, rounding_udf
from emberlog.executors.dataframe.scope import OVERFLOW, Scope, Typed, arithmetic, from_operands, leaves_of, no_nulls
from emberlog.io.arrow_values import FIRST, SECOND

ScalarCompiler: TypeAlias = Callable[[Scope, list[Typed]], Typed]

_INT_TEXT = r"(?U)\A\s*[+-]?[0-9]+\s*\z"
_FLOAT_TEXT = r"(?U)\A\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*\z"
_PYTHON_LIKE = "(?dU)"
"""Makes Java read a pattern as Python does: a dot stops at line feeds only, and \\w, \\d and \\s know Unicode."""

_BEYOND_INTS = float(2**63)


# --- numbers --------------------------------------------------------------------------------------------------------


def _abs(scope: Scope, arguments: list[Typed]) -> Typed:
    one = scope.bound(arguments[0])
    if one.type == FLOAT:
        return from_operands(F.abs(one.column), FLOAT, [one])
    return arithmetic(F.try_multiply(one.column, F.signum(one.column).cast("long")), INT, [one])


def _to_neighbour(function: Callable[[Column], Column]) -> ScalarCompiler:
    """`floor` and `ceil`, which in Spark stop at the last int without a word."""

    def compiled(scope: Scope, arguments: list[Typed]) -> Typed:
        one = scope.bound(arguments[0])
        if one.type == INT:
            return one
        is_outside = (one.column >= F.lit(_BEYOND_INTS)) | (one.column < F.lit(-_BEYOND_INTS))
        column = F.when(is_outside, scope.fault("DL502", OVERFLOW)).otherwise(function(one.column))
        return from_operands(column, INT, [one], conditions=1)

    return compiled


def _round(scope: Scope, arguments: list[Typed]) -> Typed:
    one, *digits = arguments
    if not digits:
        return one if one.type == INT else arithmetic(F.round(one.column).try_cast("long"), INT, [one])
    places = digits[0].constant
    if isinstance(places, int):  # no float has digits beyond these places
        return arithmetic(F.round(one.as_float(), max(-400, min(400, places))), FLOAT, [one])
    number, places_wanted = scope.closed(one), scope.closed(digits[0])
    rounded = rounding_udf()(number.as_float(), places_wanted.column)
    return arithmetic(rounded, FLOAT, [number, places_wanted])


def _of_reals(function: Callable[..., Column]) -> ScalarCompiler:
    """A function of floats; where Spark gives null there is no finite value either."""

    def compiled(_scope: Scope, arguments: list[Typed]) -> Typed:
        return arithmetic(function(*(argument.as_float() for argument in arguments)), FLOAT, arguments)

    return compiled


def _pow(scope: Scope, arguments: list[Typed]) -> Typed:
    """A number that is none to the power 0 is 1, so the operands have to be numbers first."""
    return _of_reals(F.pow)(scope, [scope.closed(argument) for argument in arguments])


def _extreme(function: Callable[..., Column]) -> ScalarCompiler:
    """`least` and `greatest`, which in Spark pass over nulls."""

    def compiled(scope: Scope, arguments: list[Typed]) -> Typed:
        closed = [scope.closed(argument) for argument in arguments]
        type_ = UNKNOWN
        for argument in closed:
            type_ = join_types(type_, argument.type) or UNKNOWN
        result = function(*(argument.converted(type_) for argument in closed))
        return from_operands(F.when(no_nulls(leaves_of(closed)), result), type_, closed, conditions=1)

    return compiled


# --- text -----------------------------------------------------------------------------------------------------------


def _of_text(function: Callable[..., Column], result: DataType) -> ScalarCompiler:
    def compiled(scope: Scope, arguments: list[Typed]) -> Typed:
        closed = [scope.closed(argument) for argument in arguments]
        return from_operands(function(*(argument.column for argument in closed)), result, closed)

    return compiled


def _length(text: Column) -> Column:
    return F.length(text).cast("long")


def _substr(scope: Scope, arguments: list[Typed]) -> Typed:
    text, start, length = scope.closed(arguments[0]), scope.bound(arguments[1]), scope.bound(arguments[2])
    # No text is longer than this, and the sum of two such numbers still fits.
    first, count = (_clamped(one.column, 2**31 - 2) for one in (start, length))
    behind = F.greatest(first + count, F.lit(0))
    first = F.greatest(first, F.lit(0))
    taken = F.greatest(behind - first, F.lit(0))
    part = F.substring(text.column, (first + 1).cast("int"), _clamped(taken, 2**31 - 2).cast("int"))
    operands = [text, start, length]
    return from_operands(F.when(no_nulls(leaves_of(operands)), part), STRING, operands, conditions=1)


def _clamped(column: Column, limit: int) -> Column:
    return F.least(F.greatest(column, F.lit(-limit).cast("long")), F.lit(limit).cast("long"))


def _matches(text: Column, pattern: Column) -> Column:
    return F.rlike(text, F.concat(F.lit(rf"{_PYTHON_LIKE}\A(?:"), pattern, F.lit(r")\z")))


# --- conversions ----------------------------------------------------------------------------------------------------


def _to_string(scope: Scope, arguments: list[Typed]) -> Typed:
    one = scope.bound(arguments[0])
    return from_operands(_text_of(one.column, one.type), STRING, [one])


def _text_of(column: Column, type_: DataType) -> Column:
    if type_ == FLOAT:
        return float_text_udf()(column)
    if type_.name == "pair":
        first, second = type_.parts
        parts = _text_of(column[FIRST], first), F.lit(", "), _text_of(column[SECOND], second)
        return F.concat(F.lit("("), *parts, F.lit(")"))
    if type_.name == "list":
        element = type_.parts[0]
        if element == FLOAT:  # Spark calls no Python function inside a list
            raise fail("DL403", "a list of floats has no text on Spark", None, "collect<to_string(X)> has")
        texts = F.transform(column, lambda item: _text_of(item, element))
        return F.concat(F.lit("("), F.array_join(texts, ", "), F.lit(")"))
    return column.cast("string")


def _to_float(scope: Scope, arguments: list[Typed]) -> Typed:
    (one,) = arguments
    if one.type == FLOAT:
        return one
    if one.type == INT:
        return replace(one, column=one.column.cast("double"), type=FLOAT, is_simple=False, constant=None)
    one = scope.bound(one)
    if one.type == BOOL:
        return from_operands(one.column.cast("double"), FLOAT, [one])
    return arithmetic(_read(scope, one, _FLOAT_TEXT, "double", '" is not a number'), FLOAT, [one])


def _to_int(scope: Scope, arguments: list[Typed]) -> Typed:
    (one,) = arguments
    if one.type == INT:
        return one
    if one.type == FLOAT:
        return arithmetic(one.column.try_cast("long"), INT, [one])
    one = scope.bound(one)
    if one.type in (BOOL, TIMESTAMP):
        return from_operands(one.column.cast("long"), INT, [one])
    return arithmetic(_read(scope, one, _INT_TEXT, "long", '" is not an int'), INT, [one])


def _read(scope: Scope, text: Typed, pattern: str, spark_type: str, complaint: str) -> Column:
    """The number that a text spells; null if it is out of range."""
    if text.type not in (STRING, UNKNOWN):
        raise fail("DL403", f"a {text.type} is not a number")
    fault = scope.fault("DL503", complaint, F.concat(F.lit('"'), text.column))
    return F.when(~F.rlike(text.column, F.lit(pattern)), fault).otherwise(text.column.try_cast(spark_type))


# --- pairs ----------------------------------------------------------------------------------------------------------


def _encd(scope: Scope, arguments: list[Typed]) -> Typed:
    first, second = operands = [scope.closed(argument) for argument in arguments]
    pair = F.struct(first.column.alias(FIRST), second.column.alias(SECOND))
    type_ = pair_of(first.type, second.type)
    return from_operands(F.when(no_nulls(leaves_of(operands)), pair), type_, operands, conditions=1)


def _decd(part: int) -> ScalarCompiler:
    def compiled(_scope: Scope, arguments: list[Typed]) -> Typed:
        (pair,) = arguments
        if pair.type.name != "pair":
            raise fail("DL403", f"a {pair.type} is not a pair made by encd")
        return from_operands(pair.column[(FIRST, SECOND)[part]], pair.type.parts[part], [pair])

    return compiled


BUILT_IN_FUNCTIONS: dict[str, ScalarCompiler] = {
    "abs": _abs,
    "floor": _to_neighbour(F.floor),
    "ceil": _to_neighbour(F.ceil),
    "round": _round,
    "sqrt": _of_reals(F.sqrt),
    "exp": _of_reals(F.exp),
    "log": _of_reals(F.ln),
    "pow": _pow,
    "least": _extreme(F.least),
    "greatest": _extreme(F.greatest),
    "cat": _of_text(F.concat, STRING),
    "len": _of_text(_length, INT),
    "substr": _substr,
    "lower": _of_text(F.lower, STRING),
    "upper": _of_text(F.upper, STRING),
    "contains": _of_text(F.contains, BOOL),
    "starts_with": _of_text(F.startswith, BOOL),
    "matches": _of_text(_matches, BOOL),
    "to_string": _to_string,
    "to_number": _to_float,
    "int": _to_int,
    "float": _to_float,
    "string": _to_string,
    "encd": _encd,
    "decd_first": _decd(0),
    "decd_second": _decd(1),
}
