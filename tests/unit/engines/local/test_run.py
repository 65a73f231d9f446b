"""Programs in this process: who evaluates what, what is told, and what stops a run."""

from __future__ import annotations

import importlib
import logging
import sys
from itertools import pairwise

import pyarrow as pa
import pytest

from emberlog.config import DEFAULT_EXECUTION, DEFAULT_LIMITS, Execution, Limits
from emberlog.database import Database
from emberlog.datatypes import INT, STRING
from emberlog.diagnostics import EmberlogError
from emberlog.engines.local import run as local_run
from emberlog.events import Event, ExecutorChosen, IterationFinished, RulesProfiled, RunFinished, StratumFinished
from emberlog.io.local_relation import LocalRelation
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import CellValue, Column, Fact
from emberlog.workers.plan.mode import Mode
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Progress
from tests.local_runs import SETUPS
from tests.oracle.evaluate import evaluate
from tests.programs import checked

TC = "tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y)."
CHAIN: list[Fact] = [(i, i + 1) for i in range(6)]


def ran(
    text: str,
    arcs: list[Fact] = CHAIN,
    execution: Execution = DEFAULT_EXECUTION,
    limits: Limits = DEFAULT_LIMITS,
    *,
    interpret_small: bool = False,
) -> tuple[dict[str, frozenset[Fact]], list[Event]]:
    types = [STRING if any(isinstance(arc[i], str) for arc in arcs) else INT for i in range(2)]
    plan = plan_program(checked(text, inputs={"arc": [Column(f"c{i}", types[i]) for i in range(2)]})).plan
    events: list[Event] = []
    found = local_run.run(
        plan,
        {"arc": LocalRelation(["a", "b"], types, arcs)},
        limits,
        events.append,
        execution=execution,
        interpret_small=interpret_small,
    )
    return {name: relation.facts for name, relation in found.items()}, events


def chosen(events: list[Event]) -> list[str]:
    return [event.executor for event in events if isinstance(event, ExecutorChosen)]


def closure(arcs: list[Fact]) -> set[tuple[CellValue, CellValue]]:
    pairs = {(arc[0], arc[1]) for arc in arcs}
    while True:
        more = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not more:
            return pairs
        pairs |= more


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("mode", ["bsp", "decomposed"])
def test_recursion_is_for_the_workers(workers: int, mode: str) -> None:
    answers, events = ran(TC, execution=Execution(workers=workers, mode=mode))
    assert answers["tc"] == closure(CHAIN)
    assert chosen(events) == ["cyclic"]


@pytest.mark.parametrize("mode", ["bsp", "decomposed"])
def test_iterations_are_told_for_all_workers_together(mode: str) -> None:
    for workers in (1, 3):
        _, events = ran(TC, execution=Execution(workers=workers, mode=mode))
        told = [event for event in events if isinstance(event, IterationFinished)]
        assert [event.iteration for event in told] == [1, 2, 3, 4, 5, 6]
        assert [event.delta_rows for event in told] == [6, 5, 4, 3, 2, 1]
        assert told[-1].total_rows == 21
        (stratum,) = [event for event in events if isinstance(event, StratumFinished)]
        assert (stratum.iterations, stratum.rows) == (6, 21)
        assert isinstance(events[-1], RunFinished)


def test_what_the_workers_cannot_do_is_interpreted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    text = "p(X, min<X>) :- arc(X, _). p(Y, min<T>) :- p(X, T), arc(X, Y)."
    with caplog.at_level(logging.INFO, "emberlog"):
        answers, events = ran(text, [("a", "c"), ("c", "b")])
    assert answers["p"] == {("a", "a"), ("b", "a"), ("c", "a")}
    assert chosen(events) == ["interpreter"]
    assert "aggregates text" in caplog.text
    assert [event.iteration for event in events if isinstance(event, IterationFinished)] == [1, 2, 3]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("mode", ["bsp", "async"])
def test_texts_are_made_and_looked_into_by_the_workers(workers: int, mode: str) -> None:
    text = 'p(S) :- arc(S, _). p(cat(S, "x")) :- p(S), len(S) < 3, S < "c", matches(S, "[ab]x*").'
    answers, events = ran(text, [("a", "b"), ("b", "b"), ("c", "b")], execution=Execution(workers=workers, mode=mode))
    assert answers["p"] == {("a",), ("ax",), ("axx",), ("b",), ("bx",), ("bxx",), ("c",)}
    assert chosen(events) == ["cyclic"]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("mode", ["bsp", "decomposed", "async"])
def test_workers_carry_nulls(workers: int, mode: str) -> None:
    answers, events = ran(TC, [*CHAIN, (None, 1), (2, None)], execution=Execution(workers=workers, mode=mode))
    ends = {(None, i) for i in (*range(1, 7), None)} | {(i, None) for i in range(3)}
    assert answers["tc"] == closure(CHAIN) | ends
    assert chosen(events) == ["cyclic"]


