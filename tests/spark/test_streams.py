"""Programs over streams on Structured Streaming: what sinks get, what a restart gives, and what is told."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from emberlog.database import Database
from emberlog.diagnostics import EmberlogError, EmberlogWarning
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from emberlog.streams.spark import start
from emberlog.streams.spark.task import evaluator_of

CHEAP_PATH = """\
{ride(Ts: Timestamp, Pickup: String, Drop: String, Fare: Float)}
bestPrice(Ts, P, D, mmin<F>) ← ride(Ts, P, D, F).
bestPrice(Ts, P, D, mmin<F>) ← ride(Ts1, P, P2, F1), bestPrice(Ts2, P2, D, F2), F = F1 + F2, largest(Ts, Ts1, Ts2).
query bestPrice(_, P, D, C), WINDOW(2, 1).
"""

RIDES = ([(0, "A", "C", 1.0), (1, "A", "B", 1.0), (1, "B", "C", 1.0)], [(2, "C", "D", 1.0), (4, "X", "Y", 9.0)])
"""Figure 1 of the paper without E, in two files; what comes at 4 closes the slide at 3."""

CHANGES = {
    (0, "added", "A", "C", 1.0),
    (1, "added", "A", "B", 1.0),
    (1, "added", "B", "C", 1.0),
    (2, "added", "C", "D", 1.0),
    (2, "added", "A", "D", 2.0),
    (2, "added", "B", "D", 2.0),
    (3, "removed", "A", "C", 1.0),
    (3, "removed", "A", "D", 2.0),
    (3, "added", "A", "C", 2.0),
    (3, "added", "A", "D", 3.0),
}


def put(folder: Path, number: int, rows: Sequence[tuple[object, ...]]) -> None:
    """A file appears as a whole, later than those with smaller numbers."""
    folder.mkdir(exist_ok=True)
    unfinished = folder / f".{number}"
    unfinished.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    os.utime(unfinished, (1_000_000 + 10 * number, 1_000_000 + 10 * number))
    unfinished.rename(folder / f"{number}.csv")


def rides(spark: SparkSession, folder: Path) -> DataFrame:
    reader = spark.readStream.schema("Ts long, Pickup string, Drop string, Fare double")
    return reader.option("maxFilesPerTrigger", 1).csv(str(folder))


def facts(frame: DataFrame) -> set[tuple[object, ...]]:
    rows = [tuple(row) for row in frame.collect()]
    assert len(rows) == len(set(rows))
    return set(rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, rows in enumerate(RIDES):
        put(tmp_path / "rides", number, rows)
    return tmp_path


def test_files_hold_every_step_once_whatever_happens(spark: SparkSession, database: Database, folder: Path) -> None:
    database["ride"] = rides(spark, folder / "rides")
    result = database.datalog(CHEAP_PATH)
    assert "bestPrice" in repr(result)
    out, checkpoint = folder / "out", folder / "checkpoint"

    # A sink that fails ends the query. The step is not evaluated again then, but delivered again.
    def failing(_frames: Mapping[str, DataFrame], _number: int) -> None:
        raise ValueError("the sink is full")

    broken = result.start(foreachBatch=failing, checkpointLocation=checkpoint, outputMode="changes", availableNow=True)
    with pytest.raises(Exception, match="the sink is full"):
        broken.awaitTermination()
    assert broken.recentProgress == []

    run = result.start(out, checkpointLocation=checkpoint, outputMode="changes", availableNow=True)
    run.awaitTermination()
    assert run.exception() is None
    assert not run.isActive
    (progress,) = run.recentProgress
    assert progress is run.lastProgress
    assert (progress.batchId, progress.numInputRows, progress.lastSlide, progress.late) == (1, 2, 3, 0)
    assert (progress.slides, progress.facts, progress.totalRows) == (3, {"bestPrice": 6}, 5)
    assert not progress.isRebuilt  # the worker of the query before still had the state
    told = spark.read.parquet(str(out / "bestPrice"))
    assert told.columns == ["slide", "change", "P", "D", "F", "batch"]
    assert facts(told.drop("batch")) == CHANGES

    proof = run.why("bestPrice", ("A", "D", None))
    assert (proof.tree.root.fact, proof.slide, proof.until) == (("A", "D", 3.0), 3, 3)
    assert 'the last slide whose window has ride("A", "B", 1.0) of 1 and 1 more' in str(proof)
    assert run.why_not("bestPrice", ("D", "A", None)).slide == 3

    put(folder / "rides", 2, [(1, "late", "late", 1.0), (9, "X", "Y", 9.0)])
    more = result.start(out, checkpointLocation=checkpoint, outputMode="changes", availableNow=True, closes=True)
    more.awaitTermination()
    assert [one.late for one in more.recentProgress] == [1, 0]
    last = facts(spark.read.parquet(str(out / "bestPrice")).drop("batch")) - CHANGES
    assert (9, "added", "X", "Y", 9.0) in last
    assert (4, "removed", "A", "C", 2.0) in last
    assert not any("late" in row for row in last)

    with pytest.raises(EmberlogError, match="DL340"):
        database.datalog(CHEAP_PATH.replace("F1 + F2", "F1 + F2 + 1.0")).start(
            out, checkpointLocation=checkpoint, outputMode="changes"
        )


def test_two_workers_share_the_facts(spark: SparkSession, database: Database, folder: Path) -> None:
    database["ride"] = rides(spark, folder / "rides")
    result = database.datalog(CHEAP_PATH)
    run = result.start(
        folder / "out", checkpointLocation=folder / "checkpoint", outputMode="changes", availableNow=True, workers=2
    )
    run.awaitTermination()
    assert [one.isRebuilt for one in run.recentProgress] == [False, False]
    assert run.recentProgress[-1].facts == {"bestPrice": 6}
    assert facts(spark.read.parquet(str(folder / "out" / "bestPrice")).drop("batch")) == CHANGES
    with pytest.raises(EmberlogError, match="DL331"):
        result.start(folder / "out", checkpointLocation=folder / "other", workers=5)


def dying_once(mark: Path, *arguments: Any) -> SlideEvaluator:
    """Is a worker of a step whose process ends, the first time that one is asked for its evaluator."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return evaluator_of(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_a_step_is_taken_again_when_a_worker_is_lost(
    spark: SparkSession, database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "evaluator_of", partial(dying_once, folder / "mark"))
    database["ride"] = rides(spark, folder / "rides")
    run = database.datalog(CHEAP_PATH).start(
        folder / "out", checkpointLocation=folder / "checkpoint", outputMode="changes", availableNow=True, workers=2
    )
    run.awaitTermination()
    assert (folder / "mark").exists()
    assert facts(spark.read.parquet(str(folder / "out" / "bestPrice")).drop("batch")) == CHANGES


