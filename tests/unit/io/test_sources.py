"""Data as people have it: dicts, streams of Arrow, partitioned folders, JSON, and pandas with strange indexes."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import emberlog
from emberlog.diagnostics import EmberlogError
from emberlog.io.local_relation import LocalRelation
from tests.door import as_delta

NAMED = "declare e(src: int, dst: int). q(X, Y) :- e(X, Y)."
TWO = "q(X, Y) :- e(X, Y)."


def facts_of(data: object, program: str = TWO) -> set[tuple[Any, ...]]:
    database = emberlog.Database(engine="local")
    database["e"] = data
    return set(database.datalog(program)["q"].collect())


class Stream:
    """Stands for polars, DuckDB and whoever else speaks Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def test_columns_and_rows_by_name() -> None:
    assert facts_of({"dst": [1, 2], "src": [3, None]}, NAMED) == {(3, 1), (None, 2)}
    assert facts_of({"a": np.array([1, 2]), "b": pd.Series(["x", "y"])}) == {(1, "x"), (2, "y")}
    assert facts_of([{"dst": 1, "src": 3}, {"dst": 2}], NAMED) == {(3, 1), (None, 2)}
    assert facts_of([{"a": 1, "b": "x"}, {"c": True}], "q(X, Y, Z) :- e(X, Y, Z).") == {
        (1, "x", None),
        (None, None, True),
    }
    assert facts_of({}, TWO) == facts_of({"a": [], "b": []}, TWO) == set()
    with pytest.raises(EmberlogError, match=r"DL402.*\n.*`a` has 2, `b` has 1"):
        facts_of({"a": [1, 2], "b": ["x"]})
    with pytest.raises(EmberlogError, match=r"DL407.*\n.*the dict has int for `a`"):
        facts_of({"a": 1, "b": 2})


def test_names_that_nobody_gave_are_no_names() -> None:
    swapped = "declare e(c2: int, c1: int). q(X, Y) :- e(X, Y)."
    assert facts_of([(1, 2)], swapped) == {(1, 2)}


def test_streams_of_arrow() -> None:
    table = pa.table({"a": [1, 2], "b": pa.array(["x", None]).dictionary_encode()})
    assert facts_of(Stream(table)) == facts_of(table) == facts_of(table.to_batches()[0]) == {(1, "x"), (2, None)}
    assert facts_of(table.to_reader()) == {(1, "x"), (2, None)}
    views = pa.table({"a": pa.array(["x", None], pa.string_view()), "b": [1, 2]})
    assert facts_of(Stream(views)) == {("x", 1), (None, 2)}


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": polars.Series(["u", None], dtype=polars.Categorical), "b": [1, 2]})
    assert facts_of(frame) == facts_of(frame.lazy()) == {("u", 1), (None, 2)}


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    assert facts_of(duckdb.sql("select 'u' a, 1 b union all select null, 2")) == {("u", 1), (None, 2)}


