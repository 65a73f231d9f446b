"""What outputs need, and no more: other rules may fail, and their facts may be missing."""

from __future__ import annotations

from emberlog.engines.interpreter import interpreter
from emberlog.logical.build import build
from emberlog.logical.needed_strata import only_what_is_needed
from emberlog.optimize.pipeline import plan_program
from tests.programs import checked

LIBRARY = """
    declare arc(int a, int b). declare color(int a, string c).
    tc(X, Y) :- arc(X, Y).
    tc(X, Y) :- tc(X, Z), arc(Z, Y).
    red(X) :- color(X, "red").
    share(X, Y) :- tc(X, Y), red(X), Y = X div 0.
    tc(1, Y)?
"""


def strata_of(text: str) -> tuple[list[tuple[str, ...]], list[str]]:
    plan = only_what_is_needed(build(checked(text, params={})))
    return [stratum.relations for stratum in plan.strata], list(plan.inputs)


def test_what_no_query_needs_is_dropped_with_the_inputs_that_only_it_reads() -> None:
    assert strata_of(LIBRARY) == ([("tc",)], ["arc"])


def test_without_a_query_every_derived_relation_is_an_output_and_facts_only_where_somebody_reads_them() -> None:
    assert strata_of("used(1). unused(2). p(X) :- used(X).") == ([("used",), ("p",)], [])


def test_a_plan_that_needs_all_of_it_is_the_same_object() -> None:
    plan = build(checked("tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y).", params={}))
    assert only_what_is_needed(plan) is plan


def test_an_emptied_rule_needs_nothing() -> None:
    text = """
        declare q(int a). declare r(int a).
        aside(X) :- r(X).
        p(X) :- q(X).
        p(X) :- aside(X), 1 > 2.
        p(X)?
    """
    plan = plan_program(checked(text, params={})).plan
    assert [stratum.relations for stratum in plan.strata] == [("p",)]
    assert list(plan.inputs) == ["q"]


def test_a_fault_in_what_nobody_needs_is_nobodys_concern() -> None:
    facts = {"arc": frozenset({(1, 2), (2, 3)})}
    for plan in (build(checked(LIBRARY, params={})), plan_program(checked(LIBRARY, params={})).plan):
        assert interpreter.run(plan, facts) == {"tc": frozenset({(1, 2), (1, 3)})}
