"""Walking over plans and rebuilding them. Whatever does not change stays the same object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias, TypeVar, assert_never

from emberlog.datatypes import DataType
from emberlog.deadline import check_time
from emberlog.logical.expressions import condition_expressions
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
    Plan,
    PlannedStratum,
    Project,
    RecursiveRule,
    Scan,
    Union,
    Values,
)
from emberlog.syntax.ast import Expression

PLANNING = "planning the program"
"""For the error of a timeout."""

_Item = TypeVar("_Item")

Rewrite: TypeAlias = Callable[[Plan], Plan]
"""Gives back the very same object when it has nothing to change."""


def children(plan: Plan) -> tuple[Plan, ...]:
    """Returns the inputs of a node, from left to right."""
    match plan:
        case Scan() | Values():
            return ()
        case Filter(source) | Project(source) | Distinct(source) | Aggregate(source):
            return (source,)
        case Join(left, right) | AntiJoin(left, right):
            return (left, right)
        case Union(inputs):
            return inputs
    assert_never(plan)


def with_children(plan: Plan, new: tuple[Plan, ...]) -> Plan:
    """Returns the node over other inputs; the same object when they are the ones that it has."""
    if all(one is other for one, other in zip(children(plan), new, strict=True)):
        return plan
    match plan:
        case Scan() | Values():
            return plan
        case Filter() | Project() | Distinct() | Aggregate():
            return replace(plan, input=new[0])
        case Join() | AntiJoin():
            return replace(plan, left=new[0], right=new[1])
        case Union():
            return Union(new)
    assert_never(plan)


def transform(plan: Plan, rewrite: Rewrite) -> Plan:
    """Rewrites every node, inputs first; `rewrite` sees a node whose inputs are already rewritten."""
    new = []
    for child in children(plan):
        new.append(transform(child, rewrite))
    return rewrite(with_children(plan, tuple(new)))


def walk(plan: Plan) -> Iterator[Plan]:
    """Yields every node, a node before its inputs, inputs from left to right."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def scans(plan: Plan) -> tuple[Scan, ...]:
    """From left to right, which is the order of the atoms in the body."""
    return tuple(node for node in walk(plan) if isinstance(node, Scan))


def own_expressions(plan: Plan) -> tuple[Expression, ...]:
    """Returns the expressions that this node itself evaluates."""
    match plan:
        case Filter(_, conditions):
            return tuple(expression for condition in conditions for expression in condition_expressions(condition))
        case Project(_, outputs):
            return tuple(output.expression for output in outputs)
        case Scan() | Values() | Join() | AntiJoin() | Union() | Distinct() | Aggregate():
            return ()
    assert_never(plan)


def expressions(plan: Plan) -> Iterator[Expression]:
    """Yields every expression in the plan."""
    for node in walk(plan):
        yield from own_expressions(node)


def column_names(plan: Plan) -> tuple[str, ...]:
    return tuple(field.name for field in plan.columns)


def column_types(plan: Plan) -> dict[str, DataType]:
    return {field.name: field.type for field in plan.columns}


def plans_of(root: Definition | Fixpoint) -> Iterator[Plan]:
    """Yields every plan of a stratum."""
    match root:
        case Definition(_, plan):
            yield plan
        case Fixpoint(relations):
            for relation in relations:
                yield relation.seed
                for rule in relation.rules:
                    yield rule.plan
                    yield from rule.deltas
        case _:
            assert_never(root)


def relations_read(root: Definition | Fixpoint) -> set[str]:
    """Returns the names of all relations that the plans of a stratum scan."""
    return {scan.relation for plan in plans_of(root) for scan in scans(plan)}


def relation_columns(root: Definition | Fixpoint) -> dict[str, tuple[Field, ...]]:
    """Returns the relations of a stratum with their columns."""
    match root:
        case Definition(relation, plan):
            return {relation: plan.columns}
        case Fixpoint(relations):
            return {relation.name: relation.columns for relation in relations}
    assert_never(root)


def map_plans(logical: LogicalPlan, rewrite: Rewrite) -> LogicalPlan:
    """Rewrites every plan of every stratum as a whole."""
    return map_strata(logical, lambda stratum: map_stratum_plans(stratum, rewrite))


def map_stratum_plans(stratum: PlannedStratum, rewrite: Rewrite) -> PlannedStratum:
    """Rewrites every plan of one stratum as a whole."""

    check_time(PLANNING)

    def of_rule(rule: RecursiveRule) -> RecursiveRule:
        plan, deltas = rewrite(rule.plan), _mapped(rule.deltas, rewrite)
        return rule if plan is rule.plan and deltas is rule.deltas else replace(rule, plan=plan, deltas=deltas)

    def of_relation(relation: FixpointRelation) -> FixpointRelation:
        seed, rules = rewrite(relation.seed), _mapped(relation.rules, of_rule)
        return (
            relation if seed is relation.seed and rules is relation.rules else replace(relation, seed=seed, rules=rules)
        )

    match stratum.root:
        case Definition(_, plan):
            new = rewrite(plan)
            return stratum if new is plan else replace(stratum, root=replace(stratum.root, plan=new))
        case Fixpoint(relations):
            mapped = _mapped(relations, of_relation)
            return stratum if mapped is relations else replace(stratum, root=replace(stratum.root, relations=mapped))
    assert_never(stratum.root)


def map_strata(logical: LogicalPlan, rewrite: Callable[[PlannedStratum], PlannedStratum]) -> LogicalPlan:
    strata = _mapped(logical.strata, rewrite)
    return logical if strata is logical.strata else replace(logical, strata=strata)


def _mapped(items: tuple[_Item, ...], rewrite: Callable[[_Item], _Item]) -> tuple[_Item, ...]:
    new = tuple(rewrite(item) for item in items)
    return items if all(one is other for one, other in zip(new, items, strict=True)) else new