def test_pandas_with_strange_indexes() -> None:
    frame = pd.DataFrame({"k": ["x", "x"], "a": [1, 2], "b": [3, 4]})
    expected = {(1, 3), (2, 4)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert facts_of(frame[["a", "b"]].set_axis(["z", "z"])) == expected
        assert facts_of(frame[["a", "b"]][::-1]) == expected
        assert facts_of(pd.Series([1, 2]), "q(X) :- e(X).") == {(1,), (2,)}
        assert facts_of(pd.DataFrame([[1, 3]], columns=["a", "a"])) == {(1, 3)}
    for grouped in (frame.set_index("k"), frame.set_index(["k", "a"])[["b", "b"]]):
        with pytest.warns(emberlog.EmberlogWarning, match="DL493.*index `k`"):
            facts_of(grouped)


@pytest.fixture
def partitioned(tmp_path: Path) -> Path:
    table = pa.table({"v": [1, 2, 3], "zip": ["01234", "99999", None], "year": [2025, 2026, 2026]})
    pq.write_to_dataset(table, tmp_path / "sales", partition_cols=["zip", "year"])
    return tmp_path / "sales"


@pytest.mark.parametrize("spelled", [str, Path, Path.as_uri])
def test_a_partitioned_folder(partitioned: Path, spelled: Callable[[Path], object]) -> None:
    program = "q(X, Y, Z) :- e(X, Y, Z)."
    assert facts_of(spelled(partitioned), program) == {(1, "01234", 2025), (2, "99999", 2026), (3, None, 2026)}
    named = "declare e(year: int, zip: string, v: int). q(X, Y, Z) :- e(X, Y, Z)."
    assert facts_of(spelled(partitioned), named) == {(2025, "01234", 1), (2026, "99999", 2), (2026, None, 3)}


def json(folder: Path, text: str) -> Path:
    (folder / "e.json").write_text(text, encoding="utf-8")
    return folder / "e.json"


def test_json(tmp_path: Path) -> None:
    expected = {(1, "2024-01-01"), (None, "x")}
    assert facts_of(json(tmp_path, '{"a": 1, "b": "2024-01-01"}\n\n{"b": "x"}\n')) == expected
    assert facts_of(json(tmp_path, '[{"a": 1, "b": "2024-01-01"},\n {"b": "x"}]')) == expected
    assert facts_of(json(tmp_path, '{"a": 1, "b": [1, 2]}\n{"a": 2, "b": []}')) == {(1, (1, 2)), (2, ())}
    assert facts_of(json(tmp_path, "")) == set()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 9007199254740993}\n{"a": 0.5}\n', r"DL403.*`a`"),
        ('{"a": 1}\n{"a": "x"}\n', r"DL403.*`a`"),
        ('{"a": 92233720368547758080}\n', r"DL403.*`a`"),
        ('{"a": 1}\n{"a":}\n', r"(?s)DL404.*e.json:2:6"),
        ('{"a": NaN}\n', r"DL404.*NaN is not a number"),
        ("17\n", r"DL404.*not an object"),
        ('{"a": "\\ud83d"}\n', r"DL424"),
    ],
)
def test_json_that_would_lose_something(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(EmberlogError, match=message):
        facts_of(json(tmp_path, text), "q(X) :- e(X).")


def test_a_local_relation_can_be_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    database = emberlog.Database(engine="local")
    database["e"] = {"name": ["bo", "ann", None], "age": [4, 3, 5]}
    for relation in (database["e"], database.datalog("q(N, A) :- e(N, A).")["q"]):
        name, age = relation.columns
        assert relation.sort(age).collect() == [("ann", 3), ("bo", 4), (None, 5)]
        assert relation.sort(age, ascending=False).head(1).collect() == [(None, 5)]
        assert relation.sort(name).collect()[0] == (None, 5)
        assert relation.sort().head(2).columns == [name, age]
        assert relation.filter(None, **{name: "bo"}).collect() == [("bo", 4)]
        assert relation.filter(lambda row: row[1] > 3, **{name: None}).collect() == [(None, 5)]
        assert len(relation.toPandas()) == 3
        relation.sort(age).show(2)
        shown = capsys.readouterr().out.splitlines()
        assert [line.split() for line in shown[2:]] == [["ann", "3"], ["bo", "4"], ["…", "and", "1", "more"]]
        with pytest.raises(EmberlogError, match="DL409"):
            relation.sort("nothing")
    assert isinstance(database["e"].head(), LocalRelation)


def test_intervals_of_days_are_durations() -> None:
    one = pa.MonthDayNano((0, 2, 3_000_000_000))
    table = pa.table({"a": [1, 2], "b": pa.array([one, None], pa.month_day_nano_interval())})
    assert facts_of(table) == {(1, timedelta(days=2, seconds=3)), (2, None)}
    months = pa.table({"a": [1], "b": pa.array([pa.MonthDayNano((1, 0, 0))], pa.month_day_nano_interval())})
    with pytest.raises(EmberlogError, match=r"DL403.*`b` of `e` does not fit: 1 months"):
        facts_of(months)


def test_a_delta_table_is_what_its_log_says(tmp_path: Path) -> None:
    folder = as_delta(pa.table({"a": [7], "b": [8]}), tmp_path)
    assert facts_of(folder) == {(7, 8)}
    database = emberlog.Database(engine="local")
    with pytest.raises(EmberlogError, match=r"DL430.*is a part of a Delta table\n.*register the whole table"):
        database["e"] = f"{folder}/*.parquet"
    with pytest.raises(EmberlogError, match=r"DL430.*Delta"):
        database.register("e", folder, format="parquet")
    with pytest.raises(EmberlogError, match="DL336"):
        database.register("e", folder, header=True)
    database["e"] = tmp_path / "e" / "old.parquet"  # one file is what it is


@pytest.mark.parametrize("package", ["deltalake", "pyiceberg"])
def test_a_table_whose_log_nobody_can_read(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (package, f"{package}.table"):
        monkeypatch.setitem(sys.modules, name, None)
    folder = as_delta(pa.table({"a": [7], "b": [8]}), tmp_path)
    if package == "pyiceberg":
        shutil.rmtree(folder / "_delta_log")
        (folder / "metadata").mkdir()
        (folder / "metadata" / "v1.metadata.json").write_text("{}")
    extra = {"deltalake": "delta", "pyiceberg": "iceberg"}[package]
    with pytest.raises(EmberlogError, match=rf"DL430.*a table that cannot be read here\n.*emberlog\[{extra}\]"):
        emberlog.Database(engine="local")["e"] = folder


def test_a_table_of_hudi_is_left_to_spark(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    (tmp_path / ".hoodie").mkdir()
    with pytest.raises(EmberlogError, match=r"DL430.*Hudi"):
        emberlog.Database(engine="local")["e"] = tmp_path


def test_the_newest_state_of_an_iceberg_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only which file is asked for: pyiceberg itself is not among the packages of development."""
    asked = []

    class StaticTable:
        @classmethod
        def from_metadata(cls, path: str) -> Any:
            asked.append(Path(path).name)
            return SimpleNamespace(scan=lambda: SimpleNamespace(to_arrow=lambda: pa.table({"a": [1], "b": [2]})))

    table = ModuleType("pyiceberg.table")
    table.StaticTable = StaticTable  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyiceberg", ModuleType("pyiceberg"))
    monkeypatch.setitem(sys.modules, "pyiceberg.table", table)
    (tmp_path / "metadata").mkdir()
    for name in ("00002-b.metadata.json", "00010-a.metadata.json", "00009-c.metadata.json", "snap-99.avro"):
        (tmp_path / "metadata" / name).write_text("{}")
    assert facts_of(tmp_path) == {(1, 2)}
    (tmp_path / "metadata" / "version-hint.text").write_text("00009\n")
    facts_of(tmp_path)
    assert asked == ["00010-a.metadata.json", "00009-c.metadata.json"]
