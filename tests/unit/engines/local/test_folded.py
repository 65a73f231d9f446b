"""Facts that are only counted, or the like: computed in one go with what folds them, and never listed."""

from __future__ import annotations

import pytest

from emberlog.config import DEFAULT_EXECUTION, Execution, Limits
from emberlog.diagnostics import EmberlogError
from emberlog.events import Event, ExecutorChosen, RulesProfiled, StratumFinished
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Fact
from tests.local_runs import SETUPS, run_locally
from tests.oracle.evaluate import evaluate
from tests.programs import checked

ARC = "declare arc(int a, int b).\n"
TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
SG = "sg(X, Y) :- arc(P, X), arc(P, Y), X != Y.\nsg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y).\n"
NEAR = "near(X, Y, min<D>) :- arc(X, Y), D = 1.\nnear(X, Y, min<D>) :- near(X, Z, C), arc(Z, Y), D = C + 1.\n"
FOLDED = {
    "all facts": f"{TC}n(count<_>) :- tc(_, _).\nn(N)?",
    "facts of each key": f"{TC}n(X, count<_>) :- tc(X, _).\nn(X, N)?",
    "facts of each key that moves": f"{TC}n(Y, count<_>) :- tc(_, Y).\nn(Y, N)?",
    "same generation": f"{SG}n(count<_>) :- sg(_, _).\nn(N)?",
    "some facts": f"{TC}n(X, sum<Y>) :- tc(X, Y), X < Y, arc(Y, _).\nn(X, N)?",
    "means and farthest": f"{TC}mean(X, avg<Y>) :- tc(X, Y).\nfar(max<Y>) :- tc(_, Y).\nmean(X, M)?\nfar(Y)?",
    "distances": f"{NEAR}n(D, count<_>) :- near(_, _, D).\nn(D, N)?",
    "what is counted is read": f"{TC}n(X, count<_>) :- tc(X, _).\nmost(max<N>) :- n(_, N).\nmost(N)?",
    "two that recurse": """
odd(X, Y) :- arc(X, Y).
odd(X, Y) :- even(X, Z), arc(Z, Y).
even(X, Y) :- odd(X, Z), arc(Z, Y).
n(count<_>) :- even(_, _).
m(X, count<_>) :- odd(X, _).
n(N)?
m(X, N)?
""",
    "without recursion": "pair(X, Y) :- arc(P, X), arc(P, Y), X < Y.\nn(Y, count<_>) :- pair(_, Y).\n"
    "m(X, count<_>) :- pair(X, _).\nn(Y, N)?\nm(X, N)?",
}
GRAPH: list[Fact] = [(a, b) for a in range(40) for b in ((a * 3 + 1) % 40, (a * 5 + 2) % 40)]
MODES = {
    **SETUPS,
    "async": Execution(workers=3, mode="async"),
    "hash": Execution(workers=2, representation="hash"),
    "locality": Execution(workers=2, mode="bsp", partitioning="locality"),
}
NEVER_LISTED = "never listed"


def ran(
    text: str, execution: Execution = DEFAULT_EXECUTION, arcs: list[Fact] = GRAPH, limits: Limits | None = None
) -> tuple[dict[str, frozenset[Fact]], list[Event]]:
    events: list[Event] = []
    plan = plan_program(checked(ARC + text)).plan
    return run_locally(plan, {"arc": arcs}, limits or Limits(), execution, events.append), events


def are_folded(events: list[Event]) -> bool:
    return any(isinstance(event, ExecutorChosen) and NEVER_LISTED in event.why for event in events)


def rows(events: list[Event]) -> dict[str, int | None]:
    return {", ".join(event.relations): event.rows for event in events if isinstance(event, StratumFinished)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FOLDED)
def test_the_answer_is_that_of_the_reference(name: str, mode: str) -> None:
    found, events = ran(FOLDED[name], MODES[mode])
    assert found == evaluate(checked(ARC + FOLDED[name]), {"arc": GRAPH})
    assert are_folded(events)


def test_who_counts_facts_tells_how_many_there_were() -> None:
    found, events = ran(FOLDED["all facts"])
    ((count,),) = found["n"]
    assert rows(events) == {"tc": count, "n": 1}
    (chosen,) = (event for event in events if isinstance(event, ExecutorChosen))
    assert chosen.why.endswith("folded at once into n, and never listed")


def test_facts_that_somebody_else_reads_are_listed() -> None:
    for query in ("n(N)?\ntc(X, Y)?", "both(X, N)?"):
        _, events = ran(f"{TC}n(count<_>) :- tc(_, _).\nboth(X, N) :- tc(X, 1), n(N).\n{query}")
        assert not are_folded(events)


def test_more_facts_than_there_is_room_for_can_be_counted() -> None:
    """Some five million, in a list of 72 MiB."""
    chain: list[Fact] = [(number, number + 1) for number in range(3072)]
    little = Execution(memory=36 << 20)
    found, events = ran(FOLDED["all facts"], little, chain)
    count = 3072 * 3073 // 2
    assert found["n"] == {(count,)}
    assert rows(events)["tc"] == count
    with pytest.raises(EmberlogError, match="DL514"):
        ran(f"{TC}tc(X, Y)?", little, chain)


def test_facts_that_are_not_listed_count_for_the_limits() -> None:
    with pytest.raises(EmberlogError, match="DL511"):
        ran(FOLDED["all facts"], limits=Limits(max_rows=100))


def test_the_rules_that_fold_are_profiled() -> None:
    _, events = ran(FOLDED["facts of each key"], Execution(profile=True))
    (profiled,) = (event for event in events if isinstance(event, RulesProfiled))
    assert {"tc", "n"} <= {step.relation for step in profiled.steps}
