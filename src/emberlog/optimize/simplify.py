"""Removes nodes that do nothing: identity projections, projections of projections, filters of filters, unions of
one, joins with one known row, `Distinct` where it changes nothing, and everything that is known to be empty.

Correct node by node: each rewrite gives the same bag of rows and the same columns. `Distinct` of a set is that
set, and an anti-join asks whether there is a row, not how many. Two projections become one only if no computed
column is computed twice or dropped unseen. A join with a row of constants goes if the other side has these very
values in the join columns. An empty input empties a join only if the other side cannot fault, and an aggregate
only if it has keys: `count` over no rows at all is 0.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import assert_never

from emberlog.logical.expressions import substitute
from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
    Definition,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    FixpointRelation,
    Join,
    LogicalPlan,
    Output,
    Plan,
    PlannedStratum,
    Project,
    Scan,
    Union,
    Values,
)
from emberlog.logical.properties import constant_columns, is_empty, is_set, is_unit, node_can_fail, plan_can_fail
from emberlog.logical.traverse import column_types, map_plans, map_strata, transform
from emberlog.optimize.context import PassContext
from emberlog.semantics.totality import can_fail, hands_on_fault
from emberlog.syntax.ast import Constant, Variable, variables_of


def simplify(plan: LogicalPlan, _context: PassContext) -> LogicalPlan:
    return map_strata(map_plans(plan, lambda one: transform(one, _simplify_node)), _without_empty_rules)


def _simplify_node(plan: Plan) -> Plan:
    match plan:
        case Scan() | Values():
            return plan
        case Filter():
            return _simplify_filter(plan)
        case Project():
            return _simplify_project(plan)
        case Join():
            return _simplify_join(plan)
        case AntiJoin(left, right):
            if is_empty(right):
                return left
            if isinstance(right, Distinct):
                return _simplify_node(replace(plan, right=right.input))
            return _emptied(plan, left, right) if is_empty(left) else plan
        case Union(inputs):
            return _simplify_union(plan, inputs)
        case Distinct(source):
            return source if is_set(source) else plan
        case Aggregate(source, keys):
            return Values(plan.columns, ()) if is_empty(source) and keys else plan
    assert_never(plan)


def _simplify_join(plan: Join) -> Plan:
    left, right = plan.left, plan.right
    if is_unit(left):
        return right
    if is_unit(right):
        return left
    if is_empty(left) or is_empty(right):
        return _emptied(plan, left, right)
    for row, other in ((_constant_row(left), right), (_constant_row(right), left)):
        if row is not None:
            known = constant_columns(other)
            if all(known.get(name) == row[name] for name in plan.on):
                return _simplify_project(
                    Project(other, tuple(_from_row(field, row, plan.on) for field in plan.columns))
                )
    return plan


def _constant_row(plan: Plan) -> dict[str, Constant] | None:
    """Returns the row, if the plan is one row of constants that the program itself writes down."""
    if not isinstance(plan, Project) or not is_unit(plan.input):
        return None
    row = {output.field.name: output.expression for output in plan.outputs}
    constants = {name: expression for name, expression in row.items() if isinstance(expression, Constant)}
    return constants if len(constants) == len(row) else None


def _from_row(field: Field, row: dict[str, Constant], on: tuple[str, ...]) -> Output:
    is_added = field.name in row and field.name not in on
    return Output(field, row[field.name] if is_added else Variable(field.name))


def _emptied(plan: Plan, left: Plan, right: Plan) -> Plan:
    can_fault = plan_can_fail(left) or plan_can_fail(right)
    return plan if can_fault else Values(plan.columns, ())


def _simplify_filter(plan: Filter) -> Plan:
    match plan.input:
        case source if is_empty(source) or not plan.conditions:
            return source
        case Filter(source, conditions) if not node_can_fail(plan.input) and not node_can_fail(plan):
            # A filter that can fail stays above the others, where `push_down_filter` leaves it.
            return Filter(source, conditions + plan.conditions)
        case _:
            return plan


def _simplify_project(plan: Project) -> Plan:
    if is_empty(plan.input):
        return Values(plan.columns, ())
    if plan.rule is None and plan.columns == plan.input.columns and all(map(_is_handed_through, plan.outputs)):
        return plan.input
    if isinstance(plan.input, Project) and _can_merge(plan, plan.input):
        definitions = {output.field.name: output.expression for output in plan.input.outputs}
        outputs = tuple(Output(output.field, substitute(output.expression, definitions)) for output in plan.outputs)
        return _simplify_project(Project(plan.input.input, outputs, plan.rule or plan.input.rule))
    return plan


def _is_handed_through(output: Output) -> bool:
    return isinstance(output.expression, Variable) and output.expression.name == output.field.name


def _can_merge(outer: Project, inner: Project) -> bool:
    if outer.rule is not None and inner.rule is not None:
        return False
    uses = Counter(variable.name for output in outer.outputs for variable in variables_of(output.expression))
    types = column_types(inner.input)
    for output in inner.outputs:
        if isinstance(output.expression, Variable | Constant):
            continue
        name = output.field.name
        if uses[name] > 1:
            return False
        # Inside of an expression a fault can be lost: `Y + 1 div 0` is null where Y is.
        is_told = any(hands_on_fault(one.expression, name) for one in outer.outputs)
        if not is_told and can_fail(output.expression, types):
            return False
    return True


def _simplify_union(plan: Union, inputs: tuple[Plan, ...]) -> Plan:
    flat: list[Plan] = []
    for one in inputs:
        flat += one.inputs if isinstance(one, Union) else [one]
    rest = tuple(one for one in flat if not is_empty(one)) or (flat[0],)
    if len(rest) == 1:
        return rest[0]
    return plan if rest == inputs else Union(rest)


def _without_empty_rules(stratum: PlannedStratum) -> PlannedStratum:
    """Returns a recursive rule that can give nothing need not be run in every iteration."""
    match stratum.root:
        case Definition():
            return stratum
        case Fixpoint(relations):
            new = tuple(_without_empty_rules_of(relation) for relation in relations)
            if all(one is other for one, other in zip(new, relations, strict=True)):
                return stratum
            return replace(stratum, root=replace(stratum.root, relations=new))
    assert_never(stratum.root)


def _without_empty_rules_of(relation: FixpointRelation) -> FixpointRelation:
    rules = tuple(rule for rule in relation.rules if not is_empty(rule.plan))
    return relation if len(rules) == len(relation.rules) else replace(relation, rules=rules)
