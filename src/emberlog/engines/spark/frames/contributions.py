"""The contributions to a recursive relation: their columns, how they are combined, and the facts they make up.

Without aggregates a contribution is a fact. With them it has the relation's keys and the arguments of each aggregate;
contributions with the same keys, and the same key of `mcount` and `msum`, are combined into the best one, which is all
that ever has to be kept of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from emberlog.diagnostics import InternalError
from emberlog.engines.spark.frames.aggregates import (
    Aggregator,
    has_rows,
    keyed_arguments,
    not_negative,
    row_count,
)
from emberlog.engines.spark.frames.columns import column, spark_name
from emberlog.language.registry import Functions
from emberlog.language.spark_aggregates import Arguments, Parts, best_pair
from emberlog.logical.nodes import AggregateColumn, FixpointRelation

IS_KNOWN = "is known"
"""A column that is true in rows of what was known before, and false in new contributions."""


class Contributions:
    """Combines the contributions to one relation. Frames have the columns in `names`, in that order, unless it says
    otherwise."""

    def __init__(self, relation: FixpointRelation, functions: Functions) -> None:
        self.relation = relation
        self.functions = functions
        self.names = [spark_name(field.name) for field in relation.seed.columns]
        self.types = {spark_name(field.name): field.type for field in relation.seed.columns}
        self.rules = ", ".join(rule.name for rule in relation.rules) or None
        self.group = [spark_name(key) for key in relation.keys]
        """The columns that are a fact's key."""
        self.keys = self.group + [
            spark_name(one.arguments[0]) for one in relation.aggregates if functions.aggregates[one.function].by_key
        ]
        """The columns that tell apart contributions of which both count."""
        self.values = [name for name in self.names if name not in self.keys]
        self._aggregates = relation.aggregates

    @property
    def of_a_fact(self) -> list[str]:
        """Names the columns that a contribution and its fact have in common, and that tell the fact."""
        return self.group if self._aggregates else self.names

    @property
    def is_summed(self) -> bool:
        """Whether several contributions make up one fact."""
        return self.keys != self.group

    @property
    def has_value_of_nothing(self) -> bool:
        """Whether there is a fact even without contributions: a count of 0."""
        aggregates = self.relation.aggregates
        return (
            bool(aggregates)
            and not self.group
            and all(self.functions.aggregates[one.function].is_count for one in aggregates)
        )

    # --- combining --------------------------------------------------------------------------------------------------

    def reduced(self, frame: DataFrame) -> DataFrame:
        """Returns the contributions without those that make no difference."""
        if not self.values:
            return frame.select(*self.names).distinct()
        return self._grouped(frame, self._now.parts).select(*self._values_now)

    def changes(self, known: DataFrame | None, new: DataFrame) -> DataFrame:
        """Returns the combined contributions that differ from the known ones, and a column that says whether their key
        was known. `known` may leave out what has no key in common with the new ones."""
        if known is None:
            return self.reduced(new).withColumn(IS_KNOWN, F.lit(False))
        both = known.withColumn(IS_KNOWN, F.lit(True)).unionAll(new.withColumn(IS_KNOWN, F.lit(False)))
        parts = [*self._now.parts, *self._before.parts] if self.values else []
        return self._grouped(both, [*parts, self._was_known]).where(self._differs).select(*self._values_now, IS_KNOWN)

    # Columns are made once: making them takes longer than most rounds take to use them.

    @cached_property
    def _now(self) -> _CombinedValues:
        return _CombinedValues("new", [self._combined(one, lambda argument: argument) for one in self._aggregates])

    @cached_property
    def _before(self) -> _CombinedValues:
        return _CombinedValues("old", [self._combined(one, _if_known) for one in self._aggregates])

    @cached_property
    def _was_known(self) -> Column:
        return F.bool_or(IS_KNOWN).alias(IS_KNOWN)

    @cached_property
    def _differs(self) -> Column:
        differs = ~F.col(IS_KNOWN)
        for name in self.values:
            differs = differs | ~self._now.finished[name].eqNullSafe(self._before.finished[name])
        return differs

    @cached_property
    def _values_now(self) -> list[Column]:
        finished = self._now.finished
        return [finished[name].alias(name) if name in finished else F.col(name) for name in self.names]

    def _grouped(self, frame: DataFrame, parts: Sequence[Column]) -> DataFrame:
        if self.keys:
            return frame.groupBy(*self.keys).agg(*parts)
        return frame.agg(*parts, row_count()).where(has_rows())

    def _combined(self, one: AggregateColumn, taken: Callable[[Column], Column]) -> _Combined:
        """Combines the values of each key; `taken` chooses among them."""
        names = [spark_name(argument) for argument in one.arguments]
        function = self.functions.aggregates[one.function]
        if function.by_key:
            key, value, _ = keyed_arguments(one, self.types)
            largest = F.max(taken(F.when(key.isNotNull(), not_negative(value, one.function, self.rules))))
            return Parts.whole(largest), lambda result: dict.fromkeys(names[1:], result)
        arguments = Arguments(
            [taken(column(name)) for name in one.arguments], [self.types[name] for name in names], self.rules
        )
        if function.by_cost:
            best = best_pair(arguments, is_largest=function.direction > 0)
            return best, lambda result: {names[0]: result["cost"], names[1]: result["value"]}
        if function.is_meet and function.spark is not None:
            return function.spark(arguments), lambda result: {names[0]: result}
        raise InternalError(f"DL903: {one.function} cannot be combined round by round")

    # --- facts ------------------------------------------------------------------------------------------------------

    def facts(self, reduced: DataFrame, *, beside: Sequence[str] = ()) -> DataFrame:
        """Returns the facts that reduced contributions make up, and the truth columns `beside` them."""
        if self.is_summed:
            return self._aggregated(reduced, beside).select(*self._fact_names(), *beside)
        return reduced.select(*self._fact_columns, *beside)

    def all_facts(self, contributions: DataFrame) -> DataFrame:
        """Returns the facts that a whole bag of contributions makes up, whatever the aggregates."""
        if not self.relation.aggregates:
            return contributions.select(*self.names).distinct()
        return self._aggregated(contributions, ()).select(*self._fact_names())

    def _aggregated(self, frame: DataFrame, flags: Sequence[str]) -> DataFrame:
        relation = self.relation
        return Aggregator(relation.keys, relation.aggregates, self.functions, self.rules, flags).combine(
            frame, self.types
        )

    def _fact_names(self) -> list[str]:
        return [spark_name(field.name) for field in self.relation.columns]

    @cached_property
    def _fact_columns(self) -> list[Column]:
        value_of = {spark_name(one.field.name): spark_name(one.arguments[-1]) for one in self._aggregates}
        return [F.col(value_of.get(name, name)).alias(name) for name in self._fact_names()]


def _if_known(argument: Column) -> Column:
    return F.when(F.col(IS_KNOWN), argument)


_Combined: TypeAlias = tuple[Parts, Callable[[Column], dict[str, Column]]]
"""Spark's aggregates, and the columns of a contribution made of their result."""


class _CombinedValues:
    """Holds the values of combined contributions, all aggregates together."""

    def __init__(self, prefix: str, combined: Sequence[_Combined]) -> None:
        self.parts: list[Column] = []
        """To be computed by Spark for each key."""
        self.finished: dict[str, Column] = {}
        """The columns of a contribution, made of the parts."""
        for index, (parts, columns_of) in enumerate(combined):
            names = [f"{prefix} {index} {number}" for number in range(len(parts.columns))]
            self.parts += [part.alias(name) for part, name in zip(parts.columns, names, strict=True)]
            self.finished |= columns_of(parts.finish([F.col(name) for name in names]))
