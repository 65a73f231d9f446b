"""Bad rows and empty answers on Structured Streaming."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from tests.spark.test_streams import facts, put

PROGRAM = """
STREAM ride(Ts: timestamp, From: string, To: string, Fare: float).
best(Ts, A, min<F>) :- ride(Ts, A, _, F).
share(Ts, A, V) :- ride(Ts, A, _, F), V = 1.0 / (F - 9.0).
query best(_, A, F), WINDOW(2, 1).
query share(_, A, V), WINDOW(2, 1).
"""
ROWS = ("1,A,B,1.0", "1,A,B,oops", "2,B,,2.0", "2,,B,2.0", "3,C,B,9.0", "4,D", "9,E,E,1.0")


@pytest.mark.parametrize(("evaluation", "workers"), [("incremental", 1), ("simple", 1), ("incremental", 2)])
def test_bad_rows_are_put_aside_with_reasons(
    spark: SparkSession, database: Database, tmp_path: Path, evaluation: str, workers: int
) -> None:
    (tmp_path / "rides").mkdir()
    (tmp_path / "rides" / "0.csv").write_text("\n".join(ROWS) + "\n")
    schema = "Ts long, From string, To string, Fare double, _corrupt_record string"
    database["ride"] = spark.readStream.schema(schema).csv(str(tmp_path / "rides"))
    run = database.datalog(PROGRAM).start(
        tmp_path / "out",
        checkpointLocation=tmp_path / "checkpoint",
        availableNow=True,
        evaluation=evaluation,  # type: ignore[arg-type]
        workers=workers,
    )
    run.awaitTermination()
    assert run.lastProgress is not None
    assert (run.lastProgress.totalRows, run.lastProgress.totalBad) == (7, 4)
    bad = {row.reason.partition(" in rule")[0]: row.From for row in run.bad("ride").collect()}
    assert bad == {
        "Fare has no value: 1,A,B,oops": "A",
        "From has no value": None,
        "DL501: division by zero": "C",
        "Fare has no value: 4,D": "D",
    }
    assert facts(spark.read.parquet(str(tmp_path / "out" / "best")).drop("batch")) == {
        (1, "A", 1.0), (2, "A", 1.0), (2, "B", 2.0), (3, "A", 1.0), (3, "B", 2.0), (4, "B", 2.0)
    }  # fmt: skip
    told = spark.read.parquet(str(tmp_path / "out" / "slides")).where("relation = 'best'").orderBy("slide")
    assert [(row.slide, row.facts) for row in told.collect()] == [(1, 1), (2, 2), (3, 2), (4, 1), (5, 0)]
    with pytest.raises(EmberlogError, match=r"DL342.*no stream of this query"):
        run.bad("rode")


def trips(spark: SparkSession, folder: Path) -> DataFrame:
    put(folder / "rides", 0, [(1, "A", "B", 1.0)])
    put(folder / "rides", 1, [(2, "A", "B", 1.0), (20, "B", "B", 1.0)])
    reader = spark.readStream.schema("Ts long, From string, To string, Fare double")
    return reader.option("maxFilesPerTrigger", 1).csv(str(folder / "rides"))


def test_every_sink_says_that_an_answer_is_empty(
    spark: SparkSession, database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database["ride"] = trips(spark, tmp_path)
    result = database.datalog(PROGRAM.rpartition("query")[0])
    got: list[dict[str, list[tuple[object, ...]]]] = []

    def take(frames: dict[str, DataFrame], _step: int) -> None:
        got.append({name: sorted(map(tuple, frame.collect())) for name, frame in frames.items()})

    sinks = ({"format": "memory", "queryName": "now"}, {"format": "console"}, {"foreachBatch": take})
    for number, where in enumerate(sinks):
        run = result.start(checkpointLocation=tmp_path / f"checkpoint-{number}", availableNow=True, **where)  # type: ignore[arg-type]
        run.awaitTermination()
        assert run.lastProgress is not None and run.lastProgress.facts == {"best": 0}
    assert spark.table("now").collect() == []
    assert [tuple(row) for row in spark.table("now_slides").collect()] == [(5, "best", 0, True)]
    assert "best(slide, A, F)\n  1  A  1.0\n" in capsys.readouterr().out
    assert got[-1]["slides"][-1] == (5, "best", 0, True)


def test_stopping_a_query_in_the_middle_of_a_batch_is_no_error(
    spark: SparkSession, database: Database, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "rides", 0, [("2026-03-02 08:05:00", "A", "B", 1.0), ("2026-03-02 09:31:00", "A", "B", 1.0)])
    reader = spark.readStream.schema("Ts timestamp, From string, To string, Fare double")
    database["ride"] = reader.csv(str(tmp_path / "rides"))
    text = PROGRAM.rpartition("query")[0].replace("WINDOW(2, 1)", "WINDOW(10 minutes, 1 millisecond)")
    run = database.datalog(text).start(format="console", checkpointLocation=tmp_path / "checkpoint")
    while not run.status["isTriggerActive"]:
        time.sleep(0.1)
    time.sleep(5)
    run.stop()
    assert run.exception() is None
    assert "StackOverflowError" not in capfd.readouterr().err
