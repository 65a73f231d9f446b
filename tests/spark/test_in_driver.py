"""What is small is computed in the driver's process: what that changes, what it does not, and when it ends."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.config import ON_ONE_MACHINE, Execution, Limits, Recovery
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.local.run import FEW_HANDLED_LOADED
from emberlog.engines.spark import job_inputs
from emberlog.engines.spark.plain_scan import SOON_COLLECTED, rows_of
from emberlog.events import Event, ExecutorChosen, IterationFinished
from emberlog.io.facts import in_order, read_facts
from emberlog.workers.store.folders import Folder
from emberlog.workers.wire.feeding import ParquetFiles
from tests.door import SOURCES, check_random_table
from tests.golden.corpus import GoldenCase, all_cases
from tests.golden.test_golden import assert_same_facts
from tests.oracle.evaluate import evaluate
from tests.programs import checked
from tests.spark.answers import facts_of, run_dataframe

pytestmark = pytest.mark.in_driver

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Z) :- tc(X, Y), arc(Y, Z).\n"
ARCS = [(number, number + 1) for number in range(20)]
CLOSURE = {(one, other) for one in range(21) for other in range(one + 1, 21)}
DRIVER = Execution(executor="driver")


def jobs(spark: SparkSession) -> int:
    """How many jobs the session has run."""
    store = spark.sparkContext._jsc.sc().statusStore()
    return int(store.jobsList(None).size())


def chosen(database: Database[DataFrame], program: str, **options: object) -> list[tuple[str, str]]:
    """Who computed the recursions, and why."""
    events: list[Event] = []
    with database.datalog(program, listener=events.append, **options) as result:  # type: ignore[arg-type]
        for name in result:
            result[name].collect()
    return [(event.executor, event.why) for event in events if isinstance(event, ExecutorChosen)]


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets other bounds for what is small."""
    return lambda **bounds: monkeypatch.setattr(
        "emberlog.engines.spark.run.bounds_for", lambda _spark: replace(ON_ONE_MACHINE, **bounds)
    )


# --- where ------------------------------------------------------------------------------------------------------------


def test_it_takes_no_job(database: Database[DataFrame], spark: SparkSession) -> None:
    database["arc"] = ARCS
    before = jobs(spark)
    far = "far(X, Y) :- tc(X, Y), Y > X + 15.\nfarther(count<X>) :- far(X, Y).\n"
    with database.datalog(f"{TC}{far}near(X) :- arc(X, Y), not far(X, _).\n") as result:
        assert result["tc"].count() == len(CLOSURE)
        assert facts_of(result["tc"]) == CLOSURE
        assert facts_of(result["farther"]) == {(15,)}
    assert jobs(spark) == before


def test_an_answer_is_a_frame_like_any_other(database: Database[DataFrame]) -> None:
    database["arc"] = ARCS
    with database.datalog(TC) as result:
        frame = result["tc"]
        assert frame is result["tc"]
        assert repr(result) == "tc(X: bigint, Y: bigint)"
        assert frame.where("X = 0").count() == 20
        assert frame.join(frame.select("X").distinct(), "X").count() == len(CLOSURE)
        assert frame.agg(F.sum("Y")).collect()[0][0] == sum(y for _, y in CLOSURE)
        assert frame.toPandas().shape == (len(CLOSURE), 2)
        database["tc"] = frame
    assert facts_of(database.query("arc(1, Y)")) == {(1, 2)}


def test_the_run_and_the_plan_say_where_and_why(database: Database[DataFrame]) -> None:
    database["arc"] = ARCS
    assert chosen(database, TC) == [("driver", "reads 20 facts")]
    with database.datalog(TC) as result:
        assert "tc: driver executor, in the driver's process, no job; reads 20 facts" in result.explain()
    assert "is computed in the driver's process instead" in str(database.check(TC))


@pytest.mark.parametrize(
    "execution",
    [
        Execution(executor="cyclic"),
        Execution(workers=2),
        Execution(mode="bsp"),
        Execution(through_spark=True),
        Execution(recovery=Recovery(checkpoint_rounds=1)),
    ],
    ids=["executor", "workers", "mode", "through Spark", "checkpoints"],
)
def test_what_is_for_workers_asks_for_jobs(database: Database[DataFrame], execution: Execution) -> None:
    database["arc"] = ARCS
    assert [name for name, _ in chosen(database, TC, execution=execution)] == ["cyclic"]


