"""Spark gives what the second oracle says, with each executor and mode, on random programs of the second generator.

`EMBERLOG_SPARK_CROSSCHECK` sets their number; `python3 dev.py crosscheck-full` runs 300.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.engines.spark.frames.faults import coded_errors
from tests.crosscheck.check import assert_no_findings
from tests.crosscheck.engines import (
    LIMITS,
    Answers,
    Engine,
    NotApplicable,
    goes_without_rounds,
    in_python,
    outcome,
    planned,
    raw,
    read,
)
from tests.crosscheck.programs import Program
from tests.spark.answers import SERIES_OF_JOBS, facts_of, run_dataframe

PROGRAMS = int(os.environ.get("EMBERLOG_SPARK_CROSSCHECK", "6"))
AT_A_TIME = 10

EXECUTIONS: Mapping[str, Execution] = {
    "a series of jobs": SERIES_OF_JOBS,
    "one job": Execution(),
    "one job in rounds": Execution(mode="bsp"),
    "one job without rounds": Execution(mode="async"),
}


def on_spark(spark: SparkSession, execution: Execution) -> Engine:
    def run(program: Program) -> Answers:
        plan = planned(program)
        if execution.mode == "async" and not goes_without_rounds(plan):
            raise NotApplicable
        answers = run_dataframe(spark, read(program), raw(program), LIMITS, plan=plan, execution=execution)
        return in_python(read(program), answers)

    return lambda program: outcome(lambda: run(program))


def by_database(spark: SparkSession) -> Engine:
    def run(program: Program) -> Answers:
        relations = read(program).relations.values()
        if any(column.type.is_told_by_type for relation in relations for column in relation.columns):
            raise NotApplicable  # a frame has moments in the time zone of this machine; tests/door.py compares them
        with Database(spark) as db:
            for name, rows in program.registered.items():
                db[name] = list(rows)
            result = db.datalog(program.text, limits=LIMITS)
            with coded_errors({}):  # what is read later raises errors of Spark, with our code in their text
                return {name: facts_of(result[name]) for name in result}

    return lambda program: outcome(lambda: run(program))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("first", range(0, PROGRAMS, AT_A_TIME))
def test_random_programs(spark: SparkSession, simple_queries: None, first: int) -> None:
    engines = {name: on_spark(spark, execution) for name, execution in EXECUTIONS.items()}
    assert_no_findings(
        range(first, min(first + AT_A_TIME, PROGRAMS)), {**engines, "a database on Spark": by_database(spark)}
    )
