"""Evaluates conditions as early as possible: below projections, joins, anti-joins and unions.

Correct because a condition depends on the values of its columns alone, and these nodes hand rows through: a row
that fails it could not have been part of a result that passes it. A condition on join columns holds on both
sides or on none, so both get it; a column with a known value gives such a condition. Two rules keep errors as
they are: a condition that can fail is not moved, as it would meet rows that something protected it from; and
nothing from above moves below an expression or a condition that can fail, as that would hide the fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from emberlog.datatypes import DataType
from emberlog.logical.expressions import condition_columns, substitute_in_condition
from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
    Condition,
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
from emberlog.logical.properties import constant_columns
from emberlog.logical.traverse import column_types, map_plans, with_children
from emberlog.optimize.context import PassContext
from emberlog.semantics.model import Compare
from emberlog.semantics.totality import can_fail, condition_can_fail
from emberlog.syntax.ast import ComparisonOperator, Variable

Conditions = tuple[Condition, ...]


def push_down_filter(plan: LogicalPlan, _context: PassContext) -> LogicalPlan:
    return map_plans(plan, _push_in_plan)


def _push_in_plan(plan: Plan) -> Plan:
    new = _push(plan, ())
    return plan if new == plan else new


def _push(plan: Plan, conditions: Conditions) -> Plan:
    """Returns a plan for `Filter(plan, conditions)` that evaluates them as early as it can."""
    match plan:
        case Scan() | Values():
            return _filtered(plan, conditions)
        case Filter(source, own):
            moving, staying = _split(own, column_types(plan))
            if any(condition_can_fail(one, column_types(plan)) for one in staying):
                # Conditions of one filter are weighed together. Those from above would hide a fault of these.
                return _filtered(_filtered(_push(source, moving), staying), conditions)
            return _push(source, own + conditions)
        case Project():
            return _push_below_project(plan, conditions)
        case Join():
            return _push_below_join(plan, conditions)
        case AntiJoin():
            return _push_below_anti_join(plan, conditions)
        case Union(inputs):
            moving, staying = _split(conditions, column_types(plan))
            return _filtered(with_children(plan, tuple(_push(one, moving) for one in inputs)), staying)
        case Distinct(source):
            moving, staying = _split(conditions, column_types(plan))
            return _filtered(with_children(plan, (_push(source, moving),)), staying)
        case Aggregate(source):
            return _filtered(with_children(plan, (_push(source, ()),)), conditions)
    assert_never(plan)


def _filtered(plan: Plan, conditions: Conditions) -> Plan:
    return Filter(plan, conditions) if conditions else plan


def _split(conditions: Conditions, types: Mapping[str, DataType]) -> tuple[Conditions, Conditions]:
    """Returns the conditions that may move down, and those that must stay, each in their order."""
    # A condition without columns is no better off further down.
    may_move = [not condition_can_fail(one, types) and bool(condition_columns(one)) for one in conditions]
    moving = tuple(one for one, moves in zip(conditions, may_move, strict=True) if moves)
    return moving, tuple(one for one, moves in zip(conditions, may_move, strict=True) if not moves)


def _push_below_project(plan: Project, conditions: Conditions) -> Plan:
    below = column_types(plan.input)
    if any(can_fail(output.expression, below) for output in plan.outputs):
        return _filtered(with_children(plan, (_push(plan.input, ()),)), conditions)
    definitions = {output.field.name: output.expression for output in plan.outputs}
    moving, staying = _split(conditions, column_types(plan))
    moved = tuple(substitute_in_condition(condition, definitions) for condition in moving)
    return _filtered(with_children(plan, (_push(plan.input, moved),)), staying)


def _push_below_join(plan: Join, conditions: Conditions) -> Plan:
    left_types, right_types = column_types(plan.left), column_types(plan.right)
    moving, staying = _split(conditions, column_types(plan))
    to_left, to_right, kept = [], [], list(staying)
    for condition in moving:
        needed = condition_columns(condition)
        on_left, on_right = needed <= left_types.keys(), needed <= right_types.keys()
        if on_left:
            to_left.append(condition)
        # On join columns it goes to both sides, if both see the same values: 1 and 1.0 join, but are not the same text.
        if on_right and (not on_left or all(left_types[name] == right_types[name] for name in needed)):
            to_right.append(condition)
        if not on_left and not on_right:
            kept.append(condition)
    left, right = _push(plan.left, tuple(to_left)), _push(plan.right, tuple(to_right))
    left, right = _with_known(left, right, plan.on), _with_known(right, left, plan.on)
    return _filtered(with_children(plan, (left, right)), tuple(one for one in conditions if one in kept))


def _with_known(plan: Plan, other: Plan, on: Sequence[str]) -> Plan:
    """Returns the plan with conditions on those of its join columns whose value is known on the other side only."""
    here, there, types = constant_columns(plan), constant_columns(other), column_types(plan)
    other_types = column_types(other)
    equal = ComparisonOperator.EQUAL
    added = tuple(
        Compare(equal, Variable(name), there[name])
        for name in on
        if name in there and name not in here and types[name] == other_types[name]
    )
    return _push(plan, added) if added else plan


def _push_below_anti_join(plan: AntiJoin, conditions: Conditions) -> Plan:
    """On the columns of the anti-join the right side gets a condition too: what fails it there matches no row here."""
    left_types, right_types = column_types(plan.left), column_types(plan.right)
    moving, staying = _split(conditions, left_types)
    to_right = tuple(
        condition
        for condition in moving
        if all(name in right_types and left_types[name] == right_types[name] for name in condition_columns(condition))
    )
    left, right = _push(plan.left, moving), _push(plan.right, to_right)
    return _filtered(with_children(plan, (left, _with_known(right, left, plan.on))), staying)