def test_what_may_be_null_is_not_aggregated_by_the_workers() -> None:
    text = "near(X, min<X>) :- arc(X, _). near(Y, min<Z>) :- near(X, D), arc(X, Y), Z = least(D, Y)."
    answers, events = ran(text, [*CHAIN, (2, None)])
    assert answers["near"] == {*((i, 0) for i in range(7)), (None, None)}
    assert chosen(events) == ["interpreter"]


def test_the_int_that_stands_for_null_is_not_mistaken_for_it() -> None:
    least = -(2**63)
    answers, events = ran(TC, [(least, 1), (None, 2), (2, least)])
    assert answers["tc"] == {(least, 1), (None, 2), (2, least), (None, least), (2, 1), (None, 1)}
    assert chosen(events) == ["cyclic", "interpreter"]  # it cannot be told from null in the first column
    answers, events = ran("n(X) :- arc(X, _), arc(_, X). n(Y) :- n(X), arc(X, Y). n(null).", [(least, least)])
    assert answers["n"] == {(least,), (None,)}
    assert chosen(events) == ["cyclic", "interpreter"]
    answers, events = ran("n(X) :- arc(X, _). n(Y) :- n(X), arc(X, Y), !arc(Y, _).", [(least, 1), (1, None)])
    assert answers["n"] == {(least,), (1,), (None,)}


@pytest.mark.parametrize(
    ("text", "arcs", "execution", "code"),
    [
        ('p(1, "a"). p(X, min<T>) :- p(Y, T), arc(Y, X).', CHAIN, Execution(executor="cyclic"), "DL333"),
        (TC, [(None, 1), (-(2**63), 1)], Execution(executor="cyclic"), "DL333"),
        (TC.replace("arc(Z, Y)", "tc(Z, Y), X != Y"), CHAIN, Execution(mode="decomposed"), "DL332"),
        (TC, CHAIN, Execution(executor="dataframe"), "DL336"),
        ("n(1). n(X * 4) :- n(X), X > 0.", CHAIN, DEFAULT_EXECUTION, "DL502"),
        ("n(3). n(6 div (X - 2)) :- n(X). n(X - 1) :- n(X), X > -1.", CHAIN, DEFAULT_EXECUTION, "DL501"),
    ],
)
def test_errors(text: str, arcs: list[Fact], execution: Execution, code: str) -> None:
    with pytest.raises(EmberlogError, match=code):
        ran(text, arcs, execution)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(max_iterations=5), "DL510"),
        (Limits(max_rows=50), "DL511"),
        (Limits(timeout=1e-9), "DL512"),
    ],
)
def test_limits(workers: int, limits: Limits, code: str) -> None:
    with pytest.raises(EmberlogError, match=code):
        ran("n(0). n(X + 1) :- n(X), X < 100000.", limits=limits, execution=Execution(workers=workers))


def test_a_small_recursion_is_interpreted_as_long_as_it_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(ran(TC, interpret_small=True)[1]) == ["interpreter"]
    assert chosen(ran(TC, execution=Execution(executor="cyclic"), interpret_small=True)[1]) == ["cyclic"]
    monkeypatch.setattr(local_run, "FEW_DERIVED", 12)
    answers, events = ran(TC, interpret_small=True)
    assert chosen(events) == ["interpreter", "cyclic"]
    assert answers["tc"] == closure(CHAIN)
    monkeypatch.setattr(local_run, "FEW_READ", 3)
    assert chosen(ran(TC, interpret_small=True)[1]) == ["cyclic"]


def test_a_query_restricts_the_answer_and_inputs_are_sets() -> None:
    assert ran(TC + "tc(2, Y)?")[0]["tc"] == {(2, 3), (2, 4), (2, 5), (2, 6)}
    assert ran(TC + "tc(X, X)?", [(1, 2), (2, 1)])[0]["tc"] == {(1, 1), (2, 2)}
    assert ran(TC + "arc(X, Y)?", [(1, 2), (1, 2)])[0]["arc"] == {(1, 2)}


@pytest.mark.parametrize("workers", [1, 2])
def test_rules_are_profiled_when_asked_for(workers: int) -> None:
    assert not any(isinstance(event, RulesProfiled) for event in ran(TC)[1])
    _, events = ran(TC, execution=Execution(workers=workers, profile=True, representation="hash"))
    (profile,) = [event for event in events if isinstance(event, RulesProfiled)]
    by_iteration = {(one.rule, one.iteration): (one.derived, one.kept) for one in profile.rounds if one.derived}
    assert by_iteration == {("r1", 0): (6, 6)} | {("r2", i): (6 - i, 6 - i) for i in range(1, 6)}
    assert all(one.seconds >= 0 and one.relation == "tc" for one in profile.rounds)


def test_rows_that_were_known_are_not_new() -> None:
    _, events = ran(TC, [(1, 2), (2, 1)], Execution(profile=True, representation="hash"))
    (profile,) = [event for event in events if isinstance(event, RulesProfiled)]
    derived, kept = (sum(getattr(one, field) for one in profile.rounds) for field in ("derived", "kept"))
    assert (derived, kept) == (6, 4)


