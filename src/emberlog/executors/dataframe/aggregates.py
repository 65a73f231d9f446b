"""Aggregates of groups, with the language's meaning of nulls, ties and overflow.

An aggregate is computed in two steps: Spark's own aggregates over the group (`parts`), and an expression over their
results (`finish`). `mcount` and `msum` need a grouping of their own, by group and key, before the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from emberlog.datatypes import BOOL, FLOAT, INT, TIMESTAMP, DataType
from emberlog.diagnostics import InternalError
from emberlog.executors.dataframe.columns import column, spark_name
from emberlog.executors.dataframe.faults import raise_fault
from emberlog.executors.dataframe.python_functions import aggregate_udf
from emberlog.executors.dataframe.scope import NOT_FINITE, OVERFLOW
from emberlog.logical.nodes import AggregateColumn
from emberlog.semantics.functions import Functions

COUNTS = frozenset({"count", "countd", "mcount"})
"""The aggregates with a value for a group without rows: 0."""

KEYED = frozenset({"mcount", "msum"})
"""Per key the largest value counts, and then the values of all keys are added."""


_ROWS_NAME = "its rows"
"""No variable has a name with a space in Spark, so such names are free for what is only needed on the way."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Aggregates that Spark knows, and the value made of their results."""

    columns: tuple[Column, ...]
    finish: Callable[[Sequence[Column]], Column]

    @staticmethod
    def whole(one: Column) -> Parts:
        """An aggregate that Spark knows as it is."""
        return Parts((one,), lambda results: results[0])


class Aggregator:
    """Computes the aggregates of a plan's node or of a recursive relation."""

    def __init__(
        self,
        keys: Sequence[str],
        aggregates: Sequence[AggregateColumn],
        functions: Functions,
        rules: str | None,
        flags: Sequence[str] = (),
    ) -> None:
        self.keys = [spark_name(key) for key in keys]
        self.aggregates = aggregates
        self.functions = functions
        self.rules = rules
        self.flags = list(flags)
        """Truth columns of the frame that are to be kept: true for a group that has a row where they are."""

    def combine(self, frame: DataFrame, types: Mapping[str, DataType]) -> DataFrame:
        """One row per group: the keys, the aggregates, the flags. `types` are those of the frame's columns."""
        plain = [one for one in self.aggregates if one.function not in KEYED]
        keyed = [one for one in self.aggregates if one.function in KEYED]
        frames = [self._plain(frame, plain, types)] if plain or self.flags or not keyed else []
        frames += [self._keyed(frame, one, types) for one in keyed]
        combined = self._side_by_side(frames)
        return combined.select(*self.keys, *(spark_name(one.field.name) for one in self.aggregates), *self.flags)

    def _plain(
        self, frame: DataFrame, aggregates: Sequence[AggregateColumn], types: Mapping[str, DataType]
    ) -> DataFrame:
        columns = [F.bool_or(flag).alias(flag) for flag in self.flags]
        finished = [F.col(flag) for flag in self.flags]
        for index, one in enumerate(aggregates):
            parts = self._parts(one, types)
            names = [f"part {index} {number}" for number in range(len(parts.columns))]
            columns += [part.alias(name) for part, name in zip(parts.columns, names, strict=True)]
            finished.append(parts.finish([F.col(name) for name in names]).alias(spark_name(one.field.name)))
        if not self.keys and any(one.function not in COUNTS for one in self.aggregates):
            # Without keys Spark gives a row for no rows at all, which only counts should.
            return frame.agg(*columns, row_count()).where(has_rows()).select(*finished)
        grouped = frame.groupBy(*self.keys).agg(*columns) if columns else frame.select(*self.keys).distinct()
        return grouped.select(*self.keys, *finished)

    def _keyed(self, frame: DataFrame, one: AggregateColumn, types: Mapping[str, DataType]) -> DataFrame:
        """`mcount` or `msum` alone. A group whose contributions are all null stays, with 0 or null."""
        key, value, value_type = keyed_arguments(one, types)
        checked = not_negative(value, one.function, self.rules)
        contributed = F.when(key.isNotNull(), checked)
        largest = frame.groupBy(*self.keys, key.alias("its key")).agg(F.max(contributed).alias("its value"))
        parts = self._sum(F.col("its value"), value_type)
        names = [f"part {number}" for number in range(len(parts.columns))]
        sums = [part.alias(name) for part, name in zip(parts.columns, names, strict=True)]
        summed = parts.finish([F.col(name) for name in names])
        if one.function == "mcount":
            summed = F.coalesce(summed, F.lit(0).cast("long") if value_type == INT else F.lit(0.0))
        grouped = largest.groupBy(*self.keys).agg(*sums, row_count())
        if not self.keys and any(other.function not in COUNTS for other in self.aggregates):
            grouped = grouped.where(has_rows())
        return grouped.select(*self.keys, summed.alias(spark_name(one.field.name)))

    def _side_by_side(self, frames: Sequence[DataFrame]) -> DataFrame:
        """The frames, which have the same keys, as one. A null key is a key like any other."""
        combined = frames[0]
        for number, frame in enumerate(frames[1:]):
            if not self.keys:
                combined = combined.crossJoin(frame)
                continue
            other_keys = [f"other {number} {key}" for key in self.keys]
            values = [name for name in frame.columns if name not in self.keys]
            other = frame.select(
                *(F.col(key).alias(name) for key, name in zip(self.keys, other_keys, strict=True)), *values
            )
            same = [F.col(key).eqNullSafe(F.col(name)) for key, name in zip(self.keys, other_keys, strict=True)]
            combined = combined.join(other, same).drop(*other_keys)
        return combined

    # --- the aggregates one by one ----------------------------------------------------------------------------------

    def _parts(self, one: AggregateColumn, types: Mapping[str, DataType]) -> Parts:
        arguments = [column(name) for name in one.arguments]
        argument_types = [types[spark_name(name)] for name in one.arguments]
        match one.function:
            case "count":
                return Parts.whole(F.count(arguments[0] if arguments else F.lit(1)))
            case "countd":
                return Parts.whole(F.count_distinct(arguments[0]))
            case "sum":
                return self._sum(arguments[0], argument_types[0])
            case "avg":
                return self._mean(arguments[0], argument_types[0])
            case "argmin" | "argmax":
                best = best_pair(one.function, arguments[0], argument_types[0], arguments[1])
                return Parts(best.columns, lambda results: best.finish(results)["value"])
            case "collect":
                return Parts.whole(F.sort_array(F.collect_list(arguments[0])))
            case _:
                return self._meet_or_registered(one, arguments[0])

    def _meet_or_registered(self, one: AggregateColumn, argument: Column) -> Parts:
        if one.function in SIMPLE_MEETS:
            return Parts.whole(SIMPLE_MEETS[one.function](argument))
        function = self.functions.aggregates[one.function]
        if function.implementation is None:
            raise InternalError(f"DL903: the aggregate {one.function} has no form on Spark")
        udf = aggregate_udf(one.function, function.implementation, one.field.type, self.rules)
        return Parts((F.sort_array(F.collect_list(argument)),), lambda results: udf(results[0]))

    def _sum(self, argument: Column, type_: DataType) -> Parts:
        if type_ == FLOAT:
            return Parts((F.sum(argument),), lambda results: self._finite(results[0]))
        return _sum_of_ints(argument, raise_fault("DL502", OVERFLOW, self.rules))

    def _mean(self, argument: Column, type_: DataType) -> Parts:
        if type_ == FLOAT:
            return Parts((F.avg(argument),), lambda results: self._finite(results[0]))
        high, low = _halves(argument)
        return Parts(
            (F.sum(high), F.sum(low), F.count(argument)),
            lambda results: F.try_divide(results[0] * F.lit(float(2**32)) + results[1], results[2]),
        )

    def _finite(self, result: Column) -> Column:
        return F.nanvl((result + F.lit(0.0)) % F.lit(float("inf")), raise_fault("DL502", NOT_FINITE, self.rules))


