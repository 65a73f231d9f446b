"""The cyclic executor from the driver's side: choices, refusals, what it leaves behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

from emberlog.config import Execution, Limits, Recovery
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark import job_inputs
from emberlog.engines.spark.plain_scan import fixed_partitions, parquet_files
from emberlog.events import Event, ExecutorChosen, IterationFinished, RulesProfiled, StratumFinished
from emberlog.places import existing_folders
from emberlog.workers.store.folders import Folder
from emberlog.workers.wire.feeding import ParquetFiles
from tests.spark.answers import facts_of

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
NEAR = "near(X, min<D>) :- X = 0, D = 0.\nnear(Y, min<D>) :- near(X, D1), arc(X, Y), D = D1 + 1.\n"
CHAIN = [(number, number + 1) for number in range(20)]
CLOSURE = {(a, b) for a in range(21) for b in range(a + 1, 21)}
CYCLIC = Execution(executor="cyclic")


@pytest.fixture
def arcs(database: Database) -> Iterator[Database]:
    database["arc"] = CHAIN
    before = set(existing_folders())
    yield database
    assert set(existing_folders()) <= before  # those of other tests go when their results are collected
    assert not [thread for thread in threading.enumerate() if thread.name == "emberlog tracker"]


def executors(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.executor, event.why) for event in events if isinstance(event, ExecutorChosen)]


def test_results_can_be_read_many_times_and_combined(arcs: Database) -> None:
    before = set(existing_folders())
    with arcs.datalog(TC, execution=CYCLIC) as result:
        frame = result["tc"]
        assert facts_of(frame) == CLOSURE
        assert frame.count() == frame.count() == len(CLOSURE)
        assert frame.union(frame).coalesce(1).take(3)
        assert frame.join(frame.toDF("Y", "Z"), "Y").count() > 0
        (folder,) = set(existing_folders()) - before
        assert folder.exists()
    assert not folder.exists()


def test_events_tell_each_round(arcs: Database) -> None:
    for execution in (CYCLIC, Execution(mode="bsp"), Execution(mode="bsp", representation="hash")):
        events: list[Event] = []
        with arcs.datalog(TC, execution=execution, listener=events.append):
            rounds = [event for event in events if isinstance(event, IterationFinished)]
        assert [event.iteration for event in rounds] == list(range(1, 21))
        assert [event.delta_rows for event in rounds] == list(range(20, 0, -1))
        assert rounds[-1].total_rows == len(CLOSURE)
        (finished,) = [event for event in events if isinstance(event, StratumFinished)]
        assert (finished.iterations, finished.rows) == (20, len(CLOSURE))


@pytest.mark.parametrize("representation", ["hash", "marks", "lanes", "rows"])
def test_every_representation(arcs: Database, representation: str) -> None:
    events: list[Event] = []
    execution = Execution(executor="cyclic", representation=representation)
    with arcs.datalog(TC, execution=execution, listener=events.append) as result:
        assert facts_of(result["tc"]) == CLOSURE
    (finished,) = [event for event in events if isinstance(event, StratumFinished)]
    assert finished.representation == ("" if representation == "hash" else f"{representation}: asked for")


def test_a_fold_is_computed_in_the_same_job(arcs: Database) -> None:
    program = f"{TC}size(count<_>) :- tc(_, _).\nfar(X, max<Y>) :- tc(X, Y).\nsize(N)?\nfar(X, Y)?"
    with arcs.datalog(program, execution=CYCLIC) as result:
        assert facts_of(result["size"]) == {(len(CLOSURE),)}
        assert facts_of(result["far"]) == {(number, 20) for number in range(20)}


def test_a_count_of_nothing_is_zero(database: Database) -> None:
    database["arc"] = [(1, 2)]
    program = "tc(X, Y) :- arc(X, Y), X > 5.\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\nsize(count<_>) :- tc(_, _).\nsize(N)?"
    with database.datalog(program, execution=CYCLIC) as result:
        assert facts_of(result["size"]) == {(0,)}


def test_what_the_recursion_reads_is_computed_in_the_same_job(arcs: Database) -> None:
    program = (
        "degree(X, count<Y>) :- arc(X, Y).\n"
        "@iterations(3)\nrank(X, sum<V>) :- arc(X, _), V = 1.0.\n"
        "rank(Y, sum<V>) :- rank(X, R), arc(X, Y), degree(X, D), V = R / D.\nrank(X, R)?"
    )
    with (
        arcs.datalog(program, execution=CYCLIC) as fast,
        arcs.datalog(program, execution=Execution(executor="dataframe")) as slow,
    ):
        assert facts_of(fast["rank"]) == facts_of(slow["rank"])


def test_workers_open_parquet_files_themselves(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "arc with space.parquet"
    table = pa.table({"to": [b for _, b in CHAIN], "from": pa.array([a for a, _ in CHAIN], pa.int32())})
    pq.write_table(table, path, row_group_size=7)
    database.register("arc", str(path), columns=["from", "to"])
    with database.datalog(TC, execution=CYCLIC) as result:
        assert facts_of(result["tc"]) == CLOSURE


def test_files_that_workers_cannot_read_are_read_by_spark(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on machines that have another file of that name, or none."""
    path = tmp_path / "arc.parquet"
    pq.write_table(pa.table({"a": [a for a, _ in CHAIN], "b": [b for _, b in CHAIN]}), path)
    database["arc"] = str(path)

    def others(frame: DataFrame) -> ParquetFiles:
        found = parquet_files(frame)
        assert found is not None
        return replace(found, sizes=(1,))

    monkeypatch.setattr("emberlog.engines.spark.job_inputs.parquet_files", others)
    with database.datalog(TC, execution=CYCLIC) as result:
        assert facts_of(result["tc"]) == CLOSURE
    assert "Spark reads `arc` for the workers, which cannot" in caplog.text
    assert "is another file here than where the run was started" in caplog.text


