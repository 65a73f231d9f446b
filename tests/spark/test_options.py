"""The tables of tests/unit/test_options.py on Spark, and what only a session can refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emberlog import Database, Execution, Limits, Recovery
from tests.unit.test_options import ARCS, EXECUTION, LIMITS, STREAM, TC, Ran, ran, refused

pytestmark = pytest.mark.spark


MANY = [(one, 1_000 + other) for one in range(300) for other in range(300)]
"""Arcs whose closure takes some memory, whatever the process has loaded meanwhile, and few rounds."""


def run_there(spark: SparkSession, arcs: list[tuple[int, int]] = ARCS, **options: Any) -> Ran:
    database = Database(spark)
    database["arc"] = arcs
    return ran(lambda listener: database.datalog(TC, **{"listener": listener, **options}))


@pytest.mark.parametrize("name", EXECUTION)
def test_executions_on_spark(spark: SparkSession, name: str) -> None:
    row = EXECUTION[name]
    assert callable(row.on_spark)
    seen = run_there(spark, MANY if name == "memory" else ARCS, execution=Execution(**row.options(name)))
    assert row.on_spark(seen), (seen.how, seen.error)


@pytest.mark.parametrize("name", LIMITS)
def test_limits_on_spark(spark: SparkSession, name: str) -> None:
    row = LIMITS[name]
    assert callable(row.on_spark)
    assert row.on_spark(run_there(spark, limits=Limits(**row.options(name))))


@pytest.mark.parametrize("options", [{"through_spark": True}, {"provenance": True}])
def test_checkpoints_that_nobody_would_write(spark: SparkSession, options: dict[str, Any]) -> None:
    for recovery in (Recovery(checkpoint_rounds=1), Recovery(checkpoint_seconds=1)):
        seen = run_there(spark, execution=Execution("cyclic", recovery=recovery, **options))
        assert seen.code == "DL336"
        assert "none are written" in str(seen.error)
    assert run_there(spark, execution=Execution("cyclic", recovery=Recovery(retries=1), **options)).error is None


@pytest.mark.parametrize("options", [{"master": "local[1]"}, {"memory": "1g"}, {"conf": {"a": "b"}}])
def test_a_session_that_is_there_takes_no_settings(spark: SparkSession, options: dict[str, Any]) -> None:
    refused(lambda: Database(spark, **options), *options)
    refused(lambda: Database(**options), *options)


def test_a_table_has_no_header(spark: SparkSession) -> None:
    refused(lambda: Database(spark).register("arc", "some_table", header=True), "header")


def test_a_sink_refuses_what_it_does_not_use(spark: SparkSession, tmp_path: Path) -> None:
    database = Database(spark)
    (tmp_path / "rides").mkdir()
    database["ride"] = spark.readStream.schema("Ts timestamp, F long").csv(str(tmp_path / "rides"))
    result = database.datalog(STREAM)
    place = tmp_path / "checkpoint"
    some: dict[str, str] = {"a": "b"}
    refused(lambda: result.start(checkpointLocation=place, foreachBatch=print, options=some), "options")
    refused(lambda: result.start("there", checkpointLocation=place, format="console", options=some), "path", "options")
    memory: dict[str, Any] = {"format": "memory", "queryName": "rides"}
    refused(lambda: result.start("there", checkpointLocation=place, options=some, **memory), "path", "options")
    refused(lambda: database.datalog(STREAM, execution=Execution(workers=2), off=["prune_columns"]), "workers", "off")
