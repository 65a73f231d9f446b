"""What only has to be there is met once: counted in rows that are handed on, on the interpreter and by the workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

import pytest

from emberlog.config import DEFAULT_LIMITS, Execution
from emberlog.datatypes import INT
from emberlog.engines.interpreter import interpreter
from emberlog.events import Event, RulesProfiled
from emberlog.logical.nodes import Plan
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import CheckedProgram, Column, Fact
from tests.local_runs import run_locally
from tests.oracle.evaluate import evaluate
from tests.programs import checked

ONE, TWO = (Column("a", INT),), (Column("a", INT), Column("b", INT))
INPUTS = {"i": ONE, "e": ONE, "f": ONE, "g": ONE, "p": TWO}

PROGRAMS = {
    "a relation": "q(X) :- i(X), e(_), f(_), g(_).",
    "the question first": "q(X) :- e(_), f(_), g(_), i(X).",
    "a semijoin": "q(X) :- i(X), p(X, _), p(_, X), p(5, _).",
    "nothing but questions": "q(1) :- e(_), f(_), p(_, _).",
    "an aggregate that takes repeats": "q(X, max<Y>) :- i(X), p(Y, _), Y = X, e(_), f(_).",
    "a recursion": "q(X) :- i(X), X < 3. q(Y) :- q(X), Y = X + 1, i(Y), e(_), f(_), p(Y, _).",
    "the recursion itself": "q(X) :- i(X), X < 3. q(X) :- q(_), i(X), e(_), f(_).",
}


def facts_of(size: int, program: CheckedProgram) -> dict[str, list[Fact]]:
    single: list[Fact] = [(number,) for number in range(size)]
    pairs: list[Fact] = [(number, (number + step) % size) for number in range(size) for step in range(8)]
    return {name: pairs if name == "p" else single for name in program.inputs}


def handed_on(text: str, size: int, off: Set[str] = frozenset(), workers: int | None = None) -> int:
    """The rows of all nodes of the plan, or of all steps of the workers, added up; the answer is right."""
    program = checked(text, inputs=INPUTS)
    facts = facts_of(size, program)
    plan = plan_program(program, off=off).plan
    counts: Counter[str] = Counter()

    def saw(_node: Plan, rows: int) -> None:
        counts["rows"] += rows

    def heard(event: Event) -> None:
        if isinstance(event, RulesProfiled):
            counts["rows"] += sum(step.rows for step in event.steps)

    if workers is None:
        found = interpreter.run(plan, facts, DEFAULT_LIMITS, saw)
    else:
        found = run_locally(plan, facts, DEFAULT_LIMITS, Execution(workers=workers, profile=True), heard)
    if size < 30:
        assert found == evaluate(program, facts)
    return counts["rows"]


@pytest.mark.parametrize("workers", [None, 1, 2])
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_twice_the_facts_are_twice_the_rows(text: str, workers: int | None) -> None:
    handed_on(text, 12, workers=workers)
    small, large = handed_on(text, 40, workers=workers), handed_on(text, 80, workers=workers)
    assert large <= 2.2 * small


def test_without_the_pass_they_are_many_more() -> None:
    text, off = PROGRAMS["a relation"], {"ask_for_existence"}
    assert handed_on(text, 20, off) > 100 * handed_on(text, 20)


@pytest.mark.parametrize("aggregate", ["count<_>", "sum<X>", "avg<X>", "collect<X>"])
@pytest.mark.parametrize("workers", [None, 1, 2])
def test_where_valuations_count_all_are_counted(aggregate: str, workers: int | None) -> None:
    handed_on(f"q(X, {aggregate}) :- i(X), e(_), p(X, _).", 6, workers=workers)
