"""Joins that stand next to each other in a plan, as what they join: inputs, conditions, and the columns that come out.

Conditions that cannot fail and projections that only leave columns out stand between joins without being in the way.
All else is an input as a whole. A region can be put together again in any order of its inputs.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from emberlog.datatypes import DataType
from emberlog.logical.expressions import condition_columns
from emberlog.logical.nodes import Condition, Field, Filter, Join, Output, Plan, Project
from emberlog.logical.traverse import column_names, column_types
from emberlog.semantics.totality import condition_can_fail
from emberlog.syntax.ast import Variable


@dataclass(frozen=True, slots=True)
class Region:
    inputs: tuple[Plan, ...]
    conditions: tuple[Condition, ...]
    columns: tuple[Field, ...]

    @property
    def names(self) -> frozenset[str]:
        """Of all columns of all inputs."""
        return frozenset(name for one in self.inputs for name in column_names(one))

    @property
    def hidden(self) -> frozenset[str]:
        """The columns of inputs that do not come out."""
        return self.names - {field.name for field in self.columns}


def region_of(plan: Plan) -> Region:
    """Returns the region whose last join this is; a region of one input where there is none."""
    match plan:
        case Join(left, right, _):
            return _of_sides(plan, region_of(left), region_of(right))
        case Filter(source, conditions):
            below, types = region_of(source), column_types(source)
            if len(below.inputs) > 1 and not any(condition_can_fail(one, types) for one in conditions):
                return Region(below.inputs, below.conditions + conditions, plan.columns)
        case Project(source, outputs, None) if all(_is_kept(one, source) for one in outputs):
            below = region_of(source)
            if len(below.inputs) > 1:
                return Region(below.inputs, below.conditions, plan.columns)
        case _:
            pass
    return Region((plan,), (), plan.columns)


def _of_sides(plan: Join, left: Region, right: Region) -> Region:
    # A name that one side has used up may mean something else on the other.
    if left.hidden & right.names:
        left = Region((plan.left,), (), plan.left.columns)
    if right.hidden & left.names:
        right = Region((plan.right,), (), plan.right.columns)
    return Region(left.inputs + right.inputs, left.conditions + right.conditions, plan.columns)


def _is_kept(output: Output, source: Plan) -> bool:
    return output.expression == Variable(output.field.name) and output.field in source.columns


def has_one_type_each(region: Region) -> bool:
    """Tells whether a column has the same type wherever it occurs: then it does not matter which input it is taken
    from."""
    types: dict[str, DataType] = {}
    return all(types.setdefault(field.name, field.type) == field.type for one in region.inputs for field in one.columns)


def put_together(region: Region, order: Sequence[int], wanted: Set[str]) -> Plan:
    """Returns the region with its joins in this order, conditions as early as can be, and no column further than it is
    read. It has at least the wanted columns, in no particular order."""
    waiting = list(region.conditions)
    inputs = [region.inputs[place] for place in order]
    plan, waiting = _with_ready(inputs[0], waiting)
    for place, one in enumerate(inputs[1:], 1):
        on = tuple(name for name in column_names(one) if name in column_names(plan))
        plan, waiting = _with_ready(Join(plan, one, on), waiting)
        later = {name for other in inputs[place + 1 :] for name in column_names(other)}
        read = {name for condition in waiting for name in condition_columns(condition)}
        if place + 1 < len(inputs):
            plan = exactly(plan, tuple(field for field in plan.columns if field.name in wanted | later | read))
    return plan


def _with_ready(plan: Plan, waiting: Sequence[Condition]) -> tuple[Plan, list[Condition]]:
    here = set(column_names(plan))
    ready = tuple(condition for condition in waiting if condition_columns(condition) <= here)
    return (Filter(plan, ready) if ready else plan), [one for one in waiting if one not in ready]


def exactly(plan: Plan, columns: Sequence[Field]) -> Plan:
    """Returns the plan with these columns in this order."""
    if tuple(columns) == plan.columns:
        return plan
    return Project(plan, tuple(Output(field, Variable(field.name)) for field in columns))
