"""Columns that can end in a fault and that nobody reads.

Spark does not compute a column that nobody reads, and so would not notice that it has no value: in
`p(X) :- q(X), Y = 1 div X.` a division by zero is an error although Y is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from emberlog.logical.expressions import columns_of, condition_columns
from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    Union,
    Values,
)
from emberlog.logical.traverse import column_names, column_types
from emberlog.semantics.totality import can_fail


def unread_faults(plan: Plan) -> dict[int, list[str]]:
    """By the identity of a projection in the plan, its columns that can fault and that nothing above it reads."""
    found: dict[int, list[str]] = {}
    for project, names in _unread(plan, frozenset(column_names(plan))):
        found.setdefault(id(project), []).extend(names)
    return found


def _unread(plan: Plan, read: frozenset[str]) -> Iterator[tuple[Project, list[str]]]:
    match plan:
        case Scan() | Values():
            return
        case Project(source, outputs):
            types = column_types(source)
            unread = [
                output.field.name
                for output in outputs
                if output.field.name not in read and can_fail(output.expression, types)
            ]
            if unread:
                yield plan, unread
            yield from _unread(source, frozenset().union(*(columns_of(output.expression) for output in outputs)))
        case Filter(source, conditions):
            yield from _unread(source, read.union(*map(condition_columns, conditions)))
        case Join(left, right, on):
            yield from _unread(left, read.union(on))
            yield from _unread(right, read.union(on))
        case AntiJoin(left, right, on):
            yield from _unread(left, read.union(on))
            yield from _unread(right, frozenset(on))
        case Union(inputs):
            for one in inputs:
                yield from _unread(one, frozenset(column_names(one)))
        case Distinct(source):
            yield from _unread(source, frozenset(column_names(source)))
        case Aggregate(source, keys, aggregates):
            yield from _unread(source, frozenset(keys).union(*(one.arguments for one in aggregates)))
        case _:
            assert_never(plan)
