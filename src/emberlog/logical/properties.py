"""What is known about the rows of a plan without running it."""

from __future__ import annotations

from typing import assert_never

from emberlog.language.registry import AGGREGATES
from emberlog.logical.nodes import (
    Aggregate,
    AggregateColumn,
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
from emberlog.logical.traverse import column_names, column_types, walk
from emberlog.semantics.model import Compare
from emberlog.semantics.totality import can_fail, condition_can_fail
from emberlog.syntax.ast import ComparisonOperator, Constant, Variable


def is_empty(plan: Plan) -> bool:
    """Tells whether the plan is the one that stands for no rows at all."""
    return isinstance(plan, Values) and not plan.rows


def is_unit(plan: Plan) -> bool:
    """Tells whether the plan is one row without columns: what a join can do without."""
    return isinstance(plan, Values) and not plan.columns and len(plan.rows) == 1


def plan_can_fail(plan: Plan) -> bool:
    """Tells whether evaluating the plan can end in an error."""
    return any(map(node_can_fail, walk(plan)))


def node_can_fail(plan: Plan) -> bool:
    """Tells whether the node itself can end in an error, whatever its inputs do."""
    match plan:
        case Filter(source, conditions):
            types = column_types(source)
            return any(condition_can_fail(condition, types) for condition in conditions)
        case Project(source, outputs):
            types = column_types(source)
            return any(can_fail(output.expression, types) for output in outputs)
        case Aggregate(_, _, aggregates):
            return any(aggregate_can_fail(one.function) for one in aggregates)
        case Scan() | Values() | Join() | AntiJoin() | Union() | Distinct():
            return False
    assert_never(plan)


def aggregate_can_fail(function: str) -> bool:
    """Tells whether some contributions have no value together: a sum that does not fit, a user's function."""
    known = AGGREGATES.get(function)
    return known is None or known.is_numeric or known.by_key


def is_set(plan: Plan) -> bool:
    """Tells whether no row can occur twice. Facts of a relation never do, in whatever version."""
    match plan:
        case Scan() | Distinct() | Aggregate():
            return True
        case Values(_, rows):
            return len(set(rows)) == len(rows)
        case Filter(source):
            return is_set(source)
        case Project(source, outputs):
            kept = {output.expression.name for output in outputs if isinstance(output.expression, Variable)}
            return kept.issuperset(column_names(source)) and is_set(source)
        case Join(left, right):
            return is_set(left) and is_set(right)
        case AntiJoin(left):
            return is_set(left)
        case Union(inputs):
            return len(inputs) == 1 and is_set(inputs[0])
    assert_never(plan)


def constant_columns(plan: Plan) -> dict[str, Constant]:
    """Returns the columns that have the same known value in every row: exactly that value, of exactly that type."""
    match plan:
        case Values(columns, rows):
            return {
                field.name: constant
                for field, cell in zip(columns, rows[0] if len(rows) == 1 else (), strict=False)
                if isinstance(cell, bool | int | float | str)
                and (constant := Constant.of(cell, field.type)).type == field.type
            }
        case Filter(source, conditions):
            types = column_types(source)
            known = constant_columns(source)
            for condition in conditions:
                match condition:
                    case Compare(ComparisonOperator.EQUAL, Variable(name), Constant() as constant) | Compare(
                        ComparisonOperator.EQUAL, Constant() as constant, Variable(name)
                    ) if types[name] == constant.type:
                        known[name] = constant
                    case _:
                        pass
            return known
        case Project(source, outputs):
            below = constant_columns(source)
            known = {}
            for output in outputs:
                match output.expression:
                    case Constant(value) as constant if value is not None:  # nothing agrees with null
                        known[output.field.name] = constant
                    case Variable(name) if name in below:
                        known[output.field.name] = below[name]
                    case _:
                        pass
            return known
        case Join(left, right):
            return {**constant_columns(right), **constant_columns(left)}
        case AntiJoin(source) | Distinct(source):
            return constant_columns(source)
        case Aggregate(source, keys):
            return {name: constant for name, constant in constant_columns(source).items() if name in keys}
        case Scan() | Union():
            return {}
    assert_never(plan)


def takes_repeats(aggregate: AggregateColumn) -> bool:
    """Tells whether a contribution that comes twice changes nothing."""
    function = AGGREGATES.get(aggregate.function)
    return function is not None and (function.is_meet or function.takes_repeats)


def is_zero_for_nothing(plan: Aggregate) -> bool:
    """Tells whether there is a row, with zeros, for no rows at all: every aggregate is a count, and nothing is grouped
    by."""
    return not plan.keys and all(
        one.function in AGGREGATES and AGGREGATES[one.function].is_count for one in plan.aggregates
    )
