"""Equations are solved for what an atom still has to bind, and chains do with what is there."""

from __future__ import annotations

import pytest

from emberlog.config import DEFAULT_LIMITS, Execution
from emberlog.datatypes import INT, INT_MAX, INT_MIN, STRING
from emberlog.events import Event, RulesProfiled
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Compare
from emberlog.workers.plan.capabilities import obstacles
from emberlog.workers.plan.rules import step_text
from emberlog.workers.plan.step_order import solved
from tests.local_runs import SETUPS, run_locally
from tests.oracle.evaluate import evaluate
from tests.programs import checked
from tests.unit.workers.test_compile import fixpoint

TYPES = {"X": INT, "Y": INT, "S": STRING}


def steps(equation: str, *bound: str) -> list[str] | None:
    (rule,) = checked(f"p(X, Y) :- q(X, Y), {equation}.").rules
    (condition,) = (one for one in rule.body if isinstance(one, Compare))
    found = solved(condition, set(bound), TYPES)
    return None if found is None else [step_text(step) for step in found[1]]


def test_the_unknown_is_what_makes_the_equation_true() -> None:
    assert steps("Y = X - 1", "Y") == [f"Y <= {INT_MAX - 1}", "X = Y + 1"]
    assert steps("3 + X = Y", "Y") == [f"Y >= {INT_MIN + 3}", "X = Y - 3"]
    assert steps("Y = X - 2 + 5", "Y") == [f"Y >= {INT_MIN + 5}", f"Y - 5 <= {INT_MAX - 2}", "X = Y - 5 + 2"]


@pytest.mark.parametrize("equation", ["Y = X * 2", "Y = X + X", "Y != X + 1", "Y = 5 - X", "Y + 1 = X - 1"])
def test_other_equations_are_not_solved(equation: str) -> None:
    assert steps(equation, "Y") is None


def test_nothing_is_solved_that_is_bound_or_of_another_type() -> None:
    assert steps("Y = X - 1", "X", "Y") is None
    assert steps("Y = X - 1") is None


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize(("first", "second"), [(INT_MAX, INT_MAX - 1), (INT_MIN + 1, INT_MIN), (0, -1)])
def test_values_at_the_end_of_the_range_find_their_partners(first: int, second: int, setup: str) -> None:
    text = f"q({first}, 0). q({second}, 0). q({first}, 1). q(X, 2) :- q(X, N), Y = X - 1, q(Y, N), X > {second}."
    program = checked(text)
    assert obstacles(fixpoint(text)) == ()
    assert run_locally(plan_program(program).plan, {}, execution=SETUPS[setup]) == evaluate(program, {})


def rows_handed_on(text: str, workers: int) -> int:
    rows = 0

    def heard(event: Event) -> None:
        nonlocal rows
        if isinstance(event, RulesProfiled):
            rows += sum(step.rows for step in event.steps)

    plan = plan_program(checked(text)).plan
    run_locally(plan, {}, DEFAULT_LIMITS, Execution(workers=workers, profile=True), heard)
    assert rows
    return rows


FOUR = """
    q(0). q(1). q(2). q(3).
    q(X) :- q(A), q(B), B = A - 1, q(C), C = B - 1, q(D), D = C - 1, X = A + 1, X < {}."""
PAIRS = """
    a(0). b(0). pair(X, Y) :- a(X), b(Y).
    a(Z) :- pair(X, _), Z = X + 1, Z < {}. b(Z) :- pair(_, Y), Z = Y + 1, Z < 10."""


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("text", [FOUR, PAIRS], ids=["four facts by their differences", "pairs without a column"])
def test_twice_the_facts_are_twice_the_rows(text: str, workers: int) -> None:
    assert rows_handed_on(text.format(120), workers) <= 2.2 * rows_handed_on(text.format(60), workers)
