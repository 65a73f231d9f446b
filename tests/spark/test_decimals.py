"""Decimals on Spark: exact on the way in, in the program, and on the way out."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from emberlog import Database
from tests.unit.io.test_decimals import COPY, column, random_decimals

pytestmark = pytest.mark.spark

PROGRAM = """
declare t(i: int, x: decimal(2)).
f(I, X * 0.85, X + 0.005, X / 3, string(X), round(X, 1), floor(X), float(X)) :- t(I, X).
g(sum<X>, min<X>, max<X>, collect<X>) :- t(_, X), X < 0.105, X > -1000.
h(I, J) :- t(I, X), t(J, Y), X = Y * 2.5, X != 0.
best(I, min<X>) :- t(I, X), I < 3.
best(J, min<Y>) :- best(I, X), J = I + 1, J < 9, Y = X - 0.05.
"""


def rows_of(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_round_trips(spark: SparkSession, tmp_path: Path) -> None:
    values = random_decimals(5, 4, 60)
    rows: list[tuple[object, ...]] = sorted(enumerate(values), key=repr)
    db = Database(spark)
    db["t"] = column(values, pa.decimal128(38, 10))
    frame = db.datalog(COPY)["p"]
    assert frame.schema.fields[1].dataType.simpleString() == "decimal(19,4)"
    assert rows_of(frame) == rows
    again = Database(spark)
    again["t"] = frame.withColumn("X", frame["X"].cast("decimal(38,10)"))
    assert rows_of(again.datalog(COPY)["p"]) == rows
    for kind in ("csv", "json", "parquet"):
        db.datalog(COPY).write(tmp_path / kind, format=kind)
        again = Database(spark)
        again.register("t", str(tmp_path / kind / "p"), format=kind)
        assert rows_of(again.datalog(f"declare t(i: int, x: decimal(4)). {COPY}")["p"]) == rows, kind


def test_answers_are_those_of_this_process(spark: SparkSession) -> None:
    values = [None if value is None else value % 1000 for value in random_decimals(6, 2, 60)]
    here, there = Database(engine="local"), Database(spark)
    here["t"] = there["t"] = column(values, pa.decimal128(19, 2))
    wanted, found = here.datalog(PROGRAM), there.datalog(PROGRAM)
    for name in ("f", "g", "h", "best"):
        assert rows_of(found[name]) == sorted(
            (tuple(list(cell) if isinstance(cell, tuple) else cell for cell in row) for row in wanted[name].collect()),
            key=repr,
        ), name


def test_ids_stay_apart_and_what_does_not_fit_is_told(spark: SparkSession) -> None:
    ids = spark.sql("select cast(id + 90071992547409930 as decimal(20,0)) as x from range(2)")
    db = Database(spark)
    db["t"] = ids
    assert rows_of(db.datalog("p(X) :- t(X).")["p"]) == [(90071992547409930,), (90071992547409931,)]
    db["u"] = spark.sql("select cast('123456789012345678901.5' as decimal(38,10)) as x")
    with pytest.raises(Exception, match=r"DL413.*holds 123456789012345678901.5"):
        db.datalog("q(X) :- u(X).")["q"].collect()