def test_two_streams_a_relation_and_a_table_in_memory(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    put(tmp_path / "entered", 0, [("2026-01-01 10:00:30", "ann"), ("2026-01-01 10:02:00", "bob")])
    put(tmp_path / "left", 0, [("2026-01-01 10:01:10", "ann"), ("2026-01-01 10:03:30", "eve")])
    for stream in ("entered", "left"):
        database[stream] = spark.readStream.schema("Ts timestamp, Who string").csv(str(tmp_path / stream))
    database["staff"] = [("ann",), ("bob",)]
    result = database.datalog("""
        STREAM entered(Ts: timestamp, Who: string).
        STREAM left(Ts: timestamp, Who: string).
        RELATION staff(Who: string).
        inside(Ts, W) :- entered(Ts, W), staff(W), !left(_, W).
        query inside(_, W), WINDOW(10 minutes, 1 minute).
    """)
    run = result.start(
        format="memory",
        queryName="inside_now",
        checkpointLocation=tmp_path / "checkpoint",
        availableNow=True,
        watermark="10 seconds",
    )
    run.awaitTermination()
    # The stream that is behind decides: it is at 10:02:00, so 10:01:00 is the last slide that is sure.
    assert [(str(row["slide"]), row["W"]) for row in spark.table("inside_now").collect()] == [
        ("2026-01-01 10:01:00", "ann")
    ]
    put(tmp_path / "entered", 1, [("2026-01-01 10:05:00", "eve")])
    run = result.start(
        format="memory",
        queryName="inside_now",
        checkpointLocation=tmp_path / "checkpoint",
        availableNow=True,
        watermark="10 seconds",
    )
    run.awaitTermination()
    assert [(str(row["slide"]), row["W"]) for row in spark.table("inside_now").collect()] == [
        ("2026-01-01 10:03:00", "bob")
    ]


def test_what_is_wrong_is_told(spark: SparkSession, database: Database, folder: Path) -> None:
    database["ride"] = rides(spark, folder / "rides")
    result = database.datalog(
        "{ride(Ts: Timestamp, Pickup: String, Drop: String, Fare: Float)}\n"
        "worth(Ts, P, V) :- ride(Ts, P, _, F), V = 1.0 / (F - 9.0).\nquery worth(_, P, V), WINDOW(2, 1).\n"
    )
    with pytest.raises(EmberlogError, match="DL342"):
        result["worth"].show()
    how = {"format": "console", "availableNow": True, "closes": True, "bad": "fail"}
    run = result.start(checkpointLocation=folder / "checkpoint", **how)  # type: ignore[arg-type]
    with pytest.raises(EmberlogError, match="DL501"):
        run.awaitTermination()
    assert "DL501" in str(run.exception())

    database["ride"] = [(0, "A", "C", 1.0)]
    with pytest.raises(EmberlogError, match=r"DL342.*\n.*\n.*\n.*\n.*readStream"):
        database.datalog(CHEAP_PATH)
    database["ride"], database["arc"] = rides(spark, folder / "rides"), rides(spark, folder / "rides")
    with pytest.raises(EmberlogError, match="does not say that it is a stream"):
        database.datalog(f"{CHEAP_PATH}p(A) :- arc(_, A, _, _).\nquery p(A).")


HUBS = """\
STREAM ride(Ts: Timestamp, Pickup: String, Drop: String, Fare: Float).
declare hub(city: string).
declare shut().
hub("B").
from_hub(T, P, D) :- ride(Ts: T, Pickup: P, Drop: D), hub(P), !shut, !(hub(D), D = P).
query from_hub(_, P, D), WINDOW(2, 1).
"""


def test_relations_beside_a_stream_have_data_and_facts_or_nothing(
    spark: SparkSession, database: Database, folder: Path
) -> None:
    database["ride"] = rides(spark, folder / "rides")
    database["hub"] = [("A",)]
    with pytest.warns(EmberlogWarning, match="DL294.*`shut` is declared"):
        result = database.datalog(HUBS)
    run = result.start(
        folder / "out", checkpointLocation=folder / "checkpoint", outputMode="changes", availableNow=True
    )
    run.awaitTermination()
    told = spark.read.parquet(str(folder / "out" / "from_hub"))
    assert facts(told.drop("batch").filter("change = 'added'")) == {
        (0, "added", "A", "C"),
        (1, "added", "A", "B"),
        (1, "added", "B", "C"),
    }
    stream_facts = HUBS.replace('hub("B").', "ride(T, A, B, F) :- hub(A), T = 1, A = B, F = 1.0.")
    with pytest.raises(EmberlogError, match=r"DL217|DL242"):
        database.datalog(stream_facts)


def test_a_relation_can_be_renewed(spark: SparkSession, database: Database, folder: Path) -> None:
    database["ride"] = rides(spark, folder / "rides")
    text = "STREAM ride(Ts: Timestamp, Pickup: String, Drop: String, Fare: Float).\nRELATION hub(City: String).\n"
    text += "seen(Ts, P, D) :- ride(Ts, P, D, _), hub(P).\nquery seen(_, P, D), WINDOW(5, 1).\n"
    database["hub"] = [("A",)]
    how = {"checkpointLocation": folder / "checkpoint", "availableNow": True}
    database.datalog(text).start(folder / "out", **how).awaitTermination()  # type: ignore[arg-type]
    put(folder / "rides", 5, [(6, "X", "Y", 1.0)])
    database["hub"] = [("B",)]
    result = database.datalog(text)
    run = result.start(folder / "out", renew=["hub"], **how)  # type: ignore[arg-type]
    run.awaitTermination()
    told = facts(spark.read.parquet(str(folder / "out" / "seen")).drop("batch"))
    assert {row for row in told if row[0] == 3} == {(3, "A", "C"), (3, "A", "B")}
    assert {row for row in told if row[0] == 5} == {(5, "B", "C")}
    with pytest.raises(EmberlogError, match=r"DL508.*no relation that this query reads once"):
        result.start(folder / "out", renew=["ride"], **how)  # type: ignore[arg-type]


def test_a_changed_program_goes_on_with_the_window(spark: SparkSession, database: Database, folder: Path) -> None:
    database["ride"] = rides(spark, folder / "rides")
    text = "STREAM ride(Ts: Timestamp, Pickup: String, Drop: String, Fare: Float).\nRELATION hub(City: String).\n"
    first = text + "seen(Ts, P, D) :- ride(Ts, P, D, _), hub(P).\nquery seen(_, P, D), WINDOW(5, 1).\n"
    second = text + "sold(P, count<D>) :- ride(_, P, D, _), hub(P).\nquery sold(P, N), WINDOW(5, 1).\n"
    database["hub"] = [("A",)]
    how = {"checkpointLocation": folder / "checkpoint", "availableNow": True}
    database.datalog(first).start(folder / "out", **how).awaitTermination()  # type: ignore[arg-type]
    put(folder / "rides", 5, [(6, "X", "Y", 1.0)])
    changed = database.datalog(second)
    with pytest.raises(EmberlogError, match=r"DL340.*the program and a parameter changed"):
        changed.start(folder / "out", **how)  # type: ignore[arg-type]
    with pytest.raises(EmberlogError, match=r"DL508.*a new program changes"):
        changed.start(folder / "out", newProgram=True, outputMode="changes", **how)  # type: ignore[arg-type]
    run = changed.start(folder / "out", newProgram=True, **how)  # type: ignore[arg-type]
    run.awaitTermination()
    assert run.lastProgress is not None and run.lastProgress.isRebuilt
    told = facts(spark.read.parquet(str(folder / "out" / "sold")).drop("batch"))
    assert {row for row in told if row[0] == 5} == {(5, "A", 2)}


@pytest.mark.parametrize("workers", [1, 2])
def test_several_windows_are_told_from_one_checkpoint(
    spark: SparkSession, database: Database, folder: Path, workers: int
) -> None:
    """A second run goes on with both windows, where the day of one has not ended."""
    text = CHEAP_PATH + "seen(P) :- ride(_, P, _, _).\nquery seen(P), TUMBLE(3).\n"
    database["ride"] = rides(spark, folder / "rides")
    result = database.datalog(text)
    assert "in TUMBLE(3), seen: kept up to date" in result.explain()
    for number in (None, 7, 8):
        if number is not None:
            put(folder / "rides", number, [(number, "Z", "Q", 5.0)])
        run = result.start(
            folder / "out",
            checkpointLocation=folder / "checkpoint",
            outputMode="changes",
            availableNow=True,
            workers=workers,
            closes=number == 8,
        )
        run.awaitTermination()
    best, seen = (facts(spark.read.parquet(str(folder / "out" / name)).drop("batch")) for name in ("bestPrice", "seen"))
    assert {row for row in best if row[0] <= 3} == CHANGES  # type: ignore[operator]
    first = {(3, "added", "A"), (3, "added", "B"), (3, "added", "C")}
    second = {(6, "removed", "A"), (6, "removed", "B"), (6, "removed", "C"), (6, "added", "X")}
    assert seen == first | second | {(9, "removed", "X"), (9, "added", "Z")}
