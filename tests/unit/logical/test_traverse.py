from __future__ import annotations

from dataclasses import replace

from emberlog.logical.build import build
from emberlog.logical.nodes import Distinct, Filter, Join, Plan, Project, Scan, Union
from emberlog.logical.traverse import (
    children,
    expressions,
    map_plans,
    plans_of,
    scans,
    transform,
    walk,
    with_children,
)
from emberlog.syntax.printer import print_expression
from tests.programs import checked

PROGRAM = """
declare q(int a, int b).
p(X, count<_>) :- q(X, Y), !q(Y, _), Y > 1.
p(X, count<_>) :- q(X, 3).
t(X, Y) :- q(X, Y).
t(X, Y) :- t(X, Z), t(Z, Y).
"""
LOGICAL = build(checked(PROGRAM))
PLANS = [plan for stratum in LOGICAL.strata for plan in plans_of(stratum.root)]
COUNT = PLANS[0]


def test_walk_meets_every_node_before_its_inputs() -> None:
    assert [type(node).__name__ for node in walk(COUNT)] == [
        *("Aggregate", "Union", "Project", "Filter", "AntiJoin", "Scan", "Distinct", "Project", "Scan"),
        *("Project", "Filter", "Scan"),
    ]


def test_every_plan_of_a_fixpoint_is_found() -> None:
    assert len(PLANS) == 3
    assert [scan.relation for plan in PLANS for scan in scans(plan)] == ["q", "q", "q", "q", "t", "t"]


def test_expressions_of_filters_and_projections() -> None:
    assert [print_expression(one) for one in expressions(COUNT)] == ["X", "Y", "1", "Y", "X", "q.2", "3"]


def test_with_the_children_it_has_a_node_stays_the_same() -> None:
    for plan in PLANS:
        for node in walk(plan):
            assert with_children(node, children(node)) is node


def test_transform_sees_rewritten_inputs_and_keeps_what_does_not_change() -> None:
    def rename(node: Plan) -> Plan:
        return replace(node, relation="z") if isinstance(node, Scan) else node

    renamed = transform(COUNT, rename)
    assert {scan.relation for scan in scans(renamed)} == {"z"}
    assert transform(renamed, rename) == renamed
    assert transform(COUNT, lambda node: node) is COUNT


def test_map_plans_keeps_the_plan_when_nothing_changes() -> None:
    assert map_plans(LOGICAL, lambda plan: plan) is LOGICAL
    changed = map_plans(LOGICAL, lambda plan: Distinct(plan) if isinstance(plan, Project) else plan)
    assert changed is not LOGICAL
    assert changed.strata[0] is LOGICAL.strata[0]
    assert [type(plan) for stratum in changed.strata[1:] for plan in plans_of(stratum.root)] == [Distinct, Distinct]


def test_children_of_every_kind_of_node() -> None:
    for plan in PLANS:
        for node in walk(plan):
            expected = {Scan: 0, Filter: 1, Join: 2, Union: 2}.get(type(node))
            assert expected is None or len(children(node)) == expected