def test_files_of_the_run_that_workers_cannot_read_are_no_reason_to_try_for_ever(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a store that a machine has lost while the run goes on."""
    written = job_inputs._written_by_spark

    def others(frame: DataFrame, folder: Folder) -> ParquetFiles:
        found = written(frame, folder)
        return replace(found, sizes=(1,) * len(found.sizes))

    monkeypatch.setattr(job_inputs, "_written_by_spark", others)
    database["arc"] = database.spark.range(20).selectExpr("id AS a", "id + 1 AS b")
    with pytest.raises(
        EmberlogError, match=r"DL521.*in each of 2 attempts: worker \d cannot read what Spark wrote for it"
    ):
        database.datalog(TC, execution=Execution(executor="cyclic", recovery=Recovery(retries=1)))


THREE = """
r(Y) :- arc(0, Y).  r(Y) :- r(X), arc(X, Y).
s(Y) :- arc(5, Y), not r(Y).  s(Y) :- s(X), arc(X, Y).
t(Y) :- arc(7, Y), not s(Y).  t(Y) :- t(X), arc(X, Y).
"""


def test_spark_writes_a_relation_once_for_all_strata(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    written, frames = job_inputs._written_by_spark, list[DataFrame]()

    def counted(frame: DataFrame, folder: Folder) -> ParquetFiles:
        frames.append(frame)
        return written(frame, folder)

    monkeypatch.setattr(job_inputs, "_written_by_spark", counted)
    before = set(existing_folders())
    database["arc"] = database.spark.range(20).selectExpr("id AS a", "id + 1 AS b")
    with database.datalog(THREE, execution=CYCLIC) as result:
        assert facts_of(result["r"]) == {(number,) for number in range(1, 21)}
        assert facts_of(result["s"]) == set()
        assert facts_of(result["t"]) == {(number,) for number in range(8, 21)}
        assert len(frames) == 1
        assert len(set(existing_folders()) - before) == 3  # of results
    assert set(existing_folders()) <= before


@pytest.mark.parametrize("most_inline", [0, 1_000])
def test_what_is_in_this_process_is_sent_without_spark(
    database: Database, monkeypatch: pytest.MonkeyPatch, most_inline: int
) -> None:
    monkeypatch.setattr(job_inputs, "MOST_INLINE_ROWS", most_inline)
    monkeypatch.setattr(job_inputs, "ROWS_OF_A_GROUP", 3)
    monkeypatch.setattr(job_inputs, "_written_by_spark", None)
    monkeypatch.setattr(job_inputs, "_collected", None)
    program = """
    declare part(whole: string, part: string, count: int, weight: float, made: timestamp, spare: bool).
    near(P, min<D>) :- part("car", P, _, _, _, _), D = 1.
    near(P, min<D>) :- near(W, E), part(W, P, N, K, T, true), D = E + 1, N > 0, K > 0.0, T > timestamp "2026-01-01".
    """
    parts = [
        ("car", "wheel", 4, 1.5, datetime(2026, 2, 1), True),
        ("wheel", "rim", 1, 0.5, datetime(2026, 2, 1), True),
        ("rim", "bolt", 5, 0.1, datetime(2026, 2, 1), True),
        ("rim", "ghost", 5, 0.1, datetime(2025, 2, 1), True),
        ("rim", "nut", 0, 0.1, datetime(2026, 2, 1), True),
        ("bolt", "thread", 1, 0.0, datetime(2026, 2, 1), True),
        ("bolt", "head", 1, 0.1, datetime(2026, 2, 1), False),
    ]
    database["part"] = parts
    with database.datalog(program, execution=CYCLIC) as result:
        assert facts_of(result["near"]) == {("wheel", 1), ("rim", 2), ("bolt", 3)}


def test_a_frame_that_spark_computes(database: Database) -> None:
    database["arc"] = database.spark.range(20).selectExpr("id AS a", "id + 1 AS b")
    with database.datalog(TC, execution=CYCLIC) as result:
        assert facts_of(result["tc"]) == CLOSURE


def test_workers_carry_nulls(arcs: Database) -> None:
    arcs["arc"] = [*CHAIN, (3, None), (None, 19)]
    expected = CLOSURE | {(i, None) for i in range(4)} | {(None, 19), (None, 20)}
    for execution in (CYCLIC, Execution(mode="async"), Execution(through_spark=True)):
        events: list[Event] = []
        with arcs.datalog(TC, execution=execution, listener=events.append) as result:
            assert facts_of(result["tc"]) == expected
        assert [name for name, _ in executors(events)] == ["cyclic", "cyclic"]
        assert executors(events)[-1] == ("cyclic", "planned anew, because `arc` has nulls")


def test_what_is_aggregated_and_null_is_for_the_dataframe_executor(arcs: Database) -> None:
    arcs["road"] = [(0, 1, 5), (1, 2, None), (0, 2, 7)]
    near = "near(X, min<D>) :- X = 0, D = 0.\nnear(Y, min<D>) :- near(X, C), road(X, Y, W), D = C + W.\n"
    events: list[Event] = []
    with arcs.datalog(near, listener=events.append) as result:
        assert facts_of(result["near"]) == {(0, 0), (1, 5), (2, 7)}
    assert executors(events)[-1] == ("dataframe", "`road` has nulls; near aggregates what may be null")
    with pytest.raises(EmberlogError, match=r"DL333.*near aggregates what may be null"):
        arcs.datalog(near, execution=CYCLIC)


def test_nulls_that_nobody_reads_do_not(arcs: Database) -> None:
    arcs["road"] = [(a, b, None if a % 2 else "name") for a, b in CHAIN]
    with arcs.datalog("tc(X, Y) :- road(X, Y, _).\ntc(X, Y) :- tc(X, Z), road(Z, Y, _).\n", execution=CYCLIC) as result:
        assert facts_of(result["tc"]) == CLOSURE


def test_workers_make_texts_and_call_functions(arcs: Database) -> None:
    arcs.function("label", lambda number: f"<{number}>", ["int"], "string")
    arcs.function("half", lambda number: number // 2, ["int"], "int")
    program = """
        far(X, Y, T) :- arc(X, Y), X < 2, T = cat(label(X), label(Y)).
        far(X, Z, T) :- far(X, Y, S), arc(Y, Z), half(Z) < 4, T = cat(substr(S, 0, 3), label(Z)), T >= "<".
    """
    expected = {(x, y, f"<{x}><{y}>") for x in (0, 1) for y in range(x + 1, 8)}
    for execution in (Execution(), Execution(mode="bsp"), Execution(mode="async"), Execution(through_spark=True)):
        events: list[Event] = []
        with arcs.datalog(program, execution=execution, listener=events.append) as result:
            assert facts_of(result["far"]) == expected
        assert [name for name, _ in executors(events)] == ["cyclic"]
    assert "far: cyclic executor, one job" in str(arcs.check(program))


def test_workers_carry_pairs_and_lists(arcs: Database) -> None:
    program = """
        after(X, collect<Y>) :- arc(X, Y), X < 3.
        far(X, P, L) :- after(X, L), encd(X, "n", P).
        far(Y, Q, L) :- far(X, P, L), arc(X, Y), Y < 4, decd(P, _, S), encd(Y, substr(cat(S, "x"), 0, 3), Q).
    """
    names = ("n", "nx", "nxx", "nxx")
    expected = {(y, (y, names[y - x]), (x + 1,)) for x in range(3) for y in range(x, 4)}
    events: list[Event] = []
    with arcs.datalog(program, listener=events.append) as result:
        rows = result["far"].collect()
    assert {(row[0], tuple(row[1]), tuple(row[2])) for row in rows} == expected
    assert [name for name, _ in executors(events)] == ["cyclic"]
    with arcs.datalog(program, execution=Execution(through_spark=True), listener=events.append) as result:
        assert {(row[0], tuple(row[1]), tuple(row[2])) for row in result["far"].collect()} == expected
    assert executors(events)[-1][0] == "cyclic"


def test_rows_come_as_spark_has_them(database: Database) -> None:
    """Without a shuffle where there are partitions enough, also if some are empty; with one otherwise."""
    through_spark = Execution(executor="cyclic", through_spark=True)
    rows = database.spark.range(0, 80, 1, 4).where("id < 20").selectExpr("id AS a", "id + 1 AS b")
    assert fixed_partitions(rows.coalesce(2)) == 2
    assert fixed_partitions(rows.coalesce(1)) == 1
    assert fixed_partitions(rows.repartition(4)) is None
    for frame in (rows, rows.coalesce(1), rows.repartition(4)):
        database["arc"] = frame
        with database.datalog(TC, execution=through_spark) as result:
            assert facts_of(result["tc"]) == CLOSURE


def test_too_many_workers(arcs: Database) -> None:
    with pytest.raises(EmberlogError, match=r"DL331.*5 workers"):
        arcs.datalog(TC, execution=Execution(workers=5))


def test_a_recursion_that_cannot_be_decomposed(arcs: Database) -> None:
    with pytest.raises(EmberlogError, match="DL332"):
        arcs.datalog(NEAR, execution=Execution(mode="decomposed"))


def test_what_workers_cannot_run(arcs: Database) -> None:
    program = "least(X, min<T>) :- arc(X, _), T = to_string(X).\nleast(Y, min<T>) :- least(X, T), arc(X, Y).\n"
    with pytest.raises(EmberlogError, match=r"DL333.*aggregates text"):
        arcs.datalog(program, execution=CYCLIC)


def test_faults_have_their_place(arcs: Database) -> None:
    with pytest.raises(EmberlogError) as caught:
        arcs.datalog("n(X) :- arc(X, _).\nn(Y) :- n(X), Y = 10 div (X - 3), Y > 100.\n", execution=CYCLIC)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "DL501"
    assert "<text>:2:" in str(caught.value)


def test_limits(arcs: Database) -> None:
    with pytest.raises(EmberlogError, match=r"DL510.*the limit of 5 iterations was passed in stratum 1: tc"):
        arcs.datalog(TC, execution=CYCLIC, limits=Limits(max_iterations=5))
    with pytest.raises(EmberlogError, match=r"DL511.*the limit of 50 rows"):
        arcs.datalog(TC, execution=CYCLIC, limits=Limits(max_rows=50))


def test_a_profile(arcs: Database) -> None:
    events: list[Event] = []
    with arcs.datalog(TC, execution=Execution(profile=True), listener=events.append):
        (profiled,) = [event for event in events if isinstance(event, RulesProfiled)]
    assert sum(one.kept for one in profiled.rounds) == len(CLOSURE)
    with arcs.datalog(TC, listener=events.append):
        counted, plain = [event.representation for event in events if isinstance(event, StratumFinished)]
    assert counted == plain != ""


def test_many_in_a_row_leave_nothing(arcs: Database) -> None:
    for _ in range(10):
        with arcs.datalog(NEAR, execution=CYCLIC) as result:
            assert result["near"].count() == 21
