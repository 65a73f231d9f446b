"""Random programs on random data: Spark gives the reference's answer.

`EMBERLOG_SPARK_EXAMPLES` sets their number; `make spark-full` runs 300.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.engines.spark.frames import partitions
from tests.property.programs import RandomProgram
from tests.property.shapes import programs
from tests.property.test_programs import LIMITS, assert_same, by_reference, outcome, read
from tests.spark.answers import SERIES_OF_JOBS, run_dataframe

EXAMPLES = int(os.environ.get("EMBERLOG_SPARK_EXAMPLES", "20"))
AT_A_TIME = 30
"""So many in one test, each test with a seed of its own."""


def on_spark(number: int) -> settings:
    return settings(
        max_examples=number,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],  # a failing program is found again by the faster executors
    )


def parts(examples: int) -> list[int]:
    """The number of programs of each test."""
    whole, rest = divmod(examples, AT_A_TIME)
    return [AT_A_TIME] * whole + [rest] * (rest > 0)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("part", "number"), list(enumerate(parts(EXAMPLES))))
def test_random_programs(spark: SparkSession, part: int, number: int) -> None:
    @seed(20260100 + part)
    @given(programs())
    @on_spark(number)
    def gives_the_answer_of_the_reference(random: RandomProgram) -> None:
        check(spark, random)

    gives_the_answer_of_the_reference()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("part", "number"), list(enumerate(parts(max(1, EXAMPLES // 3)))))
def test_random_programs_in_many_partitions(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, part: int, number: int
) -> None:
    """With hardly any rows to a partition, so that everything is spread, and spread anew as it grows."""
    monkeypatch.setattr(partitions, "ROWS_WORTH_A_TASK", 3)
    monkeypatch.setattr(partitions, "ROWS_OF_A_FULL_TASK", 20)

    @seed(20260200 + part)
    @given(programs())
    @on_spark(number)
    def gives_the_answer_of_the_reference(random: RandomProgram) -> None:
        check(spark, random)

    gives_the_answer_of_the_reference()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mode", ["auto", "bsp"])
@pytest.mark.parametrize(("part", "number"), list(enumerate(parts(max(1, EXAMPLES // 2)))))
def test_random_programs_as_one_job(spark: SparkSession, mode: str, part: int, number: int) -> None:
    @seed(20260300 + part)
    @given(programs())
    @on_spark(number)
    def gives_the_answer_of_the_reference(random: RandomProgram) -> None:
        check(spark, random, Execution(mode=mode))

    gives_the_answer_of_the_reference()


def check(spark: SparkSession, random: RandomProgram, execution: Execution = SERIES_OF_JOBS) -> None:
    program = read(random)
    answer = outcome(lambda: run_dataframe(spark, program, random.facts, LIMITS, execution=execution))
    assert_same(answer, by_reference(program, random), "on Spark")
