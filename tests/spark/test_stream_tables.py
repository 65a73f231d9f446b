"""Tables of a database follow the changes of a stream by key; Derby comes with Spark."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from emberlog.database import Database
from emberlog.datatypes import FLOAT, INT, STRING, TIMESTAMP
from emberlog.diagnostics import EmberlogError
from emberlog.semantics.model import Column
from emberlog.streams.spark.jdbc import JdbcTables
from emberlog.streams.steps.answers import Layout
from tests.spark.test_streams import put, rides

PROGRAM = """\
{ride(Ts: Timestamp, Pickup: String, Drop: String, Fare: Float)}
best(Ts, P, D, mmin<F>) ← ride(Ts, P, D, F).
best(Ts, P, D, mmin<F>) ← ride(Ts1, P, P2, F1), best(Ts2, P2, D, F2), F = F1 + F2, largest(Ts, Ts1, Ts2).
starts(A) ← ride(_, A, _, _).
busiest(max<F>) ← ride(_, _, _, F).
query best(_, P, D, C), WINDOW(20, 5).
query starts(A), WINDOW(20, 5).
query busiest(F), WINDOW(20, 5).
"""


@pytest.fixture
def derby(spark: SparkSession, tmp_path: Path) -> Iterator[Any]:
    """A database in memory: its address, and what runs a statement on it."""
    java: Any = spark._jvm
    java.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    url = f"jdbc:derby:memory:{tmp_path.name}"
    java.java.sql.DriverManager.getConnection(f"{url};create=true").close()

    def run(statement: str) -> None:
        connection = java.java.sql.DriverManager.getConnection(url)
        connection.createStatement().execute(statement)
        connection.close()

    yield url, run
    with pytest.raises(Exception, match="dropped"):
        java.java.sql.DriverManager.getConnection(f"{url};drop=true")


def rows(spark: SparkSession, url: str, table: str) -> list[tuple[object, ...]]:
    return sorted(map(tuple, spark.read.format("jdbc").options(url=url, dbtable=table).load().collect()), key=str)


def test_tables_have_the_answers_of_the_last_slide(
    spark: SparkSession, database: Database, derby: Any, tmp_path: Path
) -> None:
    """After every run; one table is made by Spark, and one has no room for the slide."""
    url, execute = derby
    execute("CREATE TABLE best (slide BIGINT, p VARCHAR(9), d VARCHAR(9), f DOUBLE)")
    execute("CREATE TABLE starts (a VARCHAR(9))")
    chance = random.Random(3)
    shown: dict[str, dict[object, tuple[object, ...]]] = {"best": {}, "starts": {}, "busiest": {}}
    (tmp_path / "rides").mkdir()
    database["ride"] = rides(spark, tmp_path / "rides")
    result = database.datalog(PROGRAM)

    def replay(frames: Any, _step: int) -> None:
        changes = [(row[0], row[1], name, tuple(row[2:])) for name in frames for row in frames[name].collect()]
        for _, change, name, fact in sorted(changes, key=lambda one: (one[0], one[1] == "added")):
            key = {"best": fact[:2], "starts": fact, "busiest": ()}[name]
            if change == "added":
                shown[name][key] = fact
            else:
                del shown[name][key]

    into_tables: dict[str, Any] = {"format": "jdbc", "options": {"url": url}}
    sinks: dict[str, dict[str, Any]] = {"tables": into_tables, "replayed": {"foreachBatch": replay}}
    for number in range(4):
        times = [12 * number + chance.randint(0, 11) for _ in range(9)]
        put(tmp_path / "rides", number, [(t, *chance.choices("ABCDE", k=2), chance.randint(1, 9)) for t in times])
        for checkpoint, how in sinks.items():
            result.start(
                checkpointLocation=tmp_path / checkpoint,
                outputMode="changes",
                availableNow=True,
                closes=number == 3,
                **how,
            ).awaitTermination()
        best = [row[1:] for row in rows(spark, url, "best")]
        assert sorted(best, key=str) == sorted(shown["best"].values(), key=str) != []
        assert rows(spark, url, "starts") == sorted(shown["starts"].values(), key=str)
        assert [row[1:] for row in rows(spark, url, "busiest")] == list(shown["busiest"].values())


def test_a_step_that_comes_again_does_the_same(spark: SparkSession, derby: Any) -> None:
    """With nulls in keys and values, moments, and a key that changes in several slides of a step."""
    url, execute = derby
    execute("CREATE TABLE latest (Slide TIMESTAMP, Who VARCHAR(9), N INT, Since TIMESTAMP, Fare DOUBLE)")
    columns = (Column("Who", STRING), Column("N", INT), Column("Since", TIMESTAMP, "max"), Column("Fare", FLOAT, "min"))
    layout = Layout(True, {"latest": columns}, {}, plain_times=False)
    tables = JdbcTables(spark, {"url": url}, layout)
    one, two, three = (datetime(2026, 1, day, 10, 0, 0, 5) for day in (1, 2, 3))
    steps: list[list[tuple[object, ...]]] = [
        [(one, "added", "ann", 1, one, 1.0), (one, "added", None, 1, two, None), (one, "added", "bob", None, two, 2.0)],
        [
            (two, "removed", "ann", 1, one, 1.0),
            (two, "added", "ann", 1, two, 3.0),
            (two, "removed", None, 1, two, None),
            (three, "removed", "ann", 1, two, 3.0),
            (three, "added", "ann", 1, three, 4.0),
            (three, "added", "cid", 2, three, 5.0),
        ],
    ]
    expected: list[list[tuple[object, ...]]] = [
        [(one, "ann", 1, one, 1.0), (one, "bob", None, two, 2.0), (one, None, 1, two, None)],
        [(one, "bob", None, two, 2.0), (three, "ann", 1, three, 4.0), (three, "cid", 2, three, 5.0)],
    ]
    for number, (changes, answer) in enumerate(zip(steps, expected, strict=True)):
        frame = spark.createDataFrame(changes, from_arrow_schema(layout.schema("latest")))
        for _ in range(2):
            tables.deliver(number, {"latest": frame})
            assert rows(spark, url, "latest") == sorted(answer, key=str)


def test_a_step_is_there_as_a_whole_or_not_at_all(spark: SparkSession, derby: Any) -> None:
    url, execute = derby
    execute("CREATE TABLE p (x INT)")
    execute("CREATE TABLE q (x INT CHECK (x < 10))")
    layout = Layout(True, {"p": (Column("X", INT),), "q": (Column("X", INT),)}, {}, plain_times=True)
    tables = JdbcTables(spark, {"url": url}, layout)
    frames = {
        name: spark.createDataFrame([(1, "added", value)], from_arrow_schema(layout.schema(name)))
        for name, value in (("p", 1), ("q", 20))
    }
    with pytest.raises(EmberlogError, match=r"DL345.*step 0"):
        tables.deliver(0, frames)
    assert rows(spark, url, "p") == []


def test_what_a_database_cannot_take_is_told_at_the_start(
    spark: SparkSession, database: Database, derby: Any, tmp_path: Path
) -> None:
    url, execute = derby
    execute("CREATE TABLE best (p VARCHAR(9), c DOUBLE)")
    (tmp_path / "rides").mkdir()
    database["ride"] = rides(spark, tmp_path / "rides")
    result = database.datalog(PROGRAM)
    cases: tuple[tuple[dict[str, str], dict[str, Any], str], ...] = (
        ({"url": url}, {}, "DL345.*`best` has no column `D`"),
        ({"url": "jdbc:derby:memory:nowhere"}, {}, "DL345.*nowhere.*not found"),
        ({}, {}, "DL508.*no address"),
        ({"url": url, "dbtable": "best"}, {}, "DL508.*best, starts, busiest"),
        ({"url": url}, {"late": "keep"}, "DL508.*late tuples"),
    )
    for options, how, said in cases:
        with pytest.raises(EmberlogError, match=said):
            result.start(
                format="jdbc", options=options, checkpointLocation=tmp_path / "checkpoint", outputMode="changes", **how
            )
