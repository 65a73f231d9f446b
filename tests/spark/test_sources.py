"""Data as people have it, on Spark: partitioned folders, tables by name, JSON, dicts and streams of Arrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emberlog.database import Database
from emberlog.diagnostics import EmberlogError

TWO = "q(X, Y) :- e(X, Y)."


def facts_of(database: Database, data: object, program: str = TWO) -> set[tuple[Any, ...]]:
    database["e"] = data
    return {tuple(row) for row in database.datalog(program)["q"].collect()}


def test_a_partitioned_folder(database: Database, tmp_path: Path) -> None:
    table = pa.table({"v": [1, 2, 3], "zip": ["01234", "99999", None], "year": [2025, 2026, 2026]})
    pq.write_to_dataset(table, tmp_path / "sales", partition_cols=["zip", "year"])
    expected = {(1, "01234", 2025), (2, "99999", 2026), (3, None, 2026)}
    program = "q(X, Y, Z) :- e(X, Y, Z)."
    assert facts_of(database, tmp_path / "sales", program) == expected
    assert facts_of(database, (tmp_path / "sales").as_uri(), program) == expected
    chained = "q(Y, X) :- e(X, _, Y). q(X, Z) :- q(X, Y), e(Z, _, Y)."
    assert facts_of(database, tmp_path / "sales", chained) == {(2025, 1), (2026, 2), (2026, 3)}


def test_tables_by_name(database: Database, tmp_path: Path) -> None:
    spark = database.spark
    frame = spark.createDataFrame([(1, "x"), (2, None)], "a long, b string")
    frame.createOrReplaceTempView("people")
    spark.sql(f"CREATE SCHEMA door LOCATION '{tmp_path.as_uri()}'")
    try:
        frame.write.mode("overwrite").saveAsTable("door.people")
        expected = {(1, "x"), (2, None)}
        for name in ("people", "door.people", "spark_catalog.door.people"):
            assert facts_of(database, name) == expected
    finally:
        spark.sql("DROP SCHEMA door CASCADE")
        spark.catalog.dropTempView("people")
    with pytest.raises(EmberlogError, match="DL405"):
        database["e"] = "no.such.people"


def test_json(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    expected = {(1, "2024-01-01"), (None, "x")}
    path.write_text('{"b": 1, "a": "2024-01-01"}\n{"a": "x"}\n')
    assert facts_of(database, path) == expected
    path.write_text('[{"b": 1, "a": "2024-01-01"},\n {"a": "x"}]')
    assert facts_of(database, path) == expected
    path.write_text('{"b": 9007199254740993, "a": "x"}\n{"b": 0.5, "a": "x"}\n')
    with pytest.raises(EmberlogError, match=r"DL506.*9,007,199,254,740,993"):
        facts_of(database, path)
    path.write_text('{"b": 1, "a": "x"}\n{"b":}\n')
    with pytest.raises(EmberlogError, match=r"(?s)DL404.*e.json:2:6"):
        facts_of(database, path)
    path.write_text('{"a": 1}\n{"a": "1"}\n')
    with pytest.raises(EmberlogError, match=r"DL403.*`a` of `e` has texts, and also 1"):
        database.register("e", path)
        database.datalog("p(X) :- e(X).")


def test_data_of_this_process(database: Database) -> None:
    named = "declare e(src: int, dst: int). q(X, Y) :- e(X, Y)."
    assert facts_of(database, {"dst": [1, 2], "src": [3, None]}, named) == {(3, 1), (None, 2)}
    assert facts_of(database, pa.table({"dst": [1], "src": [3]}).to_reader(), named) == {(3, 1)}
    with pytest.raises(EmberlogError, match="DL423"):
        facts_of(database, database.spark.createDataFrame([(1, 2)], "dst long, source long"), named)