def test_the_driver_can_be_asked_for(database: Database[DataFrame], bounded: Callable[..., None]) -> None:
    bounded(read=0, derived=1)
    database["arc"] = database.spark.range(20).select(F.col("id").alias("X"), (F.col("id") + 1).alias("Y"))
    assert [name for name, _ in chosen(database, TC)] == ["cyclic"]
    assert chosen(database, TC, execution=DRIVER) == [("driver", "reads 20 facts")]
    two = Execution(executor="driver", workers=2, mode="bsp")
    assert chosen(database, TC, execution=two) == [("driver", "reads 20 facts")]


def test_options_that_the_driver_cannot_honour_are_refused(database: Database[DataFrame]) -> None:
    with pytest.raises(EmberlogError, match="the executor driver has no option `through_spark`"):
        Execution(executor="driver", through_spark=True)


# --- what it reads ----------------------------------------------------------------------------------------------------


def test_a_small_frame_is_collected_for_a_recursion_and_for_nothing_else(
    database: Database[DataFrame], spark: SparkSession
) -> None:
    database["arc"] = spark.range(20).select(F.col("id").alias("X"), (F.col("id") + 1).alias("Y"))
    before = jobs(spark)
    with database.datalog("late(X) :- arc(X, Y), X > 17.\n") as result:
        assert jobs(spark) == before
        assert facts_of(result["late"]) == {(18,), (19,)}
    assert chosen(database, TC) == [("driver", "reads 20 facts")]


@pytest.mark.parametrize(("most", "is_here"), [(SOON_COLLECTED, True), (8 * 2 * len(CLOSURE) - 1, False)])
def test_what_workers_have_found_is_collected_for_a_query_if_it_is_little(
    database: Database[DataFrame],
    bounded: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    is_here: bool,
) -> None:
    monkeypatch.setattr("emberlog.engines.local.run.FEW_READ", 0)  # workers have the recursion
    monkeypatch.setattr("emberlog.engines.spark.run.SOON_COLLECTED", most)
    bounded(derived=12)
    database["arc"] = ARCS
    with database.datalog(f"{TC}far(X, Y) :- tc(X, Y), Y > X + 17.\nfar(X, Y)?\n") as result:
        assert (result._at_hand("far") is not None) == is_here
        assert facts_of(result["far"]) == {(0, 18), (0, 19), (0, 20), (1, 19), (1, 20), (2, 20)}


def test_a_frame_of_unknown_size_stays_on_spark(database: Database[DataFrame], spark: SparkSession) -> None:
    rows = spark.sparkContext.parallelize(ARCS)  # nobody knows how many
    database["arc"] = spark.createDataFrame(rows, "X long, Y long")
    assert [name for name, _ in chosen(database, TC)] == ["cyclic"]


def test_a_frame_that_is_larger_than_spark_says_stays_there(
    database: Database[DataFrame], spark: SparkSession, bounded: Callable[..., None]
) -> None:
    bounded(read=1_600)
    many = spark.range(1).select(F.explode(F.sequence(F.lit(0), F.lit(999))).alias("X"))
    database["arc"] = many.select("X", (F.col("X") % 7).alias("Y"))
    assert [name for name, _ in chosen(database, TC)] == ["cyclic"]


@pytest.mark.parametrize(("read", "executor"), [(1 << 20, "driver"), (1_600, "cyclic")])
def test_spark_computes_a_query_that_may_be_large_once(
    database: Database[DataFrame],
    spark: SparkSession,
    bounded: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    read: int,
    executor: str,
) -> None:
    bounded(read=read)
    monkeypatch.setattr("emberlog.engines.spark.plain_scan.SOON_COLLECTED", 0)
    written, rows = job_inputs._written_by_spark, list[int]()

    def counted(frame: DataFrame, folder: Folder) -> ParquetFiles:
        found = written(frame, folder)
        rows.append(found.rows)
        return found

    monkeypatch.setattr(job_inputs, "_written_by_spark", counted)
    many = spark.range(1).select(F.explode(F.sequence(F.lit(0), F.lit(999))).alias("X"))
    database["arc"] = many.select("X", (F.col("X") % 7).alias("Y"))
    assert [name for name, _ in chosen(database, TC)] == [executor]
    assert rows == [1_000]
    with database.datalog(f"{TC}tc(X, Y)?\n") as result:
        assert facts_of(result["tc"]) == {(x, x % 7) for x in range(1_000)}


def test_rows_of_a_cache_are_known(database: Database[DataFrame], spark: SparkSession) -> None:
    query = spark.range(20).select(F.col("id").alias("X"), (F.col("id") + 1).alias("Y")).where("X >= 0")
    assert rows_of(query) is None
    cached = query.where("Y > 0").cache()
    try:
        cached.count()
        assert rows_of(cached) == len(ARCS)
        database["arc"] = cached
        assert [name for name, _ in chosen(database, TC)] == ["driver"]
    finally:
        cached.unpersist()


