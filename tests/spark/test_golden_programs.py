"""Every golden program on Spark's DataFrames, against the same answers as on every other executor."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from emberlog.diagnostics import EmberlogError
from emberlog.io.facts import in_order, read_facts
from tests.golden.corpus import GoldenCase, all_cases
from tests.golden.test_golden import assert_same_facts
from tests.spark.answers import run_dataframe

pytestmark = pytest.mark.usefixtures("simple_queries")

IN_DEFAULT_RUN = 4
"""One program in so many is part of the default run; `python3 dev.py spark-full` runs all."""

ALWAYS = ("basics/what_a_null_does",)
"""Tables of docs/language.md, which are the same on all engines."""

WITH_ANSWERS = [case for case in all_cases() if case.expected_answers]
SAMPLED = [
    pytest.param(
        case, marks=() if number % IN_DEFAULT_RUN == 0 or case.name in ALWAYS else pytest.mark.slow, id=case.name
    )
    for number, case in enumerate(WITH_ANSWERS)
]
FAILING = [case for case in all_cases() if case.fails_while_running]


def by_name(case: GoldenCase) -> str:
    return case.name


@pytest.mark.parametrize("case", SAMPLED)
def test_answers(case: GoldenCase, spark: SparkSession) -> None:
    prepared = case.prepare()
    answers = run_dataframe(spark, prepared.checked, prepared.inputs, prepared.limits)
    assert sorted(answers) == sorted(case.expected_answers)
    for name, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[name].columns)
        assert_same_facts(expected, sorted(answers[name], key=in_order))


@pytest.mark.parametrize("case", FAILING, ids=by_name)
def test_errors_while_running(case: GoldenCase, spark: SparkSession) -> None:
    prepared = case.prepare()
    with pytest.raises(EmberlogError) as caught:
        run_dataframe(spark, prepared.checked, prepared.inputs, prepared.limits)
    (diagnostic,) = caught.value.diagnostics
    assert f"error[{diagnostic.code}]" in (case.expected_error or "")
