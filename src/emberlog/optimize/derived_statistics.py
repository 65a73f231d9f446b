"""What can be expected of relations that are not computed yet, by what is known of those that they read."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import assert_never

from emberlog.logical.nodes import Definition, Fixpoint, FixpointRelation, PlannedStratum
from emberlog.logical.statistics import ColumnStatistics, RelationStatistics, Statistics
from emberlog.logical.traverse import column_names
from emberlog.optimize.cardinality import Estimate, NotKnown, as_statistics, estimate

GROWTH = 10.0
"""How many times its seed a recursion grows to, if its columns have values for that. A guess: nobody knows."""

ESTIMATED = "estimated"
GUESSED = "a guess, as it is recursive"


def with_relations_of(stratum: PlannedStratum, statistics: Statistics) -> Statistics:
    """Returns the statistics with those of the relations of one more stratum, as far as they can be told."""
    match stratum.root:
        case Definition(name, plan):
            try:
                return {**statistics, name: as_statistics(column_names(plan), estimate(plan, statistics), ESTIMATED)}
            except NotKnown:
                return statistics
        case Fixpoint(relations):
            return _with_recursion(relations, statistics)
    assert_never(stratum.root)


def _with_recursion(relations: tuple[FixpointRelation, ...], statistics: Statistics) -> Statistics:
    """First what the seeds give, then what one application of the rules to it adds to the values of each column."""
    found = dict(statistics)
    for relation in relations:
        try:
            seed = estimate(relation.seed, statistics)
        except NotKnown:
            return statistics
        found[relation.name] = _guess(relation, [seed])
    known = dict(found)
    for relation in relations:
        parts = [estimate(relation.seed, statistics)]
        try:
            parts += [estimate(rule.plan, known) for rule in relation.rules]
        except NotKnown:
            return statistics
        found[relation.name] = _guess(relation, parts)
    return found


def _guess(relation: FixpointRelation, parts: list[Estimate]) -> RelationStatistics:
    values = {
        name: max(part.columns[name].distinct if name in part.columns else 1.0 for part in parts)
        for name in relation.keys
    }
    rows = min(max(parts[0].rows, 1.0) * GROWTH, prod(values.values()))
    columns = tuple(
        ColumnStatistics(min(values.get(field.name, rows), max(rows, 1.0)), {}) for field in relation.columns
    )
    return RelationStatistics(max(rows, 1.0), columns, GUESSED)


def scaled(known: RelationStatistics, rows: int, origin: str) -> RelationStatistics:
    """Returns the same with the number of rows that was counted."""
    most = max(float(rows), 1.0)
    columns = tuple(replace(column, distinct=min(column.distinct, most)) for column in known.columns)
    return RelationStatistics(most, columns, origin)
