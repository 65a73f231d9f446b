"""Programs on the cluster, against the answers that all engines give."""

from __future__ import annotations

import os
import threading

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.events import Event, ExecutorChosen
from emberlog.io.facts import in_order, read_facts
from tests.cluster.trials import Trial, chain_closure
from tests.golden.corpus import GoldenCase
from tests.golden.selections import chosen
from tests.golden.test_golden import assert_same_facts
from tests.spark.answers import run_dataframe

ARCS = 60

WITH_ANSWERS = [case for case in chosen("by workers") if case.expected_answers]
IN_DEFAULT_RUN = (
    "examples/access_rights",
    "recursion/mutual_even_and_odd",
    "negation/inside_recursion_over_a_lower_stratum",
)
EVERY = 1 if os.environ.get("EMBERLOG_CLUSTER_GOLDEN") else 12
"""`EMBERLOG_CLUSTER_GOLDEN=all` runs all programs, which takes about half an hour."""

TEXTS_AND_OTHERS = ("examples/access_rights", "recursion/linear_right_on_strings", *IN_DEFAULT_RUN)

SAMPLED = [
    pytest.param(case, marks=() if case.name in IN_DEFAULT_RUN else pytest.mark.slow, id=case.name)
    for number, case in enumerate(WITH_ANSWERS)
    if number % EVERY == 0 or case.name in TEXTS_AND_OTHERS
]

QUICK = (("bsp", 2), ("async", 2))

EACH_MODE = [
    pytest.param(mode, workers, marks=() if (mode, workers) in QUICK else pytest.mark.slow, id=f"{mode}-{workers}")
    for mode in ("decomposed", "bsp", "async")
    for workers in (2, 3, 4)
]


@pytest.mark.parametrize(("mode", "workers"), EACH_MODE)
def test_modes(mode: str, workers: int, spark: SparkSession) -> None:
    trial = chain_closure(spark, ARCS, Execution(executor="cyclic", mode=mode, workers=workers))
    assert trial.right, trial.error
    (choice,) = trial.chosen
    assert choice.executor == "cyclic"
    assert choice.how.startswith(f"one job, {mode}, {workers} workers")


@pytest.mark.parametrize("case", SAMPLED)
def test_golden_programs(case: GoldenCase, spark: SparkSession) -> None:
    prepared = case.prepare()
    events: list[Event] = []
    answers = run_dataframe(
        spark, prepared.checked, prepared.inputs, prepared.limits, events.append, execution=Execution()
    )
    for name, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[name].columns)
        assert_same_facts(expected, sorted(answers[name], key=in_order))
    assert any(event.executor == "cyclic" for event in events if isinstance(event, ExecutorChosen))


@pytest.mark.slow
def test_three_recursions_at_once(spark: SparkSession) -> None:
    trials: list[Trial] = []

    def run() -> None:
        trials.append(chain_closure(spark, ARCS, Execution(executor="cyclic", mode="bsp", workers=2)))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [trial.error for trial in trials] == ["", "", ""]
    assert all(trial.right for trial in trials)
