"""How many rows a plan will give, by estimate.

Columns are taken to be independent, and values to be evenly frequent but for those that the statistics list: a value
that is frequent on both sides of a join is what makes a join explode, so it is counted by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import assert_never

from emberlog.logical.expressions import columns_of
from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
    Condition,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    Union,
    Values,
    Version,
)
from emberlog.logical.properties import is_set
from emberlog.logical.statistics import ColumnStatistics, RelationStatistics, Statistics
from emberlog.logical.traverse import column_names
from emberlog.semantics.model import CellValue, Compare, Holds
from emberlog.syntax.ast import ComparisonOperator, Constant, Expression, Variable

DELTA_SHARE = 0.01
"""Of a relation, what one iteration adds to it. Nobody knows, but it is little."""
RANGE_SHARE = 1 / 3
"""Of rows, those that satisfy a comparison with `<` and the like."""
MOST_FREQUENT = 32
"""Values that are followed through a plan by themselves."""


class NotKnown(Exception):
    """The plan reads a relation of which there are no statistics."""


@dataclass(frozen=True, slots=True)
class Estimate:
    rows: float
    columns: Mapping[str, ColumnStatistics]
    is_set: bool
    """Whether no row is there twice."""


def estimate(plan: Plan, statistics: Statistics) -> Estimate:
    """Raises NotKnown."""
    match plan:
        case Scan(relation, columns, version):
            if relation not in statistics:
                raise NotKnown(relation)
            known = statistics[relation]
            rows = known.rows * DELTA_SHARE if version is Version.DELTA else known.rows
            named = zip((field.name for field in columns), known.columns, strict=True)
            return _limited(Estimate(max(rows, 1.0), dict(named), is_set=True))
        case Values(columns, facts):
            return Estimate(len(facts), _of_values(column_names(plan), facts), is_set(plan))
        case Filter(source, conditions):
            return kept(estimate(source, statistics), conditions)
        case Project(source, outputs):
            below = estimate(source, statistics)
            computed = {output.field.name: _of_expression(output.expression, below) for output in outputs}
            return Estimate(below.rows, computed, is_set(plan))
        case Join(left, right, on):
            return joined(estimate(left, statistics), estimate(right, statistics), on)
        case AntiJoin(left, right, _):
            estimate(right, statistics)  # it has to be known, too
            return estimate(left, statistics)
        case Union(inputs):
            parts = [estimate(one, statistics) for one in inputs]
            return _united(column_names(plan), inputs, parts)
        case Distinct(source):
            below = estimate(source, statistics)
            return _limited(replace(below, rows=distinct_rows(below, column_names(plan)), is_set=True))
        case Aggregate(source, keys, aggregates):
            below = estimate(source, statistics)
            groups = distinct_rows(below, keys) if keys else 1.0
            known_keys = {name: below.columns[name] for name in keys}
            totals = {column.field.name: _evenly(groups) for column in aggregates}
            return _limited(Estimate(groups, {**known_keys, **totals}, is_set=True))
    assert_never(plan)


def as_statistics(columns: Sequence[str], found: Estimate, origin: str) -> RelationStatistics:
    """Returns an estimate as what is known of the relation that it is an estimate of."""
    return RelationStatistics(found.rows, tuple(found.columns[name] for name in columns), origin)


def distinct_rows(found: Estimate, columns: Sequence[str]) -> float:
    """Returns how many different rows are left if only these columns are."""
    return min(found.rows, prod(found.columns[name].distinct for name in columns))


def joined(left: Estimate, right: Estimate, on: Sequence[str]) -> Estimate:
    rows = left.rows * right.rows * prod(_shared(left.columns[name], right.columns[name])[0] for name in on)
    # A row that agrees with a whole row of a set agrees with one at most.
    if right.is_set and right.columns.keys() <= set(on):
        rows = min(rows, left.rows)
    if left.is_set and left.columns.keys() <= set(on):
        rows = min(rows, right.rows)
    both = {name: _shared(left.columns[name], right.columns[name])[1] for name in on}
    return _limited(Estimate(rows, {**right.columns, **left.columns, **both}, left.is_set and right.is_set))


def kept(found: Estimate, conditions: Sequence[Condition]) -> Estimate:
    """Returns what is left of the rows after conditions."""
    for condition in conditions:
        found = _kept(found, condition)
    return found


def _kept(found: Estimate, condition: Condition) -> Estimate:
    match condition:
        case Compare(ComparisonOperator.EQUAL, Variable(name), Constant(value)) | Compare(
            ComparisonOperator.EQUAL, Constant(value), Variable(name)
        ) if name in found.columns:
            share = _share_of(found.columns[name], value)
            return _limited(
                replace(
                    found,
                    rows=found.rows * share,
                    columns={**found.columns, name: ColumnStatistics(1.0, {value: 1.0})},
                )
            )
        case Compare(operator, left, right):
            return _limited(replace(found, rows=found.rows * _share_kept(operator, left, right, found)))
        case Holds():
            return _limited(replace(found, rows=found.rows * RANGE_SHARE))
    assert_never(condition)


def _share_kept(operator: ComparisonOperator, left: Expression, right: Expression, found: Estimate) -> float:
    values = max((found.columns[name].distinct for one in (left, right) for name in columns_of(one)), default=1.0)
    match operator:
        case ComparisonOperator.EQUAL:
            return 1 / values
        case ComparisonOperator.NOT_EQUAL:
            return max(1 - 1 / values, 1 / found.rows if found.rows else 0.0)
        case (
            ComparisonOperator.LESS
            | ComparisonOperator.LESS_OR_EQUAL
            | ComparisonOperator.GREATER
            | ComparisonOperator.GREATER_OR_EQUAL
        ):
            # Two columns of one kind: as often one way as the other.
            return 1 / 2 if isinstance(left, Variable) and isinstance(right, Variable) else RANGE_SHARE
    assert_never(operator)


def _share_of(column: ColumnStatistics, value: CellValue) -> float:
    """Of the rows, those that have the value."""
    if value in column.frequent:
        return column.frequent[value]
    others = max(column.distinct - len(column.frequent), 1.0)
    return max(1 - sum(column.frequent.values()), 0.0) / others


def _shared(one: ColumnStatistics, other: ColumnStatistics) -> tuple[float, ColumnStatistics]:
    """Of all pairs of rows, the share that agrees in a column, and the column of those that do."""
    agreeing: dict[CellValue, float] = {}
    for value in {**one.frequent, **other.frequent}:
        agreeing[value] = _share_of(one, value) * _share_of(other, value)
    rest = max(1 - sum(one.frequent.values()), 0.0) * max(1 - sum(other.frequent.values()), 0.0)
    others = max(max(one.distinct, other.distinct) - len(agreeing), 1.0)
    share = sum(agreeing.values()) + rest / others
    if not share:
        return 0.0, ColumnStatistics(1.0, {})
    top = sorted(agreeing, key=lambda value: -agreeing[value])[:MOST_FREQUENT]
    return share, ColumnStatistics(
        min(one.distinct, other.distinct), {value: agreeing[value] / share for value in top if agreeing[value]}
    )


def _limited(found: Estimate) -> Estimate:
    """No column has more values than there are rows."""
    rows = max(found.rows, 1.0)
    if all(column.distinct <= rows for column in found.columns.values()):
        return found
    columns = {
        name: column if column.distinct <= rows else replace(column, distinct=rows)
        for name, column in found.columns.items()
    }
    return replace(found, columns=columns)


def _evenly(values: float) -> ColumnStatistics:
    return ColumnStatistics(max(values, 1.0), {})


def _of_values(names: Sequence[str], facts: Sequence[tuple[CellValue, ...]]) -> dict[str, ColumnStatistics]:
    return {name: _evenly(len({fact[place] for fact in facts})) for place, name in enumerate(names)}


def _of_expression(expression: Expression, below: Estimate) -> ColumnStatistics:
    match expression:
        case Variable(name):
            return below.columns[name]
        case Constant(value):
            return ColumnStatistics(1.0, {value: 1.0})
        case _:
            values = prod(below.columns[name].distinct for name in columns_of(expression))
            return _evenly(min(values, below.rows))


def _united(names: Sequence[str], inputs: Sequence[Plan], parts: Sequence[Estimate]) -> Estimate:
    """Values of the parts may be the same or not; as many as the part with the most has are there in any case."""
    rows = sum(part.rows for part in parts)
    columns = {}
    for place, name in enumerate(names):
        own = [(part, part.columns[column_names(one)[place]]) for one, part in zip(inputs, parts, strict=True)]
        frequent: dict[CellValue, float] = {}
        for part, column in own:
            for value, share in column.frequent.items():
                frequent[value] = frequent.get(value, 0.0) + share * part.rows / max(rows, 1.0)
        columns[name] = ColumnStatistics(max(column.distinct for _, column in own), frequent)
    return _limited(Estimate(rows, columns, len(parts) == 1 and parts[0].is_set))
