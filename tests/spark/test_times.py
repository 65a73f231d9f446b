"""Dates, timestamps and durations on Spark: no time zone of the session changes an answer, and types survive."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog import Database
from tests.unit.io.test_times import PROGRAM, Row, random_rows, table_of

pytestmark = pytest.mark.spark

FUNCTIONS = """
declare t(i: int, m: timestamp, d: date, l: duration).
f(I, year(M), month(M), day(M), hour(M), weekday(M), truncate(M, "day"), string(M), format_time(M, "%H:%M")) :-
    t(I, M, _, _).
g(I, add_months(D, 1), D - date "2026-01-05", string(D), week(D)) :- t(I, _, D, _), D < date "9999-11-01".
h(I, M + 90 minutes, date(M), L * 0) :- t(I, M, _, L), M > date "2026-01-05", M < timestamp "9000-01-01".
k(count<I>, min<M>, max<D>, collect<D>) :- t(I, M, D, _).
near(min<M>) :- t(0, M, _, _).
near(min<N>) :- near(M), t(_, N, _, _), N > M - 5000 days.
"""


@pytest.fixture
def new_york(spark: SparkSession) -> Iterator[SparkSession]:
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


def rows_of(frame: DataFrame) -> list[Row]:
    """The rows, with moments in UTC: Python would show those of Spark in the zone of the machine."""
    plain = frame.select("I", F.unix_micros("M").alias("M"), "D", "L").collect()
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return sorted((row[0], None if row[1] is None else epoch + row[1] * _MICROSECOND, row[2], row[3]) for row in plain)


_MICROSECOND = datetime(1970, 1, 1, 0, 0, 0, 1) - datetime(1970, 1, 1)


def test_round_trips(new_york: SparkSession, tmp_path: Path) -> None:
    rows = random_rows(7, 80)
    db = Database(new_york)
    db["t"] = table_of(rows)
    frame = db.datalog(PROGRAM)["p"]
    assert [field.dataType.simpleString() for field in frame.schema.fields] == [
        "bigint",
        "timestamp",
        "date",
        "interval day to second",
    ]
    assert rows_of(frame) == rows
    again = Database(new_york)
    again["t"] = frame.withColumn("M", F.col("M").cast("timestamp"))
    assert rows_of(again.datalog(PROGRAM)["p"]) == rows
    for kind in ("csv", "json", "parquet"):
        db.datalog(PROGRAM).write(tmp_path / kind, format=kind)
        again = Database(new_york)
        again.register("t", str(tmp_path / kind / "p"), format=kind)
        assert rows_of(again.datalog(PROGRAM)["p"]) == rows, kind


def test_moments_without_a_zone(new_york: SparkSession) -> None:
    frame = new_york.sql("select timestamp_ntz'2026-01-05 10:30:00' as m, 1 as i")
    db = Database(new_york)
    db["t"] = frame
    found = db.datalog('p(I, string(M)) :- t(M, I). q(I) :- t(M, I), M = timestamp "2026-01-05 10:30".')
    assert [tuple(row) for row in found["p"].collect()] == [(1, "2026-01-05T10:30:00Z")]
    assert [tuple(row) for row in found["q"].collect()] == [(1,)]


def test_functions_are_those_of_this_process(new_york: SparkSession) -> None:
    rows = [(number, *row[1:]) for number, row in enumerate(row for row in random_rows(8, 60) if row[1] is not None)]
    here, there = Database(engine="local"), Database(new_york)
    here["t"] = there["t"] = table_of(rows)
    wanted, found = here.datalog(FUNCTIONS), there.datalog(FUNCTIONS)
    for name in ("f", "g", "h", "k", "near"):
        moments = [field.name for field in found[name].schema.fields if field.dataType.simpleString() == "timestamp"]
        plain = found[name].withColumns({one: F.unix_micros(one) for one in moments})
        here_rows = wanted[name].to_arrow().to_pylist()
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        for row in here_rows:
            for column, value in row.items():
                row[column] = (value - epoch) // _MICROSECOND if isinstance(value, datetime) else value
        assert sorted(map(repr, (tuple(row.values()) for row in here_rows))) == sorted(
            repr(tuple(row)) for row in plain.collect()
        ), name
