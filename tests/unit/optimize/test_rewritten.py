"""Programs on which a rule pass once gave rules that nothing behind it could plan or run."""

from __future__ import annotations

import pytest

from emberlog.datatypes import INT
from emberlog.logical.build import LONGEST_BODY
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Column, Fact
from tests.local_runs import run_locally
from tests.oracle import evaluate as reference
from tests.programs import checked
from tests.statistics import counted

PAIR = (Column("A", INT), Column("B", INT))

FELL_OVER = {
    "a half of a rule without columns": "r(4). r(X) :- r(4), e(X, _), f(_).",
    "a body that contains another one, and computes a variable between its atoms": """
        two(X, Z) :- e(X, Y), e(Y, Z).
        loop(X, Z) :- e(X, W), Z = X, e(W, Z).""",
    "a demand with fewer columns than the rule that it is made of": """
        g(X, Y, max<Z>) :- e(Y, X), e(X, Z).
        r(A, B) :- e(A, B).
        r(A, B) :- g(B, A, C), s(B, A, C).
        s(B, A, C) :- r(A, B), e(B, C).
        r(_, 2)?""",
    "a body that is as long as it may be, and a demand in front of it": f"""
        r(X, Y) :- e(X, Y).
        r(X, Y) :- r(Y, X), {", ".join(f"X > -{number}" for number in range(1, LONGEST_BODY))}.
        r(3, Y)? r(4, Y)?""",
}


@pytest.mark.parametrize("text", FELL_OVER.values(), ids=FELL_OVER.keys())
def test_a_program_is_planned_and_run(text: str) -> None:
    program = checked(text, inputs={"e": PAIR, "f": PAIR[:1]})
    facts: dict[str, list[Fact]] = {"e": [(i % 7, i) for i in range(9)], "f": [(i,) for i in range(9)]}
    facts = {name: facts[name] for name in program.inputs}
    plan = plan_program(program, statistics=counted(program, facts)).plan
    assert run_locally(plan, facts) == reference.evaluate(program, facts)


def test_a_query_with_an_open_parameter_is_planned() -> None:
    """As `explain` does before somebody gives it a value."""
    text = "declare arc(int a, int b). tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y). tc($source, Y)?"
    assert "demand for tc" in str(plan_program(checked(text)).plan)
