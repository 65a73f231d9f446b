"""What could go wrong only where executors are processes of their own, or where the driver is out of reach."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution, Limits
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.frames.resources import is_connect
from emberlog.events import Event, ExecutorChosen
from emberlog.io.facts import in_order, read_facts
from tests.golden.corpus import all_cases
from tests.golden.test_golden import assert_same_facts
from tests.spark.answers import facts_of, run_dataframe

CASES = (
    "aggregates/mcount_in_recursion",
    "examples/access_rights",
    "functions/to_string",
    "recursion/linear_right_on_strings",
)
MORE_CASES = (
    "aggregates/argmin_and_argmax",
    "aggregates/min_of_pairs_in_recursion",
    "basics/timestamps",
    "negation/inside_recursion_over_a_lower_stratum",
    "queries/non_linear_with_constant",
    "recursion/iterations_bound",
    "recursion/pagerank_by_stage",
)

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
AS_JOBS = Execution(executor="dataframe")


@pytest.mark.parametrize("name", [*CASES, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE_CASES)])
def test_golden_programs(spark: SparkSession, name: str) -> None:
    (case,) = (one for one in all_cases() if one.name == name)
    prepared = case.prepare()
    answers = run_dataframe(spark, prepared.checked, prepared.inputs, prepared.limits)
    for relation, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[relation].columns)
        assert_same_facts(expected, sorted(answers[relation], key=in_order))


@pytest.mark.parametrize("mode", ["auto", "bsp"])
@pytest.mark.parametrize("name", ["examples/access_rights", "recursion/non_linear_closure", "recursion/nearest_start"])
def test_golden_programs_as_one_job(spark: SparkSession, name: str, mode: str) -> None:
    (case,) = (one for one in all_cases() if one.name == name)
    prepared = case.prepare()
    events: list[Event] = []
    answers = run_dataframe(
        spark, prepared.checked, prepared.inputs, prepared.limits, events.append, execution=Execution(mode=mode)
    )
    for relation, path in case.expected_answers.items():
        expected = read_facts(path, prepared.checked.relations[relation].columns)
        assert_same_facts(expected, sorted(answers[relation], key=in_order))
    chosen = [event for event in events if isinstance(event, ExecutorChosen)]
    assert {(event.executor, "2 workers" in event.how) for event in chosen} == {("cyclic", True)}


@pytest.mark.in_driver
def test_what_is_small_is_computed_in_the_driver(spark: SparkSession, database: Database) -> None:
    events: list[Event] = []
    database["arc"] = [(1, 2), (2, 3), (3, 4)]
    with database.datalog(TC, listener=events.append) as result:
        assert result["tc"].count() == 6
        assert facts_of(result["tc"].where("X = 1")) == {(1, 2), (1, 3), (1, 4)}
    database["arc"] = spark.createDataFrame([(1, 2), (2, 3)], "X long, Y long")
    with database.datalog(TC, listener=events.append, execution=Execution(executor="driver")) as result:
        assert facts_of(result["tc"]) == {(1, 2), (1, 3), (2, 3)}
    chosen = [event for event in events if isinstance(event, ExecutorChosen)]
    assert [(event.executor, event.why) for event in chosen] == [
        ("driver", "reads 3 facts"),
        ("driver", "reads 2 facts"),
    ]


def test_python_functions_inside_a_recursion(database: Database) -> None:
    """They run on the executors, where there is no Emberlog and no database."""
    database.function("next", lambda n: n + 1, ["int"], "int")
    database.aggregate("middle", lambda values: values[len(values) // 2], "int")
    database["start"] = [(1,), (20,)]
    program = "n(X) :- start(X).\nn(Y) :- n(X), X < 5, Y = next(X).\nm(middle<X>) :- n(X).\n"
    with database.datalog(program, execution=AS_JOBS) as result:
        assert facts_of(result["n"]) == {(1,), (2,), (3,), (4,), (5,), (20,)}
        assert facts_of(result["m"]) == {(4,)}


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("n(X) :- arc(X, _).\nn(Y) :- n(X), X < 9, Y = X + 9 div (X - 3).\n", "DL501"),
        ("n(X) :- arc(X, _).\nn(Y) :- n(X), X < 9, Y = bad(X).\n", "DL505"),
    ],
)
def test_faults_on_executors(database: Database, program: str, code: str) -> None:
    database.function("bad", lambda n: n // 0, ["int"], "int")
    database["arc"] = [(1, 2), (2, 3), (3, 4)]
    with pytest.raises(EmberlogError) as caught:
        database.datalog(program, execution=AS_JOBS)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert "in rule r2" in diagnostic.message
    assert diagnostic.span is not None and diagnostic.span.begin.line == 2


def test_a_fault_in_a_relation_that_is_read_later(database: Database, tmp_path: Path) -> None:
    database["arc"] = [(1, 2), (2, 3)]
    program = "p(Y) :- arc(X, _), Y = 1 div (X - 2).\n"
    with database.datalog(program) as result, pytest.raises(EmberlogError, match="DL501"):
        result.write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("limits", "code"),
    [(Limits(max_iterations=2), "DL510"), (Limits(max_rows=2), "DL511"), (Limits(timeout=4), "DL512")],
)
def test_limits(database: Database, limits: Limits, code: str) -> None:
    with pytest.raises(EmberlogError, match=code):
        database.datalog("n(0).\nn(X + 1) :- n(X).\n", limits=limits, execution=AS_JOBS)


@pytest.mark.slow
def test_a_job_that_takes_too_long_is_stopped(database: Database) -> None:
    def slow(number: int) -> int:
        time.sleep(2)
        return number

    database.function("slow", slow, ["int"], "int")
    database["arc"] = [(n, n + 1) for n in range(200)]
    with pytest.raises(EmberlogError, match="DL512"):
        database.datalog("p(0).\np(Y) :- p(X), arc(A, _), Y = slow(A).\n", limits=Limits(timeout=10), execution=AS_JOBS)


def test_files_and_frames_in_and_out(database: Database, tmp_path: Path) -> None:
    (tmp_path / "arc.csv").write_text("1,2\n2,3\n")
    database["arc"] = str(tmp_path / "arc.csv")
    with database.datalog(TC, execution=AS_JOBS) as first:
        first.write(tmp_path / "out", "parquet")
        database["known"] = first["tc"]
        database["name"] = pa.table({"id": [1, 2, 3], "text": ["one", "two", None]}).to_pandas()
        with database.datalog("far(S, T) :- known(X, Y), name(X, S), name(Y, T).\n") as second:
            assert facts_of(second["far"]) == {("one", "two"), ("one", None), ("two", None)}
    database["again"] = str(tmp_path / "out" / "tc")
    assert facts_of(database.query("again(1, Y)?")) == {(1, 2), (1, 3)}
    with pytest.raises(EmberlogError, match="DL408"), database.datalog(TC, execution=AS_JOBS) as third:
        third.write(tmp_path / "out", "parquet")


def test_a_folder_that_only_spark_can_reach(database: Database, spark: SparkSession, tmp_path: Path) -> None:
    """A client of Spark Connect could not take back what is half written, so it does not begin."""
    database["arc"] = [(1, 2)]
    target = f"file://{tmp_path}/out"
    with database.datalog("p(X) :- arc(X, _).\n") as result:
        if not is_connect(spark):
            result.write(target)
            assert spark.read.csv(f"{target}/p").count() == 1
            return
        with pytest.raises(EmberlogError, match="DL408"):
            result.write(target)
    assert list(tmp_path.iterdir()) == []


def test_bad_cells_have_their_place(database: Database, tmp_path: Path) -> None:
    (tmp_path / "arc.csv").write_text("1,2\n2,x\n")
    database["arc"] = str(tmp_path / "arc.csv")
    with pytest.raises(EmberlogError) as caught:
        database.datalog(f"declare arc(a: int, b: int).\n{TC}")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "DL404"
    assert diagnostic.span is not None and (diagnostic.span.begin.line, diagnostic.span.begin.column) == (2, 3)


def test_the_choice_that_is_made_when_nothing_is_said(database: Database) -> None:
    database["arc"] = [(n, n + 1) for n in range(6)]
    with database.datalog(TC) as result:
        assert len(facts_of(result["tc"])) == 21
