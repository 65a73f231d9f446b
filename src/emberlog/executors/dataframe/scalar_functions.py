"""The scalar functions of the language, each as a column made of its arguments' columns.

Every function gives null when an argument is null, and only then, which `Typed.leaves` records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F

from emberlog.datatypes import BOOL, FLOAT, INT, INT_MIN, STRING, TIMESTAMP, UNKNOWN, DataType, join_types, pair_of
from emberlog.diagnostics import fail
from emberlog.executors.dataframe.python_functions import float_text_udf, rounding_udf
from emberlog.executors.dataframe.scope import OVERFLOW, Scope, Typed, leaves_of, no_nulls
from emberlog.io.spark_types import FIRST, SECOND

ScalarCompiler: TypeAlias = Callable[[Scope, list[Typed]], Typed]

_INT_TEXT = r"(?U)\A\s*[+-]?[0-9]+\s*\z"
_FLOAT_TEXT = r"(?U)\A\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*\z"
_PYTHON_LIKE = "(?dU)"
"""Makes Java read a pattern as Python does: a dot stops at line feeds only, and \\w, \\d and \\s know Unicode."""

_BEYOND_INTS = float(2**63)


# --- numbers --------------------------------------------------------------------------------------------------------


def _abs(scope: Scope, arguments: list[Typed]) -> Typed:
    (one,) = arguments
    if one.type == FLOAT:
        return one.derived(F.abs(one.column), FLOAT)
    one = scope.bound(one)
    overflow = scope.fault("DL502", OVERFLOW)
    return one.derived(F.when(one.column == F.lit(INT_MIN), overflow).otherwise(F.abs(one.column)), INT)


def _to_neighbour(function: Callable[[Column], Column]) -> ScalarCompiler:
    """`floor` and `ceil`, which in Spark stop at the last int without a word."""

    def compiled(scope: Scope, arguments: list[Typed]) -> Typed:
        one = scope.bound(arguments[0])
        if one.type == INT:
            return one
        is_outside = (one.column >= F.lit(_BEYOND_INTS)) | (one.column < F.lit(-_BEYOND_INTS))
        return one.derived(F.when(is_outside, scope.fault("DL502", OVERFLOW)).otherwise(function(one.column)), INT)

    return compiled


def _round(scope: Scope, arguments: list[Typed]) -> Typed:
    one, *digits = arguments
    if digits:
        places = digits[0].constant
        if isinstance(places, int):  # no float has digits beyond these places
            rounded = F.round(one.as_float(), max(-400, min(400, places)))
        else:
            rounded = rounding_udf()(one.as_float(), digits[0].column)
        return scope.finite(Typed(rounded, FLOAT, leaves_of(arguments)))
    return one if one.type == INT else _truncated(scope, one.derived(F.round(one.column), FLOAT))


def _truncated(scope: Scope, one: Typed) -> Typed:
    return scope.or_fault(one.derived(one.column.try_cast("long"), INT), "DL502", OVERFLOW)


def _of_reals(function: Callable[..., Column]) -> ScalarCompiler:
    """A function of floats; where Spark gives null there is no finite value either."""

    def compiled(scope: Scope, arguments: list[Typed]) -> Typed:
        result = function(*(argument.as_float() for argument in arguments))
        typed = Typed(result, FLOAT, leaves_of(arguments))
        return scope.finite(scope.or_fault(typed, "DL502", "the result is not a finite number"))

    return compiled


def _extreme(function: Callable[..., Column]) -> ScalarCompiler:
    """`least` and `greatest`, which in Spark pass over nulls."""

    def compiled(_scope: Scope, arguments: list[Typed]) -> Typed:
        type_ = UNKNOWN
        for argument in arguments:
            type_ = join_types(type_, argument.type) or UNKNOWN
        leaves = leaves_of(arguments)
        result = function(*(argument.converted(type_) for argument in arguments))
        return Typed(F.when(no_nulls(leaves), result), type_, leaves)

    return compiled


# --- text -----------------------------------------------------------------------------------------------------------


def _of_text(function: Callable[..., Column], result: DataType) -> ScalarCompiler:
    def compiled(_scope: Scope, arguments: list[Typed]) -> Typed:
        return Typed(function(*(argument.column for argument in arguments)), result, leaves_of(arguments))

    return compiled


def _length(text: Column) -> Column:
    return F.length(text).cast("long")


def _substr(scope: Scope, arguments: list[Typed]) -> Typed:
    text, start, length = arguments[0], scope.bound(arguments[1]), scope.bound(arguments[2])
    # No text is longer than this, and the sum of two such numbers still fits.
    first, count = (_clamped(one.column, 2**31 - 2) for one in (start, length))
    behind = F.greatest(first + count, F.lit(0))
    first = F.greatest(first, F.lit(0))
    taken = F.greatest(behind - first, F.lit(0))
    part = F.substring(text.column, (first + 1).cast("int"), _clamped(taken, 2**31 - 2).cast("int"))
    return Typed(F.when(no_nulls(leaves_of(arguments)), part), STRING, leaves_of(arguments))


def _clamped(column: Column, limit: int) -> Column:
    return F.least(F.greatest(column, F.lit(-limit).cast("long")), F.lit(limit).cast("long"))


def _matches(text: Column, pattern: Column) -> Column:
    return F.rlike(text, F.concat(F.lit(rf"{_PYTHON_LIKE}\A(?:"), pattern, F.lit(r")\z")))


# --- conversions ----------------------------------------------------------------------------------------------------


def _to_string(_scope: Scope, arguments: list[Typed]) -> Typed:
    (one,) = arguments
    return one.derived(_text_of(one.column, one.type), STRING)


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
    one = scope.bound(arguments[0])
    if one.type in (INT, BOOL, FLOAT):
        return one.derived(one.column.cast("double"), FLOAT)
    _check_is_text(one)
    fault = scope.fault("DL503", '" is not a number', F.concat(F.lit('"'), one.column))
    number = F.when(~F.rlike(one.column, F.lit(_FLOAT_TEXT)), fault).otherwise(one.column.try_cast("double"))
    return scope.finite(one.derived(number, FLOAT))


def _to_int(scope: Scope, arguments: list[Typed]) -> Typed:
    one = scope.bound(arguments[0])
    if one.type in (INT, TIMESTAMP):
        return one.derived(one.column, INT)
    if one.type == BOOL:
        return one.derived(one.column.cast("long"), INT)
    if one.type == FLOAT:
        return _truncated(scope, one)
    _check_is_text(one)
    fault = scope.fault("DL503", '" is not an int', F.concat(F.lit('"'), one.column))
    number = F.when(~F.rlike(one.column, F.lit(_INT_TEXT)), fault).otherwise(one.column.try_cast("long"))
    return scope.or_fault(one.derived(number, INT), "DL502", OVERFLOW)


def _check_is_text(one: Typed) -> None:
    if one.type not in (STRING, UNKNOWN):
        raise fail("DL403", f"a {one.type} is not a number")


# --- pairs ----------------------------------------------------------------------------------------------------------


def _encd(_scope: Scope, arguments: list[Typed]) -> Typed:
    first, second = arguments
    leaves = leaves_of(arguments)
    pair = F.struct(first.column.alias(FIRST), second.column.alias(SECOND))
    return Typed(F.when(no_nulls(leaves), pair), pair_of(first.type, second.type), leaves)


def _decd(part: int) -> ScalarCompiler:
    def compiled(_scope: Scope, arguments: list[Typed]) -> Typed:
        (pair,) = arguments
        if pair.type.name != "pair":
            raise fail("DL403", f"a {pair.type} is not a pair made by encd")
        return pair.derived(pair.column[(FIRST, SECOND)[part]], pair.type.parts[part])

    return compiled


BUILT_IN_FUNCTIONS: dict[str, ScalarCompiler] = {
    "abs": _abs,
    "floor": _to_neighbour(F.floor),
    "ceil": _to_neighbour(F.ceil),
    "round": _round,
    "sqrt": _of_reals(F.sqrt),
    "exp": _of_reals(F.exp),
    "log": _of_reals(F.ln),
    "pow": _of_reals(F.pow),
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
