"""Carries no column further than it is read: the inputs of joins are projected to what the nodes above need.

Correct because projections keep duplicates: the bag of rows that an aggregate sees has the same size, with
fewer columns. Below `Distinct` and in the keys and arguments of an aggregate every column counts and is kept.
A scan keeps all its columns, as it names them by position; the projection stands above it. A column that is
not read is still computed if computing it can fault, so that the fault is reported.
"""

from __future__ import annotations

from typing import assert_never

from emberlog.logical.expressions import columns_of, condition_columns
from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
    Distinct,
    Filter,
    Join,
    LogicalPlan,
    Plan,
    Project,
    Scan,
    Union,
    Values,
)
from emberlog.logical.traverse import column_names, column_types, map_plans, with_children
from emberlog.optimize.context import PassContext
from emberlog.optimize.join_region import exactly
from emberlog.semantics.totality import can_fail


def prune_columns(plan: LogicalPlan, _context: PassContext) -> LogicalPlan:
    return map_plans(plan, _prune_in_plan)


def _prune_in_plan(plan: Plan) -> Plan:
    new = exactly(_prune(plan, frozenset(column_names(plan))), plan.columns)
    return plan if new == plan else new


def _prune(plan: Plan, needed: frozenset[str]) -> Plan:
    """Returns a plan with the same rows that has at least the needed columns, and few others."""
    match plan:
        case Scan() | Values():
            return plan
        case Filter(source, conditions):
            read = frozenset(name for condition in conditions for name in condition_columns(condition))
            return with_children(plan, (_prune(source, needed | read),))
        case Project():
            return _prune_project(plan, needed)
        case Join(left, right, on):
            both = needed | frozenset(on)
            return with_children(plan, (_narrowed(left, both), _narrowed(right, both)))
        case AntiJoin(left, right, on):
            return with_children(plan, (_narrowed(left, needed | frozenset(on)), _narrowed(right, frozenset(on))))
        case Union(inputs):
            kept = tuple(field for field in plan.columns if field.name in needed)
            return with_children(plan, tuple(exactly(_prune(one, needed), kept) for one in inputs))
        case Distinct(source):
            return with_children(plan, (exactly(_prune(source, frozenset(column_names(source))), source.columns),))
        case Aggregate(source, keys, aggregates):
            arguments = frozenset(name for column in aggregates for name in column.arguments)
            return with_children(plan, (_prune(source, arguments | frozenset(keys)),))
    assert_never(plan)


def _prune_project(plan: Project, needed: frozenset[str]) -> Plan:
    types = column_types(plan.input)
    outputs = tuple(
        output for output in plan.outputs if output.field.name in needed or can_fail(output.expression, types)
    )
    read = frozenset(name for output in outputs for name in columns_of(output.expression))
    source = _prune(plan.input, read)
    if source is plan.input and len(outputs) == len(plan.outputs):
        return plan
    return Project(source, outputs, plan.rule)


def _narrowed(plan: Plan, needed: frozenset[str]) -> Plan:
    """Returns the plan without the columns that nobody above it reads."""
    pruned = _prune(plan, needed)
    return exactly(pruned, tuple(field for field in pruned.columns if field.name in needed))
