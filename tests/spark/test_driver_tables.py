"""Relations of the driver's process that queries of Spark read: as files of the run, which say the same as the rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.engines.spark import job_inputs
from emberlog.engines.spark.job_inputs import MOST_IN_A_PLAN
from emberlog.io.facts import in_order, read_facts
from emberlog.places import existing_folders
from tests.door import SOURCES, check_random_table
from tests.golden.corpus import GoldenCase, all_cases
from tests.golden.test_golden import assert_same_facts
from tests.spark.answers import SERIES_OF_JOBS, run_dataframe

pytestmark = pytest.mark.in_driver

ROWS = MOST_IN_A_PLAN // 8 + 1
WITH_INPUTS = [case for case in all_cases() if case.expected_answers and "recursion" not in case.name][::8]


@pytest.fixture
def all_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a file for the smallest relation, too."""
    monkeypatch.setattr(job_inputs, "MOST_IN_A_PLAN", -1)


@pytest.mark.parametrize(("rows", "is_in_a_file"), [(ROWS, True), (ROWS - 1, False)])
def test_what_is_large_is_a_file_until_the_result_is_closed(
    database: Database[DataFrame], rows: int, is_in_a_file: bool
) -> None:
    database["number"] = pa.table({"x": range(rows)})
    before = existing_folders()
    with database.datalog("same(X) :- number(X).\n", execution=SERIES_OF_JOBS) as result:
        assert bool(result["same"].inputFiles()) == is_in_a_file
        assert (existing_folders() > before) == is_in_a_file
        assert result["same"].count() == rows
        assert result["same"].agg({"X": "sum"}).collect()[0][0] == sum(range(rows))
    assert existing_folders() == before


def test_facts_go_through_spark_where_that_is_asked_for(database: Database[DataFrame], all_in_files: None) -> None:
    database["number"] = [(1,), (2,)]
    before = existing_folders()
    through = Execution(executor="cyclic", through_spark=True)
    with database.datalog("same(X) :- number(X).\n", execution=through) as result:
        assert {row[0] for row in result["same"].collect()} == {1, 2}
        assert existing_folders() == before


@pytest.mark.parametrize("source", SOURCES)
def test_random_tables_are_the_same_in_files(
    database: Database[DataFrame], tmp_path: Path, source: str, all_in_files: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emberlog.engines.spark.run._small_strata", lambda *_given: None)
    check_random_table(database, 7, source, tmp_path, on_spark=True)


@pytest.mark.parametrize("case", WITH_INPUTS, ids=lambda case: case.name)
def test_golden_answers_are_the_same_from_files(case: GoldenCase, spark: SparkSession, all_in_files: None) -> None:
    prepared = case.prepare()
    answers = run_dataframe(spark, prepared.checked, prepared.inputs, prepared.limits)
    for name, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[name].columns)
        assert_same_facts(expected, sorted(answers[name], key=in_order))
