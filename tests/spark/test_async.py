"""Recursions without rounds as one job of Spark: workers in processes of their own, mail over real connections."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution, Limits
from emberlog.diagnostics import EmberlogError
from emberlog.events import Event, ExecutorChosen, IterationFinished, StratumFinished
from emberlog.io.facts import in_order, read_facts
from tests.golden.corpus import GoldenCase
from tests.golden.test_async_golden import MONOTONE
from tests.golden.test_golden import assert_same_facts, by_name
from tests.programs import checked
from tests.spark.answers import run_dataframe

pytestmark = pytest.mark.usefixtures("simple_queries")

FREE = Execution(mode="async")
ASYNC = Execution(executor="cyclic", mode="async")


@pytest.mark.parametrize("case", MONOTONE[::8], ids=by_name)
def test_answers(case: GoldenCase, spark: SparkSession) -> None:
    prepared = case.prepare()
    answers = run_dataframe(
        spark, prepared.checked, prepared.inputs, prepared.limits, execution=Execution(mode="async")
    )
    for name, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[name].columns)
        assert_same_facts(expected, sorted(answers[name], key=in_order))


def test_two_recursions_and_a_fold_one_after_the_other(spark: SparkSession) -> None:
    """What is sent behind the last message of a recursion belongs to the next stratum of the same job."""
    program = checked("""
        declare arc(int from, int to).
        both(X, Y) :- arc(X, Y).
        both(Y, X) :- arc(X, Y).
        cc(X, min<X>) :- both(X, _).
        cc(Y, min<Z>) :- cc(X, Z), both(X, Y).
        parts(countd<Z>) :- cc(_, Z).
        pairs(X, Y) :- both(X, Y).
        pairs(X, Y) :- pairs(X, Z), pairs(Z, Y).
        size(count<_>) :- pairs(_, _).
        parts(N)?
        size(N)?
    """)
    arcs = [(vertex, vertex + 1) for vertex in range(40) if vertex % 10 != 9]
    events: list[Event] = []
    answers = run_dataframe(spark, program, {"arc": arcs}, Limits(), events.append, execution=ASYNC)
    assert answers == {"parts": frozenset({(4,)}), "size": frozenset({(400,)})}
    chosen = [event.how for event in events if isinstance(event, ExecutorChosen)]
    assert chosen and all("async" in how for how in chosen)
    assert any(isinstance(event, IterationFinished) for event in events)
    assert any(isinstance(event, StratumFinished) and event.iterations > 1 for event in events)


@pytest.mark.parametrize(("mode", "partitioning"), [("async", "locality"), ("async", "range"), ("bsp", "locality")])
def test_values_that_belong_together(mode: str, partitioning: str, spark: SparkSession) -> None:
    program = checked("""
        declare arc(string from, string to).
        hcc(X, min<N>) :- first(X, N).
        hcc(Y, min<N>) :- hcc(X, N), edge(X, Y).
        edge(X, Y) :- arc(X, Y).
        edge(Y, X) :- arc(X, Y).
        first("v0", 0).
        first("v20", 20).
    """)
    arcs = [(f"v{vertex}", f"v{vertex + 1}") for vertex in range(40) if vertex % 20 != 19]
    execution = Execution(executor="cyclic", mode=mode, partitioning=partitioning)
    events: list[Event] = []
    answers = run_dataframe(spark, program, {"arc": arcs}, Limits(), events.append, execution=execution)
    assert answers["hcc"] == {(f"v{vertex}", 20 * (vertex // 20)) for vertex in range(40)}
    efforts = [event.workers for event in events if isinstance(event, StratumFinished) and event.workers]
    assert efforts and all(one.busy > 0 for one in efforts[0])


def test_a_recursion_without_end_comes_to_its_limit(spark: SparkSession) -> None:
    program = checked("n(0). n(Y) :- n(X), Y = X + 1.")
    with pytest.raises(EmberlogError, match="DL510"):
        run_dataframe(spark, program, {}, Limits(max_iterations=500), execution=ASYNC)
