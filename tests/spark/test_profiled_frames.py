"""A profile of what DataFrames compute: the same new facts by rule and iteration as the interpreter counts, which finds
them in another way, and no other answers."""

from __future__ import annotations

from collections import Counter

import pytest

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.engines.local import run as local_run
from emberlog.events import Event, IterationFinished, RulesProfiled
from tests.spark.answers import SERIES_OF_JOBS

PROFILED = Execution(executor="dataframe", profile=True)
ARCS = [(1, 2), (2, 3), (3, 4), (4, 2), (4, 5), (1, 4), (6, 6), (2, None)]

PROGRAMS = {
    "sets": "tc(X, Y) :- arc(X, Y). tc(X, Y) :- arc(Y, X), X < 3. tc(X, Z) :- tc(X, Y), arc(Y, Z).",
    "two deltas": "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), tc(Y, Z).",
    "several relations": "even(1). odd(Y) :- even(X), arc(X, Y). even(Y) :- odd(X), arc(X, Y). even(9).",
    "least": "near(1, min<D>) :- D = 0. near(Y, min<D>) :- near(X, E), arc(X, Y), D = E + 1.",
    "monotone counts": "p(1, mcount<X>) :- arc(X, _). p(Y, mcount<X>) :- p(X, N), arc(X, Y), N > 0.",
    "rounds": "@iterations(4). r(X, sum<V>) :- arc(X, _), V = 1. r(Y, sum<V>) :- r(X, W), arc(X, Y), V = W + 1.",
    "no recursion": "a(X) :- arc(X, _). a(Y) :- arc(_, Y). b(count<X>) :- a(X). yes :- a(5). yes :- a(6).",
    "stages": """
        rank(0, X, sum<R>) :- arc(X, _), R = 1.
        rank(T, Y, sum<R>) :- rank(S, X, P), arc(X, Y), S < 4, T = S + 1, R = P * 2.
        rank(T, X, sum<R>) :- rank(S, X, P), S < 4, T = S + 2, R = P + 1.
    """,
}


def counted(events: list[Event]) -> Counter[tuple[str, str, int]]:
    """New facts by rule, relation and iteration."""
    return +Counter(
        {
            (one.rule, one.relation, one.iteration): one.kept
            for event in events
            if isinstance(event, RulesProfiled)
            for one in event.rounds
        }
    )


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Database[object]:
    """A database that computes without workers, which count what they find in an order of their own."""
    monkeypatch.setattr(local_run, "FEW_DERIVED", 1_000_000)
    database: Database[object] = Database(engine="local")  # type: ignore[assignment]
    database["arc"] = ARCS
    return database


@pytest.mark.parametrize("name", PROGRAMS)
def test_new_facts_are_counted_for_the_rules_that_gave_them(
    database: Database, interpreted: Database[object], name: str
) -> None:
    database["arc"] = ARCS
    events: list[Event] = []
    here: list[Event] = []
    with (
        database.datalog(PROGRAMS[name], execution=PROFILED, listener=events.append) as result,
        database.datalog(PROGRAMS[name], execution=SERIES_OF_JOBS) as plain,
    ):
        answers = {one: sorted(map(repr, result[one].collect())) for one in result}
        assert answers == {one: sorted(map(repr, plain[one].collect())) for one in plain}
    rounds = [one for event in events if isinstance(event, RulesProfiled) for one in event.rounds]
    assert all(one.seconds > 0 for one in rounds)
    assert all(one.derived is not None and one.derived >= one.kept for one in rounds)
    interpreted.datalog(PROGRAMS[name], execution=Execution(profile=True), listener=here.append)
    if name == "monotone counts":  # a fact is new to Spark if what makes it up has changed
        changed = [event.delta_rows for event in events if isinstance(event, IterationFinished)]
        by_iteration = Counter[int]()
        for one in rounds:
            by_iteration[one.iteration] += one.kept
        assert [by_iteration[iteration] for iteration in range(len(changed))] == changed
        assert counted(events) >= counted(here)
    elif name == "stages":  # each is complete before it is read, where the interpreter mends what it has read
        assert counted(events).total() == len(answers["rank"])
        first = ("r1", "rank", 0)
        assert counted(events)[first] == counted(here)[first] > 0
    else:
        assert counted(events) == counted(here)