def test_workers_at_their_own_pace_give_one_account() -> None:
    told: list[Progress] = []
    merged = MergedProgress(2, told.append, Mode.DECOMPOSED)
    merged.report(0, Progress(1, 5, 5))
    merged.report(0, Progress(2, 2, 7))
    assert told == []
    merged.report(1, Progress(1, 1, 1))
    assert told == [Progress(1, 6, 6)]
    merged.finish(1)
    assert told[1:] == [Progress(2, 2, 8)]
    merged.report(0, Progress(3, 1, 8))
    merged.finish(0)
    assert told[2:] == [Progress(3, 1, 9)]


@pytest.mark.parametrize("representation", ["auto", "hash", "marks", "lanes", "rows"])
@pytest.mark.parametrize("workers", [1, 3])
def test_every_representation_gives_the_same_answer(representation: str, workers: int) -> None:
    arcs: list[Fact] = [(i, (i * factor + 3) % 40) for factor in (7, 3) for i in range(40)]
    answers, _ = ran(TC, arcs, Execution(workers=workers, representation=representation))
    assert answers["tc"] == closure(arcs)


def test_a_condition_keeps_what_has_no_value_from_being_computed() -> None:
    """The condition could fail itself, as a negated int can be too large; it comes before the division all the same."""
    text = "p(X) :- arc(X, _). p(Y) :- p(X), arc(X, Y), Z = -X mod 3, Z < 0, Q = Y / Z."
    answers, events = ran(text)
    assert chosen(events) == ["cyclic"]
    assert answers["p"] == {(i,) for i in range(7)}


@pytest.mark.parametrize("execution", SETUPS.values(), ids=SETUPS)
@pytest.mark.parametrize(
    "program",
    [
        "p(X, Y) :- arc(X, Y). p(X, Z) :- p(X, Y), arc(Y, Z). n(X, count<Y>) :- arc(X, Y). p(X, Y)? n(X, C)?",
        "p(X, sum<V>) :- arc(X, V). p(X, V)?",
        "@iterations(3) p(X, sum<V>) :- arc(X, _), V = 1. p(Y, sum<V>) :- p(X, V), arc(X, Y). p(X, V)?",
        "p(X, min<V>) :- arc(X, V). p(Y, min<V>) :- p(X, V), arc(X, Y). p(X, V)?",
        "p(X, Y) :- arc(X, Y), arc(Y, X). p(X, Y)? arc(X, Y)?",
    ],
)
def test_rows_that_come_twice_are_one_fact(program: str, execution: Execution) -> None:
    """Whether workers make them one, or need not, as nobody would notice."""
    arcs = [(number % 7, number % 5) for number in range(40)] * 3
    check = checked("declare arc(int a, int b).\n" + program)
    plan = plan_program(check).plan
    table = pa.table({"a": [a for a, _ in arcs], "b": [b for _, b in arcs]})
    found = local_run.run(plan, {"arc": LocalRelation(["a", "b"], [INT, INT], table)}, execution=execution)
    expected = evaluate(check, {"arc": arcs})
    assert {name: (relation.facts, relation.to_arrow().num_rows) for name, relation in found.items()} == {
        name: (facts, len(facts)) for name, facts in expected.items()
    }


def test_a_recursion_that_handles_many_rows_is_not_small_however_few_it_derives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_run, "few_handled", lambda: 20)
    facts, events = ran(TC, interpret_small=True)
    assert chosen(events) == ["interpreter", "cyclic"]
    assert facts["tc"] == closure(CHAIN)


def test_less_is_interpreted_once_kernels_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "emberlog.engines.local.recursion", raising=False)
    assert local_run.few_handled() == local_run.FEW_HANDLED
    importlib.import_module("emberlog.engines.local.recursion")
    assert local_run.few_handled() == local_run.FEW_HANDLED_LOADED


def test_a_recursion_that_was_not_small_goes_to_workers_when_it_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_run, "FEW_HANDLED_LOADED", 20)
    monkeypatch.setattr(local_run, "few_handled", lambda: 1_000)
    database = Database(engine="local")
    events: list[Event] = []
    for rows, executor, why in (
        (CHAIN, "interpreter", "it is small"),
        (CHAIN, "cyclic", "it was not small when it ran before"),
        (CHAIN[:2], "interpreter", "it is small"),
    ):
        database["arc"] = pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]})
        events.clear()
        assert set(database.datalog(TC, listener=events.append)["tc"]) == closure(rows)
        assert chosen(events) == [executor]
        assert any(why in event.why for event in events if isinstance(event, ExecutorChosen))


def test_what_small_relations_make_together_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_run, "FEW_HANDLED", 30)
    events: list[Event] = []
    pairs = {(x, y) for x, _ in CHAIN for y, _ in CHAIN}
    near = {(x, z) for (x, _), (_, z) in pairwise(CHAIN)}
    for program, executors, facts in (
        ("q(X, Y) :- arc(X, _), arc(Y, _).", ["cyclic"], pairs),
        ("q(X, Y) :- arc(X, Z), arc(Z, Y).", [], near),
    ):
        database = Database(engine="local")
        database["arc"] = CHAIN
        events.clear()
        assert set(database.datalog(program, listener=events.append)["q"]) == facts
        assert chosen(events) == executors
