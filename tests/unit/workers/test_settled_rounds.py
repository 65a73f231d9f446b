"""Rounds of a bounded recursion in which only sums change give what rounds that join give, to the last bit."""

from __future__ import annotations

import random

import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Fact
from emberlog.workers.fixpoint import bounded
from emberlog.workers.fixpoint.profile import Recorder
from emberlog.workers.fixpoint.settled_rounds import SettledRounds
from tests.local_runs import run_locally
from tests.oracle.evaluate import evaluate
from tests.programs import checked

SCHEMA = "declare arc(int a, int b, float f). declare node(int a, int n). declare zero(int a, int n).\n"
BEGIN = "@iterations(12)\np(X, V) :- node(X, _), V = 1.0.\n"
SETTLING = {
    "a sum along arcs": BEGIN + "p(Y, sum<V>) :- p(X, W), arc(X, Y, _), node(X, D), V = W / D.",
    "a value of each arc": BEGIN + "p(Y, sum<V>) :- p(X, W), arc(X, Y, F), V = W * F / 4.0.",
    "two rules": BEGIN + "p(Y, sum<V>) :- p(X, W), arc(X, Y, _), V = W / 8. p(X, sum<V>) :- p(X, W), V = 0.5 * W.",
    "a condition on keys": BEGIN + "p(Y, sum<V>) :- p(X, W), arc(X, Y, _), X < Y, !node(Y, 3), V = W / 2.",
    "two keys": """@iterations(9)
        p(X, Y, V) :- arc(X, Y, _), V = 1.0.
        p(X, Z, sum<V>) :- p(X, Y, W), arc(Y, Z, F), V = W * F / 16.0.""",
    "two relations": """@iterations(9)
        p(X, V) :- node(X, _), V = 1.0.
        p(Y, sum<V>) :- q(X, W), arc(X, Y, _), V = W / 4.
        q(Y, sum<V>) :- p(X, W), arc(Y, X, _), V = W / 4.""",
    "a division that fails for what is joined with nothing": BEGIN
    + "p(Y, sum<V>) :- p(X, W), zero(X, D), arc(X, Y, _), V = W / D.",
}
OTHERS = {
    "a value that is the arc's alone": BEGIN + "p(Y, sum<F>) :- p(X, _), arc(X, Y, F).",
    "a condition on sums": BEGIN + "p(Y, sum<V>) :- p(X, W), arc(X, Y, _), W < 2.0, V = W / 2.",
    "a key made of sums": BEGIN + "p(Y, sum<V>) :- p(X, W), arc(X, _, _), Y = floor(W), V = W / 2.",
    "a join of two sums": BEGIN + "p(Y, sum<V>) :- p(X, W), arc(X, Y, _), p(Y, U), V = (W + U) / 9.0.",
    "a minimum": """@iterations(9)
        p(X, min<V>) :- node(X, _), V = 1.0.
        p(Y, min<V>) :- p(X, W), arc(X, Y, F), V = W + F.""",
}


def facts() -> dict[str, list[Fact]]:
    dice = random.Random(5)
    arcs = {(dice.randrange(60), dice.randrange(70)): float(dice.randrange(1, 4)) for _ in range(700)}
    return {
        "arc": [(one, other, value) for (one, other), value in arcs.items() if one != 7],
        "node": [(number, number % 5 + 1) for number in range(65)],
        "zero": [(number, number - 7) for number in range(65)],
    }


def answer(text: str, *, by_reference: bool = False) -> dict[Fact, object]:
    program = checked(SCHEMA + text)
    inputs = {name: rows for name, rows in facts().items() if name in program.inputs}
    found = evaluate(program, inputs) if by_reference else run_locally(plan_program(program).plan, inputs)
    return {fact[:-1]: fact[-1] for fact in sorted(found["p"])}


def count_settled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has the number of each round that only adds up."""
    counted: list[int] = []
    run = SettledRounds.run

    def counting(rounds: SettledRounds, iteration: int, recorder: Recorder | None) -> bool:
        counted.append(iteration)
        return run(rounds, iteration, recorder)

    monkeypatch.setattr(SettledRounds, "run", counting)
    return counted


@pytest.mark.parametrize("text", SETTLING.values(), ids=SETTLING.keys())
def test_rounds_that_only_add_up_give_what_joins_give(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = count_settled(monkeypatch)
    found = answer(text)
    assert counted
    reference = answer(text, by_reference=True)
    assert found == pytest.approx(reference, rel=1e-9)
    monkeypatch.setattr(bounded, "settled_rounds", lambda *_: None)
    assert answer(text) == found


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_rounds_that_do_more_go_on_as_they_began(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = count_settled(monkeypatch)
    assert answer(text) == pytest.approx(answer(text, by_reference=True), rel=1e-9)
    assert not counted


def test_more_pairs_than_are_worth_remembering(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SETTLING["a sum along arcs"]
    expected = answer(text)
    counted = count_settled(monkeypatch)
    monkeypatch.setattr("emberlog.workers.fixpoint.settled_rounds.MOST_PAIRS", 100)
    assert answer(text) == expected
    assert not counted


def test_a_sum_that_gets_too_large_is_the_fault_of_its_rule() -> None:
    text = "@iterations(400)\np(X, V) :- node(X, _), V = 1.0. p(Y, sum<V>) :- p(X, W), arc(X, Y, _), V = W * 1000.0."
    with pytest.raises(EmberlogError, match="not a finite number in rule r2"):
        answer(text)
