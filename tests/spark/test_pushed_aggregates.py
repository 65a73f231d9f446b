"""The naive program for shortest paths comes to its end on Spark too."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from tests.spark.answers import SERIES_OF_JOBS, run_dataframe
from tests.unit.optimize.test_push_aggregate_into_recursion import CYCLES, naive, shortest


@pytest.mark.parametrize("execution", [SERIES_OF_JOBS, Execution(executor="cyclic")], ids=["dataframe", "cyclic"])
def test_all_paths_then_the_least(spark: SparkSession, execution: Execution) -> None:
    answer = run_dataframe(spark, naive("path", "arc", "1"), CYCLES, execution=execution)
    assert answer["near"] == shortest("1")
