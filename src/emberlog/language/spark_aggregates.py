"""Builds the aggregates from Spark's own: what Spark computes of a group, and the value made of the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from emberlog.datatypes import BOOL, FLOAT, DataType
from emberlog.language.spark_columns import joined_halves, raise_fault
from emberlog.language.values import NOT_FINITE, OVERFLOW


@dataclass(frozen=True, slots=True)
class Arguments:
    """Holds the arguments of an aggregate, and the rules that a fault is blamed on."""

    columns: Sequence[Column]
    types: Sequence[DataType]
    rules: str | None


@dataclass(frozen=True, slots=True)
class Parts:
    """Holds aggregates that Spark knows, and how the value is made of their results."""

    columns: tuple[Column, ...]
    finish: Callable[[Sequence[Column]], Column]

    @staticmethod
    def whole(one: Column) -> Parts:
        """Returns an aggregate that Spark knows as it is."""
        return Parts((one,), lambda results: results[0])


def count(arguments: Arguments) -> Parts:
    return Parts.whole(F.count(arguments.columns[0] if arguments.columns else F.lit(1)))


def count_different(arguments: Arguments) -> Parts:
    return Parts.whole(F.count_distinct(arguments.columns[0]))


def smallest(arguments: Arguments) -> Parts:
    return Parts.whole(F.min(arguments.columns[0]))


def largest(arguments: Arguments) -> Parts:
    return Parts.whole(F.max(arguments.columns[0]))


def some(arguments: Arguments) -> Parts:
    return Parts.whole(F.bool_or(arguments.columns[0]))


def every(arguments: Arguments) -> Parts:
    return Parts.whole(F.bool_and(arguments.columns[0]))


def sorted_list(arguments: Arguments) -> Parts:
    return Parts.whole(F.sort_array(F.collect_list(arguments.columns[0])))


def total(arguments: Arguments) -> Parts:
    (argument,), (type_,) = arguments.columns, arguments.types
    if type_ == FLOAT:
        return Parts((F.sum(argument),), lambda results: _finite(results[0], arguments.rules))
    return _sum_of_ints(argument, raise_fault("DL502", OVERFLOW, arguments.rules))


def mean(arguments: Arguments) -> Parts:
    (argument,), (type_,) = arguments.columns, arguments.types
    if type_ == FLOAT:
        # Spark's own mean of floats goes on with an infinite sum.
        return Parts((F.sum(argument), F.count(argument)), lambda results: _mean(results, arguments.rules))
    high, low = _halves(argument)
    return Parts(
        (F.sum(high), F.sum(low), F.count(argument)),
        lambda results: F.try_divide(results[0] * F.lit(float(2**32)) + results[1], results[2]),
    )


def _mean(results: Sequence[Column], rules: str | None) -> Column:
    return F.try_divide(_finite(results[0], rules), results[1])


def _finite(result: Column, rules: str | None) -> Column:
    return F.nanvl((result + F.lit(0.0)) % F.lit(float("inf")), raise_fault("DL502", NOT_FINITE, rules))


def of_smallest_cost(arguments: Arguments) -> Parts:
    best = best_pair(arguments, is_largest=False)
    return Parts(best.columns, lambda results: best.finish(results)["value"])


def of_largest_cost(arguments: Arguments) -> Parts:
    best = best_pair(arguments, is_largest=True)
    return Parts(best.columns, lambda results: best.finish(results)["value"])


def best_pair(arguments: Arguments, *, is_largest: bool) -> Parts:
    """Returns the best `(cost, value)` as a struct; among equal costs the smallest value."""
    cost, value = arguments.columns
    is_there = cost.isNotNull() & value.isNotNull()
    if not is_largest:
        return Parts.whole(F.min(F.when(is_there, F.struct(cost.alias("cost"), value.alias("value")))))
    turned = _turned_round(cost, arguments.types[0])
    if turned is not None:
        pair = F.struct(turned.alias("turned"), value.alias("value"), cost.alias("cost"))
        return Parts.whole(F.min(F.when(is_there, pair)))
    # No order that is the other way round can be had cheaply for text and pairs.
    pairs = F.collect_set(F.when(is_there, F.struct(cost.alias("cost"), value.alias("value"))))
    highest = F.max(F.when(is_there, cost))
    return Parts(
        (pairs, highest),
        lambda results: F.array_min(F.filter(results[0], lambda pair: pair["cost"] == results[1])),
    )


def _turned_round(cost: Column, type_: DataType) -> Column | None:
    """Returns a column in whose order the largest cost comes first."""
    if type_.is_whole:
        return F.bitwise_not(cost)
    if type_ == FLOAT:
        return -cost
    return ~cost if type_ == BOOL else None


def _halves(argument: Column) -> tuple[Column, Column]:
    """Returns an int as `high * 2**32 + low`, so that sums of each half cannot overflow on the way."""
    return F.shiftright(argument, 32), argument.bitwiseAND(F.lit(2**32 - 1))


def _sum_of_ints(argument: Column, overflow: Column) -> Parts:
    """Returns the exact sum, whatever the order; a fault only where the sum itself does not fit."""
    high, low = _halves(argument)

    def finish(results: Sequence[Column]) -> Column:
        sum_, fits = joined_halves(results[0], results[1])
        return F.when(fits, sum_).when(~fits, overflow)

    return Parts((F.sum(high), F.sum(low)), finish)
