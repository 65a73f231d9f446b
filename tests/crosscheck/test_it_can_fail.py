"""Mistakes planted into an engine are found, and shrunk to programs that a person can read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.crosscheck.check import findings, smallest
from tests.crosscheck.compare import Answered, Crashed, Failed, Outcome, difference
from tests.crosscheck.engines import TooLong, outcome, patience
from tests.crosscheck.generate import Sample, sample
from tests.crosscheck.meaning import Near
from tests.crosscheck.oracle import Verdict, judged
from tests.crosscheck.programs import Program, Value

NO_CODES: frozenset[str] = frozenset()


def honest(program: Program) -> Answered | Failed:
    """The oracle as an engine: what a mistake is planted into."""
    verdict = judged(program)
    if verdict.codes:
        return Failed(min(verdict.codes))
    return Answered(
        {
            name: frozenset(tuple(v.value if isinstance(v, Near) else v for v in fact) for fact in facts)
            for name, facts in verdict.answers.items()
        }
    )


def with_mistake(change: Callable[[Value], Value]) -> Callable[[Program], Outcome]:
    def engine(program: Program) -> Outcome:
        found = honest(program)
        if isinstance(found, Failed):
            return found
        changed = {name: frozenset(tuple(map(change, fact)) for fact in facts) for name, facts in found.facts.items()}
        return Answered(changed)

    return engine


@dataclass(frozen=True, slots=True)
class Planted:
    name: str
    engine: Callable[[Program], Outcome]
    kind: str


def loses_a_fact(program: Program) -> Outcome:
    found = honest(program)
    if isinstance(found, Failed):
        return found
    return Answered({name: frozenset(sorted(facts, key=repr)[1:]) for name, facts in found.facts.items()})


def forgets_errors(program: Program) -> Outcome:
    return Answered(judged(program).answers)  # type: ignore[arg-type]


def names_another_error(program: Program) -> Outcome:
    found = honest(program)
    return Failed("DL599") if isinstance(found, Failed) else found


MISTAKES = (
    Planted("a fact is lost", loses_a_fact, "another answer"),
    Planted(
        "zero has a sign", with_mistake(lambda v: -0.0 if v == 0 and isinstance(v, float) else v), "another answer"
    ),
    Planted("ints are floats", with_mistake(lambda v: float(v) if type(v) is int else v), "another answer"),
    Planted("true is 1", with_mistake(lambda v: int(v) if isinstance(v, bool) else v), "another answer"),
    Planted("text is cut", with_mistake(lambda v: v[:1] if isinstance(v, str) else v), "another answer"),
    Planted("errors are forgotten", forgets_errors, "no error"),
    Planted("another error", names_another_error, "another error DL599"),
    Planted("an error too many", lambda program: Failed("DL502"), "an error DL502"),
    Planted("a traceback", lambda program: Crashed("IndexError: list index out of range"), "crash: IndexError"),
)


@pytest.mark.parametrize("planted", MISTAKES, ids=lambda one: one.name)
def test_a_planted_mistake_is_found_and_made_small(planted: Planted) -> None:
    engines = {"planted": planted.engine}
    found = next(one for seed in range(200) for one in findings(sample(seed), engines))
    assert found.difference.kind == planted.kind
    small = smallest(found, engines)
    assert small.difference.kind == planted.kind
    assert len(small.program.rules) <= 2
    assert len(small.program.text) <= len(found.program.text)
    assert f"seed {found.seed}, planted" in str(small)


def test_an_honest_engine_passes() -> None:
    assert [one for seed in range(100) for one in findings(sample(seed), {"honest": honest})] == []


def near(value: float, slack: float) -> Verdict:
    return Verdict({"p": frozenset({(1, Near(value, slack))})}, NO_CODES, NO_CODES)


def test_floats_may_be_near_but_not_far() -> None:
    assert difference(near(2.0, 1e-15), Answered({"p": frozenset({(1, 2.0000000000000004)})})) is None
    assert difference(near(2.0, 1e-16), Answered({"p": frozenset({(1, 2.0000000000000004)})})) is not None
    assert difference(near(2.0, 1e-15), Answered({"p": frozenset({(1, 2)})})) is not None
    assert difference(near(2.0, 1e-15), Answered({"p": frozenset({(2, 2.0)})})) is not None


def test_an_answer_may_stand_where_no_query_asks_for_the_fault() -> None:
    verdict = Verdict({"p": frozenset({(1,)})}, NO_CODES, frozenset({"DL501"}))
    assert difference(verdict, Answered({"p": frozenset({(1,)})})) is None
    assert difference(verdict, Failed("DL501")) is None
    assert difference(verdict, Failed("DL502")) is not None
    assert difference(verdict, Answered({"p": frozenset()})) is not None
    assert difference(verdict, Answered({})) is not None


def test_an_engine_that_goes_on_for_ever_is_stopped() -> None:
    def for_ever() -> dict[str, frozenset[tuple[Value, ...]]]:
        while True:
            pass

    with pytest.raises(TooLong), patience(0.05):
        for_ever()
    assert isinstance(outcome(dict), Answered)


def test_a_sample_says_where_it_comes_from() -> None:
    assert isinstance(sample(3), Sample) and sample(3).seed == 3
