"""Every golden program with a recursion that the cyclic executor can run, as one job of Spark."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.diagnostics import EmberlogError
from emberlog.events import Event, ExecutorChosen
from emberlog.io.facts import in_order, read_facts
from tests.golden.corpus import GoldenCase
from tests.golden.selections import chosen
from tests.golden.test_golden import assert_same_facts
from tests.spark.answers import run_dataframe

pytestmark = pytest.mark.usefixtures("simple_queries")

MODES = {
    "auto": Execution(),
    "bsp": Execution(mode="bsp"),
    "through-spark": Execution(through_spark=True),
}


WITH_ANSWERS = [case for case in chosen("by workers") if case.expected_answers]
FAILING = [case for case in chosen("by workers") if case.fails_while_running]
IN_EACH_MODE = [
    pytest.param(case, mode, marks=() if number % 2 == place else pytest.mark.slow, id=f"{case.name}-{mode}")
    for number, case in enumerate(WITH_ANSWERS)
    for place, mode in enumerate(("auto", "bsp"))
]
"""Every program is part of the default run in one of the modes; `python3 dev.py spark-full` runs it in both."""
NEED_FILES = ("recursion/pairs_and_lists", "recursion/the_path_itself")
"""Pairs and lists go in and out of workers through files only."""

THROUGH_SPARK = [case for case in WITH_ANSWERS if case.name not in NEED_FILES][::12]
"""That way is slower, and the same for every program."""


def by_name(case: GoldenCase) -> str:
    return case.name


@pytest.mark.parametrize(("case", "mode"), IN_EACH_MODE)
def test_answers(case: GoldenCase, mode: str, spark: SparkSession) -> None:
    assert_answers(case, mode, spark)


@pytest.mark.parametrize("case", THROUGH_SPARK, ids=by_name)
def test_answers_without_files(case: GoldenCase, spark: SparkSession) -> None:
    assert_answers(case, "through-spark", spark)


def assert_answers(case: GoldenCase, mode: str, spark: SparkSession) -> None:
    prepared = case.prepare()
    events: list[Event] = []
    answers = run_dataframe(
        spark, prepared.checked, prepared.inputs, prepared.limits, events.append, execution=MODES[mode]
    )
    assert sorted(answers) == sorted(case.expected_answers)
    for name, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[name].columns)
        assert_same_facts(expected, sorted(answers[name], key=in_order))
    chosen = [event for event in events if isinstance(event, ExecutorChosen)]
    assert any(event.executor == "cyclic" for event in chosen)


@pytest.mark.parametrize("case", FAILING, ids=by_name)
def test_errors_while_running(case: GoldenCase, spark: SparkSession) -> None:
    prepared = case.prepare()
    with pytest.raises(EmberlogError) as caught:
        run_dataframe(spark, prepared.checked, prepared.inputs, prepared.limits, execution=Execution())
    (diagnostic,) = caught.value.diagnostics
    assert f"error[{diagnostic.code}]" in (case.expected_error or "")
