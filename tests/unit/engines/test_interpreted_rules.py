"""What the plan interpreter tells of each rule."""

from __future__ import annotations

import emberlog
from emberlog.config import Execution
from emberlog.profile import RunProfile

TEXT = """\
arc(1, 2). arc(2, 3). arc(3, 4).
tc(X, Y) :- arc(X, Y).
tc(X, Z) :- tc(X, Y), arc(Y, Z).
both(X) :- tc(X, _).
both(Y) :- tc(_, Y).
cheap(X, min<D>) :- tc(X, _), D = 10 * X.
cheap(Y, min<D>) :- arc(X, Y), cheap(X, E), D = E + 1.
"""


def profiled(text: str, *, profile: bool = True) -> RunProfile:
    heard = RunProfile()
    db = emberlog.Database(engine="local", progress=False)
    db.datalog(text, listener=heard, execution=Execution(profile=profile))
    return heard


def test_each_rule_has_its_rows_and_seconds() -> None:
    strata = {one.name: one for one in profiled(TEXT).strata}
    assert strata["tc"].how == "the plan interpreter"
    tc = {one.rule: (one.derived, one.kept) for one in strata["tc"].rules()}
    assert tc == {"r1": (3, 3), "r2": (3, 3)}
    by_iteration = [(one.rule, one.iteration, one.derived, one.kept) for one in strata["tc"].rounds]
    assert by_iteration[:2] == [("r1", 0, 3, 3), ("r2", 0, 0, 0)]
    assert ("r2", 1, 2, 2) in by_iteration and ("r2", 2, 1, 1) in by_iteration
    assert all(one.seconds > 0 for one in strata["tc"].rounds)


def test_a_fact_counts_for_the_rule_that_gave_it_first() -> None:
    strata = {one.name: one for one in profiled(TEXT).strata}
    both = {one.rule: (one.derived, one.kept) for one in strata["both"].rules()}
    assert sum(kept for _, kept in both.values()) == strata["both"].rows == 4
    assert set(both) == {"r3", "r4"}


def test_an_aggregate_counts_changed_groups() -> None:
    strata = {one.name: one for one in profiled(TEXT).strata}
    cheap = {one.rule: one.kept for one in strata["cheap"].rules()}
    assert cheap["r5"] == 3  # a group for each vertex that reaches another
    assert cheap["r6"] > 0
    changes = sum(one.delta_rows for one in strata["cheap"].iterations)
    assert sum(cheap.values()) == changes


def test_facts_of_the_program_are_no_rule() -> None:
    strata = {one.name: one for one in profiled("p(1). p(2). p(X) :- q(X). q(3).\n").strata}
    assert {(one.rule, one.derived) for one in strata["p"].rules()} == {("facts", 2), ("r1", 1)}


def test_nothing_is_counted_that_nobody_asks_for() -> None:
    assert all(not one.rounds for one in profiled(TEXT, profile=False).strata)