def row_count() -> Column:
    return F.count(F.lit(1)).alias(_ROWS_NAME)


def has_rows() -> Column:
    """Whether there was a row at all behind a result that has a `row_count`."""
    return F.col(_ROWS_NAME) > 0


SIMPLE_MEETS: dict[str, Callable[[Column], Column]] = {
    "min": F.min,
    "mmin": F.min,
    "max": F.max,
    "mmax": F.max,
    "any": F.bool_or,
    "all": F.bool_and,
}
"""The aggregates of one argument that it makes no difference to give a value twice."""


def keyed_arguments(one: AggregateColumn, types: Mapping[str, DataType]) -> tuple[Column, Column, DataType]:
    """The key, the value and the type of the value of an `mcount` or `msum`; `mcount<K>` counts 1 for each key."""
    key, *value = one.arguments
    if not value:
        return column(key), F.lit(1).cast("long"), INT
    return column(key), column(value[0]), types[spark_name(value[0])]


def not_negative(value: Column, function: str, rules: str | None) -> Column:
    return F.when(value < 0, raise_fault("DL504", f"{function} of a negative value", rules)).otherwise(value)


def best_pair(function: str, cost: Column, cost_type: DataType, value: Column) -> Parts:
    """The best `(cost, value)` of `argmin` or `argmax`, as a struct; among equal costs the smallest value."""
    is_there = cost.isNotNull() & value.isNotNull()
    if function == "argmin":
        return Parts.whole(F.min(F.when(is_there, F.struct(cost.alias("cost"), value.alias("value")))))
    turned = _turned_round(cost, cost_type)
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
    """A column in whose order the largest cost comes first."""
    if type_ in (INT, TIMESTAMP):
        return F.bitwise_not(cost)
    if type_ == FLOAT:
        return -cost
    return ~cost if type_ == BOOL else None


def _halves(argument: Column) -> tuple[Column, Column]:
    """An int as `high * 2**32 + low`, so that sums of each half cannot overflow on the way."""
    return F.shiftright(argument, 32), argument.bitwiseAND(F.lit(2**32 - 1))


def _sum_of_ints(argument: Column, overflow: Column) -> Parts:
    """The exact sum, whatever the order; a fault only where the sum itself does not fit."""
    high, low = _halves(argument)

    def finish(results: Sequence[Column]) -> Column:
        top = results[0] + F.shiftright(results[1], 32)
        fits = (top >= F.lit(-(2**31))) & (top < F.lit(2**31))
        total = F.shiftleft(top, 32).bitwiseOR(results[1].bitwiseAND(F.lit(2**32 - 1)))
        return F.when(fits, total).when(~fits, overflow)

    return Parts((F.sum(high), F.sum(low)), finish)
