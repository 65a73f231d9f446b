"""Streams of changes on Structured Streaming: a column, envelopes of Debezium, and a change feed of Delta."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pyspark.sql import SparkSession

from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from tests.spark.test_streams import facts, put

PROGRAM = """
STREAM link(Ts: timestamp, A: int, B: int).
reach(Ts, A, B) :- link(Ts, A, B).
reach(Ts, A, C) :- reach(T1, A, B), link(T2, B, C), largest(Ts, T1, T2).
degree(Ts, A, count<B>) :- link(Ts, A, B).
query reach(_, A, B).
query degree(_, A, N).
"""


@pytest.mark.parametrize("evaluation", ["incremental", "simple"])
def test_rows_come_and_go_and_one_that_came_twice_goes_twice(
    spark: SparkSession, database: Database, tmp_path: Path, evaluation: Literal["incremental", "simple"]
) -> None:
    put(tmp_path / "links", 0, [(1, 1, 2, "insert"), (1, 2, 3, "insert"), (1, 2, 3, "+"), (2, 3, 4, "c")])
    put(tmp_path / "links", 1, [(3, 2, 3, "delete"), (4, 2, 3, "d"), (4, 9, 9, "delete"), (5, 7, 8, "perhaps")])
    reader = spark.readStream.schema("Ts long, A int, B int, op string").option("maxFilesPerTrigger", 1)
    database.register("link", reader.csv(str(tmp_path / "links")), changes="op")
    result = database.datalog(PROGRAM)
    checkpoint, out = tmp_path / "checkpoint", tmp_path / "out"
    for _ in range(2):  # the second one goes on where the first one ended
        run = result.start(
            out,
            checkpointLocation=checkpoint,
            outputMode="changes",
            availableNow=True,
            closes=True,
            evaluation=evaluation,
        )
        run.awaitTermination()
        if not (tmp_path / "links" / "2.csv").exists():
            assert [row.reason for row in run.bad().collect()] == ["it is not said whether the row comes or goes"]
            put(tmp_path / "links", 2, [(9, 2, 5, "insert"), (9, 1, 2, "-")])
    reach = facts(spark.read.parquet(str(out / "reach")).drop("batch"))
    assert {row for row in reach if row[1] == "removed"} == {
        (4, "removed", 2, 3), (4, "removed", 1, 3), (4, "removed", 1, 4), (4, "removed", 2, 4), (9, "removed", 1, 2)
    }  # fmt: skip
    degree = facts(spark.read.parquet(str(out / "degree")).drop("batch"))
    assert {row[:4] for row in degree if row[2] == 2} == {
        (1, "added", 2, 1), (4, "removed", 2, 1), (9, "added", 2, 1)
    }  # fmt: skip
    with pytest.raises(EmberlogError, match=r"DL331.*are deleted, too"):
        result.start(out, checkpointLocation=tmp_path / "other", workers=2)
    with pytest.raises(EmberlogError, match=r"DL508.*no early answers"):
        result.start(out, checkpointLocation=tmp_path / "other", early=True)


def test_envelopes_of_debezium(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "0.json").write_text(
        '{"op": "r", "ts_ms": 1000, "before": null, "after": {"A": 1, "B": 2}}\n'
        '{"op": "c", "ts_ms": 1000, "before": null, "after": {"A": 2, "B": 3}}\n'
        '{"op": "u", "ts_ms": 2000, "before": {"A": 2, "B": 3}, "after": {"A": 2, "B": 4}}\n'
        '{"op": "d", "ts_ms": 3000, "before": {"A": 1, "B": 2}, "after": null}\n'
        '{"op": null, "ts_ms": null, "before": null, "after": null}\n'
        '{"op": "t", "ts_ms": 3000, "before": null, "after": null}\n'
    )
    row = "struct<A: int, B: int>"
    frame = spark.readStream.schema(f"op string, ts_ms long, before {row}, after {row}").json(str(tmp_path / "links"))
    database.register("link", frame, changes="debezium")
    run = database.datalog(PROGRAM).start(
        tmp_path / "out", checkpointLocation=tmp_path / "checkpoint", availableNow=True, closes=True
    )
    run.awaitTermination()
    told = spark.read.parquet(str(tmp_path / "out" / "reach")).select("slide", "A", "B").collect()
    assert sorted((row.slide.second, row.A, row.B) for row in told) == [
        (1, 1, 2), (1, 1, 3), (1, 2, 3), (2, 1, 2), (2, 1, 4), (2, 2, 4), (3, 2, 4)
    ]  # fmt: skip
    assert run.lastProgress is not None and run.lastProgress.totalBad == 1


def test_a_change_feed_of_delta(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    first, second = "2026-01-01 00:00:01", "2026-01-01 00:00:02"
    put(tmp_path / "links", 0, [(1, 2, "insert", 0, first), (5, 6, "update_postimage", 0, first)])
    put(tmp_path / "links", 1, [(1, 2, "update_preimage", 1, second), (1, 3, "update_postimage", 1, second)])
    schema = "A int, B int, _change_type string, _commit_version long, _commit_timestamp timestamp"
    database.register("link", spark.readStream.schema(schema).csv(str(tmp_path / "links")), changes="delta")
    run = database.datalog(PROGRAM).start(
        tmp_path / "out", checkpointLocation=tmp_path / "checkpoint", availableNow=True, closes=True
    )
    run.awaitTermination()
    told = spark.read.parquet(str(tmp_path / "out" / "reach")).select("slide", "A", "B").collect()
    assert sorted((row.slide.second, row.A, row.B) for row in told) == [(1, 1, 2), (1, 5, 6), (2, 1, 3), (2, 5, 6)]


def test_what_is_no_stream_of_changes(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    put(tmp_path / "links", 0, [(1, 2, 3)])
    frame = spark.readStream.schema("Ts long, A int, B int").csv(str(tmp_path / "links"))
    for form in ("op", "debezium", "delta"):
        with pytest.raises(EmberlogError, match="DL343"):
            database.register("link", frame, changes=form)
    with pytest.raises(EmberlogError, match=r"DL343.*only a streaming frame"):
        database.register("link", [(1, 2, 3)], changes="op")


def test_counts_of_many_slides_follow_tuples(
    spark: SparkSession, database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / "links", 0, [(1, 1, 2), (2, 1, 3), (2, 2, 1), (1001, 1, 4)])
    put(tmp_path / "links", 1, [(1003, 5, 5)])
    reader = spark.readStream.schema("Ts long, A int, B int").option("maxFilesPerTrigger", 1)
    database["link"] = reader.csv(str(tmp_path / "links"))
    result = database.datalog(
        "STREAM link(Ts: timestamp, A: int, B: int).\n"
        "degree(A, count<B>) :- link(_, A, B).  leaf(B) :- link(_, _, B), !link(_, B, _).\n"
        "query degree(A, N), WINDOW(1000, 1).  query leaf(A), WINDOW(1000, 1)."
    )
    assert "degree: follows its changes tuple by tuple" in str(result.explain())
    with caplog.at_level("INFO", logger="emberlog"):
        run = result.start(
            tmp_path / "out",
            checkpointLocation=tmp_path / "checkpoint",
            outputMode="changes",
            availableNow=True,
            closes=True,
        )
        run.awaitTermination()
    assert "tuple by tuple" in caplog.text
    degree = facts(spark.read.parquet(str(tmp_path / "out" / "degree")).drop("batch"))
    assert degree == {
        (1, "added", 1, 1), (2, "added", 1, 2), (2, "removed", 1, 1), (2, "added", 2, 1),
        (1001, "added", 1, 3), (1001, "removed", 1, 2), (1002, "added", 1, 2), (1002, "removed", 1, 3),
        (1003, "added", 1, 1), (1003, "removed", 1, 2), (1003, "removed", 2, 1), (1003, "added", 5, 1),
    }  # fmt: skip
    leaf = facts(spark.read.parquet(str(tmp_path / "out" / "leaf")).drop("batch"))
    assert leaf >= {(1, "added", 2), (2, "added", 3), (2, "removed", 2), (1001, "added", 4)}
