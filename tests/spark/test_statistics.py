"""Statistics of what Spark reads, without a job, and what the plan makes of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.events import Event, ExecutorChosen
from emberlog.logical.statistics import Statistics
from tests.compilations import counted_compilations

EXAMPLES = Path(__file__).parents[2] / "examples"

PROGRAM = "p(X, W) :- a(X, Y), b(Y, Z), c(Z, W)."

A = [(number, number % 50) for number in range(3_000)]
B = [(number % 50, number) for number in range(3_000)]
C = [(7, 1), (8, 2)]
EXPECTED = {(x, w) for x, y in A for z, w in C if y == z % 50}


def statistics(database: Database) -> Statistics:
    return database.check(PROGRAM).optimized.plan.statistics


def test_rows_parquet_and_text_are_known_and_joined_in_a_better_order(spark: SparkSession, tmp_path: Path) -> None:
    database = Database(spark)
    database["a"] = A
    spark.createDataFrame(B, "Y long, Z long").write.parquet(str(tmp_path / "b"))
    database["b"] = str(tmp_path / "b")
    (tmp_path / "c.csv").write_text("7,1\n8,2\n")
    database["c"] = tmp_path / "c.csv"
    found = statistics(database)
    assert {name: one.rows for name, one in found.items()} == {"a": 3_000, "b": 3_000, "c": 2}
    assert [round(column.distinct) for column in found["b"].columns] == [50, 3_000]
    result = database.datalog(PROGRAM)
    assert re.search("reorder_joins +changed", result.explain())
    assert {tuple(row) for row in result["p"].collect()} == EXPECTED


def test_columns_may_have_any_name_or_one_twice(spark: SparkSession) -> None:
    database = Database(spark)
    database["a"] = spark.createDataFrame(A, ["the `first`", "b.c"])
    database["b"] = spark.createDataFrame(B, ["x", "x"])
    database["c"] = spark.createDataFrame(C, ["x", "X"])
    assert {tuple(row) for row in database.datalog(PROGRAM)["p"].collect()} == EXPECTED


def test_what_would_take_a_job_is_left_alone(spark: SparkSession) -> None:
    database = Database(spark)
    for name, rows in (("a", A), ("b", B), ("c", C)):
        database[name] = spark.createDataFrame(rows, "x long, y long").repartition(2)
    assert statistics(database) == {}
    assert {tuple(row) for row in database.datalog(PROGRAM)["p"].collect()} == EXPECTED


def test_a_join_that_would_explode_is_done_by_workers(spark: SparkSession) -> None:
    """A hub: a million paths of two arcs, and a handful of triangles."""
    database = Database(spark)
    arcs = [(number, 0) for number in range(1, 1_000)] + [(0, number) for number in range(1, 1_000)]
    database["arc"] = [*arcs, (5, 6), (6, 7)]
    triangles = "triangle(X, Y, Z) :- arc(X, Y), arc(Y, Z), arc(X, Z).\n"
    chosen: list[Event] = []
    expected = {(5, 6, 0), (6, 7, 0), (5, 0, 6), (6, 0, 7), (0, 5, 6), (0, 6, 7)}
    program = f"{triangles}n(count<_>) :- triangle(_, _, _). n(N)?"
    with database.datalog(program, listener=chosen.append) as counted:
        assert [row[0] for row in counted["n"].collect()] == [len(expected)]
    assert [(one.executor, one.relations) for one in chosen if isinstance(one, ExecutorChosen)] == [("cyclic", ("n",))]
    for executor in ("auto", "dataframe"):
        with database.datalog(triangles, execution=Execution(executor=executor)) as listed:
            assert {tuple(row) for row in listed["triangle"].collect()} == expected


def counted_lines(told: str, heading: str) -> list[str]:
    return told.partition(f"{heading}\n")[2].partition("\n\n")[0].splitlines()


def test_rows_are_counted_where_spark_runs_a_query_and_where_workers_run_a_rule(spark: SparkSession) -> None:
    database = Database(spark)
    database["a"], database["b"], database["c"] = A, B, C
    told = database.cost(PROGRAM, analyze=True)
    nodes = counted_lines(told, "rows expected, and rows counted in all iterations together")
    assert [line.split()[-1] for line in nodes if "Scan" in line] == ["2", "3,000", "3,000"]
    (join,) = (line for line in nodes if line.lstrip(" │├└").startswith("Project X, W"))
    assert join.split()[-1] == f"{len(EXPECTED):,}"
    assert f"p: {len(EXPECTED):,}" in counted_lines(told, "facts counted")[0]
    database["arc"] = [(number, number + 1) for number in range(20)]
    recursive = "tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y). n(count<_>) :- tc(X, Y), X > 5. n(N)?"
    told = database.cost(recursive, analyze=True)
    steps = counted_lines(told, "rows that the workers' rules handed on, step by step")
    (delta,) = (line for line in steps if "Δtc" in line)
    assert delta.split()[-1] == "210"
    assert counted_lines(told, "facts counted") == ["  n: 1"], "the closure is only counted, never written out"
    assert "not counted" in told


def test_a_stratum_is_compiled_once_on_spark(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = counted_compilations(monkeypatch)
    folder = EXAMPLES / "access_rights"
    for path in sorted((folder / "facts").iterdir()):
        database.register(path.stem, path)
    with database.datalog(folder / "program.dl") as result:
        result.explain()
    assert counted
    assert set(counted.values()) == {1}
