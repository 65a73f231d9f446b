from __future__ import annotations

import importlib
from dataclasses import replace

import pytest

from emberlog.diagnostics import EmberlogError, InternalError
from emberlog.logical.build import build
from emberlog.logical.nodes import Join, LogicalPlan, Plan
from emberlog.logical.statistics import Statistics
from emberlog.logical.traverse import map_plans, transform
from emberlog.optimize import pipeline
from emberlog.optimize.context import PassContext
from emberlog.optimize.pipeline import PASS_NAMES, PASSES, RULE_PASSES, Pass, RulePass, optimize, plan_program
from emberlog.optimize.rewritten import Rewritten
from emberlog.semantics.model import CheckedProgram
from tests.programs import checked


def plan_of(text: str) -> LogicalPlan:
    return build(checked(text, params={}))


CLOSURE = "tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y), Y > 1."


def test_changes_name_every_pass_in_order_with_its_effect() -> None:
    optimized = plan_program(checked(CLOSURE, params={}))
    assert tuple(change.name for change in optimized.changes) == PASS_NAMES
    assert [change.name for change in optimized.changes if change.changed] == ["push_down_filter", "derive_delta_rules"]
    assert optimized.changes[0].before == plan_of(CLOSURE)
    assert optimized.changes[-1].after is optimized.plan


def test_a_pass_that_is_off_does_not_run() -> None:
    optimized = optimize(plan_of(CLOSURE), off={"push_down_filter", "derive_delta_rules"})
    assert optimized.plan == plan_of(CLOSURE)
    assert [change.name for change in optimized.changes if change.is_off] == ["push_down_filter", "derive_delta_rules"]


def test_an_unknown_pass_gives_the_nearest_name() -> None:
    with pytest.raises(EmberlogError) as caught:
        optimize(plan_of(CLOSURE), off={"push_down_filters", "nonsense"})
    first, second = caught.value.diagnostics
    assert (first.code, second.code) == ("DL301", "DL301")
    assert "nonsense" in first.message
    assert second.notes[0].text == "did you mean `push_down_filter`?"


def test_every_pass_has_a_module_of_its_name_and_a_reason() -> None:
    for one in (*RULE_PASSES, *PASSES):
        module = importlib.import_module(f"emberlog.optimize.{one.name}")
        assert getattr(module, one.name) is one.run
        assert one.reason.endswith(".")


def test_a_pass_that_breaks_the_plan_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_it(plan: LogicalPlan, context: PassContext) -> LogicalPlan:
        def join_on_nothing_there(node: Plan) -> Plan:
            return replace(node, on=("Nowhere",)) if isinstance(node, Join) else node

        return map_plans(plan, lambda one: transform(one, join_on_nothing_there))

    monkeypatch.setattr(pipeline, "PASSES", (Pass(break_it, "A test."),))
    with pytest.raises(InternalError, match=r"DL901: after break_it: there is no column Nowhere below in Join"):
        optimize(plan_of(CLOSURE))


def test_a_rule_pass_that_breaks_the_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget_types(program: CheckedProgram, statistics: Statistics) -> Rewritten:
        rules = tuple(replace(rule, types={}) for rule in program.rules)
        return Rewritten(replace(program, rules=rules), "")

    monkeypatch.setattr(pipeline, "RULE_PASSES", (RulePass(forget_types, "A test."),))
    with pytest.raises(InternalError, match=r"DL901: after forget_types: X has no type in CoreRule"):
        plan_program(checked(CLOSURE, params={}))