def test_what_this_process_gave_up_is_not_collected(
    database: Database[DataFrame], bounded: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers compute it together with the recursion that reads it."""
    bounded(derived=12)
    monkeypatch.setattr("emberlog.engines.local.run.FEW_READ", 0)  # no interpreter
    monkeypatch.setattr("emberlog.engines.spark.run.collected", None)
    database["arc"] = ARCS
    program = "link(X, Y) :- arc(X, Y), X != Y.\nlink(Y, X) :- arc(X, Y).\n"
    reach = "reach(Y) :- link(0, Y).\nreach(Z) :- reach(Y), link(Y, Z).\n"
    with database.datalog(f"{program}{reach}reach(X)?\n") as result:
        assert facts_of(result["reach"]) == {(number,) for number in range(21)}


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_small_files_are_read_here_and_again_when_they_change(
    database: Database[DataFrame], spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"arc.{kind}"

    def write(rows: list[tuple[int, int]]) -> None:
        if kind == "parquet":
            pq.write_table(pa.table({"X": [x for x, _ in rows], "Y": [y for _, y in rows]}), path)
        else:
            path.write_text("".join(f"{x},{y}\n" for x, y in rows))

    write(ARCS)
    database["arc"] = path
    assert chosen(database, TC) == [("driver", "reads 20 facts")]
    before = jobs(spark)
    with database.datalog(TC) as result:
        assert facts_of(result["tc"]) == CLOSURE
    assert jobs(spark) == before
    write(ARCS[:10])
    os.utime(path, (time.time() + 5, time.time() + 5))
    assert chosen(database, TC) == [("driver", "reads 10 facts")]


@pytest.mark.parametrize("source", SOURCES)
def test_random_tables_come_through_cell_by_cell(database: Database[DataFrame], tmp_path: Path, source: str) -> None:
    check_random_table(database, 7, source, tmp_path, on_spark=True)


# --- when it ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "why"),
    [
        ({"derived": 30}, "it derives more than 30 facts in the driver's process"),
        ({"seconds": 1e-9}, "it takes more than 1e-09 s in the driver's process"),
        ({"written": 800}, "it derives more than 50 facts in the driver's process"),
    ],
    ids=["facts", "seconds", "bytes"],
)
def test_a_recursion_that_outgrows_the_driver_goes_to_workers(
    database: Database[DataFrame],
    bounded: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    bounds: dict[str, float],
    why: str,
) -> None:
    monkeypatch.setattr("emberlog.engines.local.run.FEW_READ", 0)  # nothing is interpreted
    bounded(**bounds)
    arcs = [(number, number + 1) for number in range(2_000)]
    database["arc"] = arcs
    program = f"{TC}tc(0, Y)?\n"
    events: list[Event] = []
    with caplog.at_level(logging.INFO, "emberlog"), database.datalog(program, listener=events.append) as result:
        assert result["tc"].count() == 2_000
    *_, last = (event for event in events if isinstance(event, ExecutorChosen))
    assert last.executor == "cyclic"
    assert why in last.why
    assert f"tc: goes on on Spark, because {why}" in caplog.text


SOME = "some(X, Y) :- arc(X, Y).\nsome(X, Y) :- some(X, Z), arc(Z, Y), X + Y < 30.\n"
NEAR = "near(X, min<D>) :- X = 0, D = 0.\nnear(Y, min<D>) :- near(X, C), arc(X, Y), D = C + 1.\n"
WAYS = "ways(X, msum<P, N>) :- X = 0, P = 0, N = 1.\nways(Y, msum<X, N>) :- ways(X, N), arc(X, Y).\n"


@pytest.mark.parametrize("program", [SOME, NEAR, WAYS], ids=["set", "min", "msum"])
def test_workers_go_on_from_what_the_driver_has_found(
    database: Database[DataFrame],
    bounded: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
) -> None:
    monkeypatch.setattr("emberlog.engines.local.run.FEW_READ", 0)  # nothing is interpreted
    bounded(derived=12)
    arcs = [*ARCS, (0, 2), (3, 7)]
    database["arc"] = arcs
    name = program.partition("(")[0]
    events: list[Event] = []
    with caplog.at_level(logging.INFO, "emberlog"), database.datalog(program, listener=events.append) as result:
        assert (
            facts_of(result[name]) == evaluate(checked(f"declare arc(int a, int b).\n{program}"), {"arc": arcs})[name]
        )
        told = str(result.explain())
    *_, last = (event for event in events if isinstance(event, ExecutorChosen))
    rounds = [event.iteration for event in events if isinstance(event, IterationFinished)]
    assert last.executor == "cyclic"
    if program == WAYS:
        assert "its sums are known by more than its facts" in caplog.text
        assert f"{name}: computed again on Spark, because it derives more than 12 facts" in caplog.text
        assert "begun in the driver's process: it derives more than 12 facts" in told
        return
    assert f"{name}: goes on on Spark, because it derives more than 12 facts in the driver's process" in caplog.text
    assert "; goes on from the " in last.why
    assert "begun in the driver's process: it derives more than 12 facts" in told
    assert rounds == sorted(set(rounds))  # no iteration is done again


def test_a_query_that_outgrows_the_interpreter_stays_a_query(
    database: Database[DataFrame], spark: SparkSession
) -> None:
    database["many"] = [(number,) for number in range(1_500)]
    with database.datalog("pair(X, Y) :- many(X), many(Y).\n") as result:
        assert result["pair"].count() == 1_500**2


def test_a_query_of_thousands_of_rows_takes_no_job(database: Database[DataFrame], spark: SparkSession) -> None:
    import emberlog.engines.local.recursion  # noqa: F401 - with its kernels, few rows are too many in a recursion

    rows = FEW_HANDLED_LOADED + 1_000
    database["many"] = [(number,) for number in range(rows)]
    before = jobs(spark)
    with database.datalog("even(X) :- many(X), X % 2 = 0.\nhalf(Y) :- even(X), Y = X / 2.\nhalf(X)?\n") as result:
        assert result["half"].count() == rows // 2
    assert jobs(spark) == before


@pytest.mark.parametrize(
    ("limits", "code"),
    [(Limits(max_rows=30), "DL511"), (Limits(max_iterations=3), "DL510"), (Limits(timeout=0.5), "DL512")],
)
def test_limits_of_the_run_hold(database: Database[DataFrame], limits: Limits, code: str) -> None:
    database["one"] = [(1,)]
    endless = "n(X) :- one(X).\nn(Y) :- n(X), Y = X + 1.\n"
    with pytest.raises(EmberlogError) as caught:
        database.datalog(endless, limits=limits)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code


# --- what stays the same ----------------------------------------------------------------------------------------------


def test_questions_are_answered(database: Database[DataFrame]) -> None:
    database["arc"] = ARCS
    with database.datalog(TC, provenance=True) as result:
        here = str(result.why("tc", (0, 3)))
        history = facts_of(result.history("tc"))
    with database.datalog(TC, provenance=True, execution=Execution(executor="cyclic")) as result:
        assert str(result.why("tc", (0, 3))) == here
        assert facts_of(result.history("tc")) == history


def test_functions_of_people_are_called(database: Database[DataFrame]) -> None:
    database.function("twice", lambda x: 2 * x, ["int"], "int")
    database["one"] = [(1,)]
    program = "p(X) :- one(X).\np(Y) :- p(X), Y = twice(X), Y < 100.\n"
    with database.datalog(program) as result:
        assert facts_of(result["p"]) == {(2**power,) for power in range(7)}


def test_faults_have_their_place(database: Database[DataFrame]) -> None:
    database["n"] = [(2**62,)]
    program = "p(X) :- n(X).\np(Y) :- p(X), Y = X + X.\n"
    found = []
    for execution in (Execution(), Execution(executor="cyclic")):
        with pytest.raises(EmberlogError) as caught:
            database.datalog(program, execution=execution)
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.span is not None
        found.append((diagnostic.code, diagnostic.span.begin.line))
    assert found[0] == found[1]


WITH_ANSWERS = [case for case in all_cases() if case.expected_answers]
FAILING = [case for case in all_cases() if case.fails_while_running]


@pytest.mark.parametrize("case", WITH_ANSWERS, ids=lambda case: case.name)
def test_golden_answers(case: GoldenCase, spark: SparkSession) -> None:
    prepared = case.prepare()
    answers = run_dataframe(spark, prepared.checked, prepared.inputs, prepared.limits, execution=Execution())
    assert sorted(answers) == sorted(case.expected_answers)
    for name, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[name].columns)
        assert_same_facts(expected, sorted(answers[name], key=in_order))


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.name)
def test_golden_errors(case: GoldenCase, spark: SparkSession) -> None:
    prepared = case.prepare()
    with pytest.raises(EmberlogError) as caught:
        run_dataframe(spark, prepared.checked, prepared.inputs, prepared.limits, execution=Execution())
    (diagnostic,) = caught.value.diagnostics
    assert f"error[{diagnostic.code}]" in (case.expected_error or "")
