"""A bounded recursion gives what the oracle gives, and ends when a round repeats the facts of the one before."""

from __future__ import annotations

import random

import pytest

from emberlog.config import Execution
from emberlog.diagnostics import EmberlogError
from emberlog.events import Event, StratumFinished
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Fact
from emberlog.workers.store.joined import Joined
from emberlog.workers.store.stores import KeyedStore
from tests.local_runs import SETUPS, run_locally
from tests.oracle.evaluate import evaluate
from tests.programs import checked

PROGRAM = """
    declare node(int a).
    declare arc(int a, int b).
    @iterations(9)
    mean(X, avg<V>) :- node(X), V = 1.0.
    mean(Y, avg<V>) :- mean(X, V), arc(X, Y).
    mean(X, V)?
"""
NODES = range(4000)


@pytest.mark.parametrize("execution", SETUPS.values(), ids=SETUPS)
def test_an_average_that_stays_is_the_same_fact(execution: Execution) -> None:
    """Of one contribution in the first round and of two in the second; by the third all is known."""
    arcs = [(node, (node + 1) % len(NODES)) for node in reversed(NODES)]
    events: list[Event] = []
    plan = plan_program(checked(PROGRAM)).plan
    found = run_locally(
        plan, {"node": [(node,) for node in NODES], "arc": arcs}, execution=execution, listener=events.append
    )
    assert found["mean"] == frozenset((node, 1.0) for node in NODES)
    assert [event.iterations for event in events if isinstance(event, StratumFinished) and event.iterations] == [2]


SCHEMA = "declare arc(int a, int b, float f). declare node(int a, int n). declare zero(int a, int n).\n"
BEGIN = "@iterations(12)\np(X, V) :- node(X, _), V = 1.0.\n"
SUMS = {
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
OTHER_PROGRAMS = {
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


def answer(text: str, execution: Execution | None) -> dict[Fact, object]:
    """Returns the last column of each fact by the others; without an execution, what the oracle finds."""
    program = checked(SCHEMA + text)
    inputs = {name: rows for name, rows in facts().items() if name in program.inputs}
    if execution is None:
        found = evaluate(program, inputs)
    else:
        found = run_locally(plan_program(program).plan, inputs, execution=execution)
    return {fact[:-1]: fact[-1] for fact in sorted(found["p"])}


@pytest.mark.parametrize("execution", SETUPS.values(), ids=SETUPS)
@pytest.mark.parametrize("text", [*SUMS.values(), *OTHER_PROGRAMS.values()], ids=[*SUMS, *OTHER_PROGRAMS])
def test_rounds_give_what_the_oracle_gives(text: str, execution: Execution) -> None:
    assert answer(text, execution) == pytest.approx(answer(text, None), rel=1e-9)


def test_pages_are_ranked_without_writing_joins_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The join that repeats a value comes last, so that each of its pairs is added to its sum as it is met."""
    added: list[bool] = []
    add_joined = KeyedStore.add_joined

    def counting(store: KeyedStore, joined: Joined) -> bool:
        added.append(add_joined(store, joined))
        return added[-1]

    monkeypatch.setattr(KeyedStore, "add_joined", counting)
    answer(SUMS["a sum along arcs"], SETUPS["cyclic-1"])
    assert added and all(added)


def test_a_sum_that_gets_too_large_is_the_fault_of_its_rule() -> None:
    text = "@iterations(400)\np(X, V) :- node(X, _), V = 1.0. p(Y, sum<V>) :- p(X, W), arc(X, Y, _), V = W * 1000.0."
    with pytest.raises(EmberlogError, match="not a finite number in rule r2"):
        answer(text, SETUPS["cyclic-1"])
