"""Silent streams, early answers and sessions on Structured Streaming."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from tests.spark.test_streams import facts, put

BOTH = """
STREAM entered(Ts: timestamp, Who: string).
STREAM left(Ts: timestamp, Who: string).
inside(Ts, W) :- entered(Ts, W), !left(_, W).
query inside(_, W), TUMBLE(10).
"""


def test_a_silent_stream_holds_nobody_back_and_time_closes_the_last_slide(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    put(tmp_path / "entered", 0, [(1, "ann"), (5, "bob"), (12, "eve")])
    put(tmp_path / "left", 0, [(2, "bob")])
    for stream in ("entered", "left"):
        database[stream] = spark.readStream.schema("Ts long, Who string").csv(str(tmp_path / stream))
    run = database.datalog(BOTH).start(
        tmp_path / "out", checkpointLocation=tmp_path / "checkpoint", outputMode="changes", idle="2 seconds"
    )
    until = time.monotonic() + 60
    while time.monotonic() < until and (run.lastProgress is None or run.lastProgress.totalSlides < 2):
        time.sleep(0.2)
    run.stop()
    assert run.exception() is None
    assert facts(spark.read.parquet(str(tmp_path / "out" / "inside")).drop("batch")) == {
        (10, "added", "ann"),
        (20, "removed", "ann"),
        (20, "added", "eve"),
    }


def test_stopping_can_close_what_is_open_and_early_answers_come_with_every_batch(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    put(tmp_path / "entered", 0, [(1, "ann"), (12, "bob")])
    put(tmp_path / "entered", 1, [(15, "eve")])
    database["entered"] = (
        spark.readStream.schema("Ts long, Who string").option("maxFilesPerTrigger", 1).csv(str(tmp_path / "entered"))
    )
    text = BOTH.replace("STREAM left(Ts: timestamp, Who: string).", "").replace(", !left(_, W)", "")
    result = database.datalog(text)
    run = result.start(tmp_path / "out", checkpointLocation=tmp_path / "checkpoint", early=True)
    run.processAllAvailable()
    run.stop(closes=True)
    told = spark.read.parquet(str(tmp_path / "out" / "slides")).orderBy("batch", "slide")
    assert [tuple(row) for row in told.select("batch", "slide", "facts", "final").collect()] == [
        (0, 10, 1, True), (0, 20, 1, False), (1, 20, 2, False), (2, 20, 2, True)
    ]  # fmt: skip
    with pytest.raises(EmberlogError, match=r"DL331.*early answers"):
        result.start(tmp_path / "out", checkpointLocation=tmp_path / "other", early=True, workers=2)


def test_each_person_has_sessions(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    put(tmp_path / "entered", 0, [(1, "ann"), (3, "bob"), (4, "ann"), (20, "bob")])
    database["entered"] = spark.readStream.schema("Ts long, Who string").csv(str(tmp_path / "entered"))
    result = database.datalog(
        "STREAM entered(Ts: timestamp, Who: string).\nvisit(W, min<Ts>, max<Ts>) :- entered(Ts, W).\n"
        "query visit(W, A, B), SESSION(5, Who).\n"
    )
    run = result.start(tmp_path / "out", checkpointLocation=tmp_path / "checkpoint", availableNow=True, closes=True)
    run.awaitTermination()
    assert facts(spark.read.parquet(str(tmp_path / "out" / "visit")).drop("batch")) == {
        (4, "ann", 1, 4), (3, "bob", 3, 3), (20, "bob", 20, 20)
    }  # fmt: skip
    with pytest.raises(EmberlogError, match=r"DL508.*sessions are told one by one"):
        result.start(tmp_path / "out", checkpointLocation=tmp_path / "other", outputMode="changes")
