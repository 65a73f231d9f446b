"""Rules that contribute to one aggregated column in different ways are brought to one form."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.logical.build import build
from emberlog.logical.invariants import check_invariants
from emberlog.logical.nodes import Aggregate, Definition
from emberlog.render.plan_text import plan_text
from tests.programs import checked

DECLARED = "declare q(int a, string s, float f). "


def aggregate_of(text: str) -> Aggregate:
    plan = build(checked(DECLARED + text, params={}))
    check_invariants(plan, "build")
    root = plan.strata[-1].root
    assert isinstance(root, Definition) and isinstance(root.plan, Aggregate)
    return root.plan


def projections(text: str) -> list[str]:
    """The projections of the heads, one per rule."""
    return [line.strip("│├└ ") for line in plan_text(aggregate_of(text)).splitlines() if "Project" in line]


def test_count_of_values_of_one_type_counts_them_as_they_are() -> None:
    assert projections("p(count<X>) :- q(X, _, _). p(count<X>) :- q(X, _, _), X > 1.") == [
        "Project count = X  [r1]",
        "Project count = X  [r2]",
    ]


def test_count_of_all_beside_count_of_values() -> None:
    assert projections("p(count<_>) :- q(_, _, _). p(count<S>) :- q(_, S, _). p(count<X>) :- q(X, _, _).") == [
        'Project count = ""  [r1]',
        "Project count = to_string(S)  [r2]",
        "Project count = to_string(X)  [r3]",
    ]


def test_a_fact_is_one_contribution_to_a_count() -> None:
    plan = aggregate_of("p(5). p(count<_>) :- q(_, _, _).")
    assert 'Values count: ("")' in plan_text(plan)


def test_mcount_of_a_key_counts_one() -> None:
    assert projections("p(mcount<X>) :- q(X, _, _). p(mcount<(X, 2)>) :- q(X, _, _).") == [
        "Project X.key = X, X = 1  [r1]",
        "Project X.key = X, X = 2  [r2]",
    ]


def test_ints_beside_floats_become_floats() -> None:
    assert projections("p(avg<X>) :- q(X, _, _). p(avg<F>) :- q(_, _, F).") == [
        "Project X = float!(X)  [r1]",
        "Project X = F  [r2]",
    ]


def test_the_first_of_two_arguments_is_named_by_its_role() -> None:
    aggregate = aggregate_of("p(argmax<F, S>, msum<(S, X)>) :- q(X, S, F).")
    assert [column.arguments for column in aggregate.aggregates] == [("S.cost", "S"), ("X.key", "X")]


def test_contributions_without_a_common_type_are_an_error() -> None:
    with pytest.raises(EmberlogError) as caught:
        aggregate_of("p(countd<X>) :- q(X, _, _). p(countd<S>) :- q(_, S, _).")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["DL303"]


def test_a_relation_that_a_rewrite_left_without_rules_has_the_columns_of_its_aggregate_all_the_same() -> None:
    program = checked(DECLARED + "p(argmax<F, S>, count<_>) :- q(_, S, F). r(X) :- q(X, _, _).", params={})
    rules = tuple(rule for rule in program.rules if rule.relation != "p")
    strata = tuple(replace(one, rules=()) if "p" in one.relations else one for one in program.strata)
    plan = build(replace(program, rules=rules, strata=strata))
    check_invariants(plan, "build")
