"""Programs on the cluster, against the answers that all engines give."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.diagnostics import EmberlogError
from emberlog.events import Event, ExecutorChosen
from emberlog.io.facts import in_order, read_facts
from tests.cluster.standalone import MOST_WORKERS
from tests.cluster.trials import Trial, chain_closure
from tests.golden.corpus import GoldenCase
from tests.golden.selections import chosen
from tests.golden.test_golden import assert_same_facts
from tests.spark.answers import run_dataframe

ARCS = 60

WITH_ANSWERS = [case for case in chosen("by workers") if case.expected_answers]
FAILING = [case for case in chosen("by workers") if case.fails_while_running]
IN_DEFAULT_RUN = (
    "examples/access_rights",
    "recursion/mutual_even_and_odd",
    "negation/inside_recursion_over_a_lower_stratum",
)
AT_ONCE = 2
"""Programs that run at the same time, each on its share of the executors."""

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
    assert trial.iterations, "progress is told as on one machine"


def problem_with(case: GoldenCase, spark: SparkSession) -> str | None:
    """Runs a golden program, and returns what is wrong with its answers."""
    prepared = case.prepare()
    events: list[Event] = []
    execution = Execution(workers=MOST_WORKERS // AT_ONCE)
    try:
        answers = run_dataframe(
            spark, prepared.checked, prepared.inputs, prepared.limits, events.append, execution=execution
        )
    except EmberlogError as error:
        (diagnostic,) = error.diagnostics
        return None if f"error[{diagnostic.code}]" in (case.expected_error or "") else str(error)
    if case.fails_while_running:
        return "it should fail"
    for name, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[name].columns)
        try:
            assert_same_facts(expected, sorted(answers[name], key=in_order))
        except AssertionError as error:
            return f"{name}: {error}"
    chosen = [event for event in events if isinstance(event, ExecutorChosen)]
    return None if any(one.executor == "cyclic" for one in chosen) else f"not by workers: {chosen}"


@pytest.mark.parametrize("name", IN_DEFAULT_RUN)
def test_golden_programs(name: str, spark: SparkSession) -> None:
    (case,) = [case for case in WITH_ANSWERS if case.name == name]
    assert problem_with(case, spark) is None


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_all_golden_programs(spark: SparkSession) -> None:
    """In one session, several at a time."""
    cases = [*WITH_ANSWERS, *FAILING]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = list(threads.map(lambda case: problem_with(case, spark), cases))
    problems = {case.name: problem for case, problem in zip(cases, found, strict=True) if problem is not None}
    assert problems == {}


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
