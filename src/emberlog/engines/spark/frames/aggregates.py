"""Aggregates of groups, with the language's meaning of nulls, ties and overflow.

An aggregate is computed in two steps: Spark's own aggregates over the group (`parts`), and an expression over their
results (`finish`). `mcount` and `msum` need a grouping of their own, by group and key, before the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from emberlog.datatypes import INT, DataType
from emberlog.engines.spark.frames.columns import column, spark_name
from emberlog.engines.spark.frames.python_functions import aggregate_udf
from emberlog.language.registry import Functions
from emberlog.language.spark_aggregates import Arguments, Parts, total
from emberlog.language.spark_columns import raise_fault
from emberlog.logical.nodes import AggregateColumn

_ROWS_NAME = "its rows"
"""No variable has a name with a space in Spark, so such names are free for what is only needed on the way."""


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
        """Returns one row per group: the keys, the aggregates, the flags. `types` are those of the frame's columns."""
        plain = [one for one in self.aggregates if not self._is_keyed(one)]
        keyed = [one for one in self.aggregates if self._is_keyed(one)]
        frames = [self._plain(frame, plain, types)] if plain or self.flags or not keyed else []
        frames += [self._keyed(frame, one, types) for one in keyed]
        combined = self._side_by_side(frames)
        return combined.select(*self.keys, *(spark_name(one.field.name) for one in self.aggregates), *self.flags)

    def _is_keyed(self, one: AggregateColumn) -> bool:
        return self.functions.aggregates[one.function].by_key

    @property
    def _is_no_count(self) -> bool:
        """Whether there is no row for no rows at all."""
        return not all(self.functions.aggregates[one.function].is_count for one in self.aggregates)

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
        if not self.keys and self._is_no_count:
            # Without keys Spark gives a row for no rows at all, which only counts should.
            return frame.agg(*columns, row_count()).where(has_rows()).select(*finished)
        grouped = frame.groupBy(*self.keys).agg(*columns) if columns else frame.select(*self.keys).distinct()
        return grouped.select(*self.keys, *finished)

    def _keyed(self, frame: DataFrame, one: AggregateColumn, types: Mapping[str, DataType]) -> DataFrame:
        """Combines `mcount` or `msum` alone. A group whose contributions are all null stays, with 0 or null."""
        key, value, value_type = keyed_arguments(one, types)
        checked = not_negative(value, one.function, self.rules)
        contributed = F.when(key.isNotNull(), checked)
        largest = frame.groupBy(*self.keys, key.alias("its key")).agg(F.max(contributed).alias("its value"))
        parts = total(Arguments([F.col("its value")], [value_type], self.rules))
        names = [f"part {number}" for number in range(len(parts.columns))]
        sums = [part.alias(name) for part, name in zip(parts.columns, names, strict=True)]
        summed = parts.finish([F.col(name) for name in names])
        if self.functions.aggregates[one.function].is_count:
            summed = F.coalesce(summed, F.lit(0).cast("long") if value_type == INT else F.lit(0.0))
        grouped = largest.groupBy(*self.keys).agg(*sums, row_count())
        if not self.keys and self._is_no_count:
            grouped = grouped.where(has_rows())
        return grouped.select(*self.keys, summed.alias(spark_name(one.field.name)))

    def _side_by_side(self, frames: Sequence[DataFrame]) -> DataFrame:
        """Returns the frames, which have the same keys, as one. A null key is a key like any other."""
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

    def _parts(self, one: AggregateColumn, types: Mapping[str, DataType]) -> Parts:
        arguments = Arguments(
            [column(name) for name in one.arguments],
            [types[spark_name(name)] for name in one.arguments],
            self.rules,
        )
        function = self.functions.aggregates[one.function]
        if function.spark is not None:
            return function.spark(arguments)
        udf = aggregate_udf(function, arguments.types, one.field.type, self.rules)
        values = [value.alias(f"argument {place}") for place, value in enumerate(arguments.columns)]
        are_there = reduce(Column.__and__, (value.isNotNull() for value in arguments.columns))
        return Parts((F.collect_list(F.when(are_there, F.struct(*values))),), lambda results: udf(results[0]))


def row_count() -> Column:
    return F.count(F.lit(1)).alias(_ROWS_NAME)


def has_rows() -> Column:
    """Tells whether there was a row at all behind a result that has a `row_count`."""
    return F.col(_ROWS_NAME) > 0


def keyed_arguments(one: AggregateColumn, types: Mapping[str, DataType]) -> tuple[Column, Column, DataType]:
    """Returns the key, the value and the type of the value of an `mcount` or `msum`; `mcount<K>` counts 1 for each
    key."""
    key, *value = one.arguments
    if not value:
        return column(key), F.lit(1).cast("long"), INT
    return column(key), column(value[0]), types[spark_name(value[0])]


def not_negative(value: Column, function: str, rules: str | None) -> Column:
    return F.when(value < 0, raise_fault("DL504", f"{function} of a negative value", rules)).otherwise(value)
