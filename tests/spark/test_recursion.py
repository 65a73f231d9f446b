"""Recursion on Spark: how the rounds go, what they tell, what stops them, and that they leave nothing behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Limits
from emberlog.datatypes import INT
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.frames import partitions, stages
from emberlog.engines.spark.frames.settings import CHANGED
from emberlog.events import (
    Event,
    ExecutorChosen,
    IterationFinished,
    RunFinished,
    RunStarted,
    StratumFinished,
    StratumStarted,
)
from emberlog.language.registry import BUILT_IN
from emberlog.logical.build import build
from emberlog.optimize.pipeline import optimize
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import Fact
from tests.oracle.evaluate import evaluate
from tests.programs import checked, parsed
from tests.spark.answers import run_dataframe
from tests.spark.storage import jobs_end, kept_frames

CLOSURE = """\
declare arc(int a, int b).
tc(X, Y) :- arc(X, Y).
tc(X, Y) :- tc(X, Z), arc(Z, Y).
"""
NON_LINEAR = """\
declare arc(int a, int b).
tc(X, Y) :- arc(X, Y).
tc(X, Y) :- tc(X, Z), tc(Z, Y), X != Y.
"""
DISTANCES = """\
declare arc(int a, int b).
near(X, min<D>) :- X = 0, D = 0.
near(Y, min<D>) :- near(X, D1), arc(X, Y), D = D1 + 1.
"""
ENDLESS = """\
n(X) :- X = 1.
n(Y) :- n(X), Y = X + 1.
"""
STAGED = """\
declare arc(int a, int b).
rank(X, I, sum<V>) :- arc(X, _), I = 0, V = 1.
rank(Y, J, sum<V>) :- rank(X, I, V), arc(X, Y), I < 6, J = I + 1.
"""


@pytest.fixture
def frames_before(spark: SparkSession) -> int:
    """What other tests have left behind, which may go at any time."""
    return kept_frames(spark)


def chain(length: int) -> list[Fact]:
    return [(index, index + 1) for index in range(length)]


def assert_same(spark: SparkSession, text: str, arcs: Iterable[Fact]) -> None:
    program, facts = checked(text), {"arc": frozenset(arcs)}
    assert run_dataframe(spark, program, facts) == evaluate(program, facts)


# --- what a run tells -----------------------------------------------------------------------------------------------


def test_events(spark: SparkSession) -> None:
    events: list[Event] = []
    run_dataframe(spark, checked(CLOSURE), {"arc": chain(4)}, listener=events.append)
    kinds = [type(event) for event in events]
    assert kinds == [RunStarted, StratumStarted, ExecutorChosen, *[IterationFinished] * 4, StratumFinished, RunFinished]
    rounds = [event for event in events if isinstance(event, IterationFinished)]
    assert [(one.iteration, one.delta_rows, one.total_rows) for one in rounds] == [
        (1, 4, 4),
        (2, 3, 7),
        (3, 2, 9),
        (4, 1, 10),
    ]
    (finished,) = (event for event in events if isinstance(event, StratumFinished))
    assert (finished.relations, finished.iterations, finished.rows) == (("tc",), 4, 10)


def test_improved_facts_are_not_counted_twice(spark: SparkSession) -> None:
    """0 → 2 is found as 5 steps first, and then as 2."""
    program = checked(
        "declare road(int a, int b, int w).\n"
        "near(X, min<D>) :- X = 0, D = 0.\n"
        "near(Y, min<D>) :- near(X, E), road(X, Y, W), D = E + W.\n"
    )
    totals: list[int] = []

    def listen(event: Event) -> None:
        if isinstance(event, IterationFinished):
            totals.append(event.total_rows)

    roads: list[Fact] = [(0, 2, 5), (0, 1, 1), (1, 2, 1)]
    answers = run_dataframe(spark, program, {"road": roads}, listener=listen)
    assert answers["near"] == {(0, 0), (1, 1), (2, 2)}
    assert totals == [1, 3, 3]


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(max_iterations=5), "DL510"),
        (Limits(max_rows=5), "DL511"),
        (Limits(timeout=3), "DL512"),
    ],
)
def test_a_recursion_that_never_ends(spark: SparkSession, limits: Limits, code: str, frames_before: int) -> None:
    with pytest.raises(EmberlogError) as caught:
        run_dataframe(spark, checked(ENDLESS), {}, limits)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert "stratum 1: n" in diagnostic.message
    assert diagnostic.span is not None and diagnostic.span.begin.line == 2
    assert diagnostic.notes[0].text.startswith("iteration ")
    assert kept_frames(spark) <= frames_before


def test_a_job_that_takes_too_long_is_stopped(spark: SparkSession, frames_before: int) -> None:
    """Not only between rounds: one job alone can take for ever."""

    def slow(number: int) -> int:
        import time

        time.sleep(1)
        return number

    functions = BUILT_IN.with_scalar("slow", slow, [INT], INT)
    text = "declare arc(int a, int b).\np(X) :- arc(X, _).\np(Z) :- p(X), Y = slow(X), Z = Y + 1, Z < 100.\n"
    program = analyze(parsed(text), params={}, functions=functions)
    since = time.monotonic()
    with pytest.raises(EmberlogError, match="DL512"):
        run_dataframe(spark, program, {"arc": chain(60)}, Limits(timeout=5))
    assert time.monotonic() - since < 30
    assert jobs_end(spark)
    assert kept_frames(spark) <= frames_before


def test_ctrl_c_stops_the_running_job_and_leaves_nothing(spark: SparkSession, frames_before: int) -> None:
    before = {name: spark.conf.get(name) for name in CHANGED}
    rounds = 0

    def listen(event: Event) -> None:
        nonlocal rounds
        rounds += isinstance(event, IterationFinished)
        if rounds == 3:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        run_dataframe(spark, checked(ENDLESS), {}, listener=listen)
    assert jobs_end(spark)
    assert kept_frames(spark) <= frames_before
    assert {name: spark.conf.get(name) for name in before} == before
    assert run_dataframe(spark, checked(CLOSURE), {"arc": chain(2)})["tc"] == {(0, 1), (1, 2), (0, 2)}


def test_ctrl_c_that_the_bridge_stumbles_over_is_still_ctrl_c(spark: SparkSession, frames_before: int) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, IterationFinished):
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt:
                raise RuntimeError("Gateway must be connected to send cancel cmd.")  # noqa: B904 (as py4j does)

    with pytest.raises(KeyboardInterrupt):
        run_dataframe(spark, checked(ENDLESS), {}, listener=listen)
    assert kept_frames(spark) <= frames_before


def test_settings_are_restored(spark: SparkSession) -> None:
    before = {name: spark.conf.get(name) for name in CHANGED}
    run_dataframe(spark, checked(CLOSURE), {"arc": chain(3)})
    with pytest.raises(EmberlogError):
        run_dataframe(spark, checked(ENDLESS), {}, Limits(max_iterations=2))
    assert {name: spark.conf.get(name) for name in before} == before


def test_a_fault_in_a_round_is_told_and_leaves_nothing(spark: SparkSession, frames_before: int) -> None:
    text = "p(X) :- X = 3.\np(Y) :- p(X), Y = X - 1, _Z = 1 div X.\n"
    with pytest.raises(EmberlogError) as caught:
        run_dataframe(spark, checked(text), {})
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("DL501", "division by zero in rule r2")
    assert diagnostic.span is not None and diagnostic.span.begin.line == 2
    assert kept_frames(spark) <= frames_before


# --- strategies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [CLOSURE, NON_LINEAR, DISTANCES, STAGED], ids=["tc", "non-linear", "min", "staged"])
def test_everything_spread_over_many_partitions(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(partitions, "ROWS_WORTH_A_TASK", 5)
    monkeypatch.setattr(partitions, "ROWS_OF_A_FULL_TASK", 30)
    assert_same(spark, text, [*chain(12), (12, 0), (3, 7), (7, 2)])


@pytest.mark.parametrize("text", [CLOSURE, NON_LINEAR, DISTANCES], ids=["tc", "non-linear", "min"])
def test_whole_rounds_give_the_same(spark: SparkSession, text: str) -> None:
    """What runs when there are no delta plans."""
    program, facts = checked(text), {"arc": frozenset(chain(6))}
    plan = optimize(build(program), off={"derive_delta_rules"}).plan
    assert run_dataframe(spark, program, facts, plan=plan) == evaluate(program, facts)


def test_stages_that_the_plan_does_not_show(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    arcs = frozenset(chain(5))
    assert_same(spark, STAGED, arcs)
    monkeypatch.setattr(stages, "stage_ranks", lambda _: None)
    assert_same(spark, STAGED, arcs)


def test_stages_with_unknown_numbers(spark: SparkSession) -> None:
    text = (
        "declare start(int x, int i).\n"
        "p(X, I, sum<V>) :- start(X, I), V = 1.\n"
        "p(X, J, sum<V>) :- p(X, I, V), I < 3, J = I + 1.\n"
    )
    program = checked(text)
    facts: dict[str, frozenset[Fact]] = {"start": frozenset({(1, 0), (2, None), (3, 2)})}
    assert run_dataframe(spark, program, facts) == evaluate(program, facts)


def test_nulls_in_recursive_relations(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Null joins with nothing, and is one value in sets and groups all the same."""
    arcs: list[Fact] = [(1, 2), (2, None), (None, 3), (2, 1), (None, None)]
    for text in (CLOSURE, DISTANCES):
        assert_same(spark, text, arcs)
    monkeypatch.setattr(partitions, "ROWS_WORTH_A_TASK", 2)
    assert_same(spark, CLOSURE, arcs)


def test_a_count_of_nothing_in_a_recursion(spark: SparkSession) -> None:
    text = "declare start(int x).\nenough(mcount<X>) :- start(X).\nenough(mcount<X>) :- enough(N), N > 0, start(X).\n"
    program = checked(text)
    for rows in ((), ((1,), (2,))):
        facts: dict[str, frozenset[Fact]] = {"start": frozenset(rows)}
        assert run_dataframe(spark, program, facts) == evaluate(program, facts)


def test_definitions_that_double_are_computed_on_the_way(spark: SparkSession, frames_before: int) -> None:
    """Written out as one query, twenty such relations would read the input a million times."""
    rules = ["p0(X, Y) :- arc(X, Y)."]
    rules += [f"p{n + 1}(X, Y) :- p{n}(X, Z), p{n}(Z, Y)." for n in range(10)]
    program = checked("declare arc(int a, int b).\n" + "\n".join(rules) + "\np10(X, Y)?\n")
    assert run_dataframe(spark, program, {"arc": [(1, 1), (1, 2)]})["p10"] == {(1, 1), (1, 2)}
    assert kept_frames(spark) <= frames_before
