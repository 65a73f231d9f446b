"""A profile is one of the run that it describes: to be counted changes nothing about how facts are found and kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from emberlog import Database, Execution
from emberlog.events import Event, ExecutorChosen, IterationFinished, RulesProfiled, StratumFinished

CLOSED = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z)."
SQUARED = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), tc(Y, Z)."
SAME = "sg(X, Y) :- arc(P, X), arc(P, Y), X != Y. sg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y)."
RANKED = """
    @iterations(20).
    out(X, count<Y>) :- arc(X, Y).
    rank(X, sum<R>) :- arc(X, _), R = 0.15.
    rank(Y, sum<R>) :- rank(X, S), arc(X, Y), out(X, N), R = 0.85 * S / float(N).
"""
NEAREST = "near(1, min<D>) :- D = 0, arc(1, _). near(Y, min<D>) :- near(X, E), arc(X, Y), D = E + 1."
LARGE = [(number, (7 * number + 3) % 997) for number in range(997)] + [(number, number + 1) for number in range(997)]


def run(text: str, arcs: list[tuple[int, int]], **options: Any) -> tuple[Any, list[Event]]:
    database = Database(engine="local")
    database["arc"] = arcs
    events: list[Event] = []
    return database.datalog(text, execution=Execution(**options), listener=events.append), events


def steps(events: list[Event]) -> list[object]:
    """Who ran each stratum and how, how it kept its facts, and what came in which iteration."""
    told: list[object] = []
    for event in events:
        match event:
            case ExecutorChosen():
                told.append(event)
            case IterationFinished():
                told.append(replace(event, seconds=0.0))
            case StratumFinished():
                told.append((event.representation, event.spilled, event.rows))
            case _:
                pass
    return told


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "marks": (CLOSED, {"representation": "marks"}),
    "lanes": (CLOSED, {"representation": "lanes"}),
    "by the data": (CLOSED, {}),
    "rows": (SAME, {"representation": "rows"}),
    "rows on two workers": (SAME, {"representation": "rows", "workers": 2}),
    "hash": (CLOSED, {"representation": "hash"}),
    "two deltas": (SQUARED, {}),
    "minimum": (NEAREST, {}),
    "rounds": (RANKED, {}),
    "small": ("tc(X, Y) :- arc(X, Y), X < 20. tc(X, Z) :- tc(X, Y), arc(Y, Z), Z < 20.", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_profile_changes_no_step(name: str) -> None:
    text, options = CASES[name]
    plain, events = run(text, LARGE, **options)
    profiled, counted = run(text, LARGE, profile=True, **options)
    assert steps(counted) == steps(events)
    assert {one: profiled[one].facts for one in profiled} == {one: plain[one].facts for one in plain}


def test_a_profile_counts_every_round_of_a_bounded_recursion() -> None:
    _, events = run(RANKED, LARGE, profile=True)
    (profile,) = [one for one in events if isinstance(one, RulesProfiled) and "rank" in one.relations]
    by_round = {one.iteration: (one.derived, one.kept) for one in profile.rounds if one.iteration}
    assert len(by_round) == 20 and len(set(list(by_round.values())[1:])) == 1


def test_facts_go_to_the_disk_under_a_profile() -> None:
    little = {"representation": "hash", "memory": 36 << 20, "mode": "decomposed"}
    arcs = [(number, number + 1) for number in range(2_500)]
    folded = f"{CLOSED} pairs(count<_>) :- tc(_, _). pairs(N)?"
    _, events = run(folded, arcs, **little)
    _, counted = run(folded, arcs, profile=True, **little)
    spilled = [event.spilled for event in events if isinstance(event, StratumFinished)]
    assert "slice by slice" in spilled[0]
    assert [event.spilled for event in counted if isinstance(event, StratumFinished)] == spilled


@pytest.mark.parametrize("representation", ["marks", "lanes", "rows"])
def test_bits_count_what_is_new_and_not_what_was_derived(representation: str) -> None:
    chain = [(number, number + 1) for number in range(6)]
    _, events = run(CLOSED, chain, representation=representation, profile=True)
    (profile,) = [event for event in events if isinstance(event, RulesProfiled)]
    new = {(one.rule, one.iteration): one.kept for one in profile.rounds if one.kept}
    assert new == {("r1", 0): 6} | {("r2", number): 6 - number for number in range(1, 6)}
    assert {one.derived for one in profile.rounds if one.rule == "r2"} == {None}
    assert [one.derived for one in profile.rounds if one.rule == "r1"] == [6]


def test_seeds_that_bits_cannot_tell_apart_are_told_together() -> None:
    text = "tc(9, 9). tc(X, Y) :- arc(X, Y). tc(X, Y) :- arc(Y, X). tc(X, Z) :- tc(X, Y), arc(Y, Z)."
    _, events = run(text, [(1, 2), (2, 1)], representation="marks", profile=True)
    (profile,) = [event for event in events if isinstance(event, RulesProfiled)]
    assert {(one.rule, one.kept) for one in profile.rounds if one.kept} == {
        ("facts, r1, r2", 3),
        ("r3", 2),
    }
