"""Facts on their way out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, TIMESTAMP, DataType
from emberlog.workers.kernels.lanes import Lane, floats_to_lane
from emberlog.workers.store.folders import LocalFolder
from emberlog.workers.store.texts import TextTable
from emberlog.workers.wire import draining
from emberlog.workers.wire.draining import ResultFiles


def lane(*values: int) -> Lane:
    return np.array(values, np.int64)


def write_parquet(
    batches: Iterator[list[Lane]], types: Sequence[DataType], names: Sequence[str], texts: TextTable, stem: Path
) -> int:
    files = ResultFiles(types, names, texts, LocalFolder(stem.parent.parent), f"{stem.parent.name}/{stem.name}")
    for lanes in batches:
        files.write(lanes)
    files.close_file()
    return files.rows


def test_values_of_every_type(tmp_path: Path) -> None:
    texts = TextTable()
    lanes = [
        lane(1, -(2**40)),
        floats_to_lane(np.array([0.5, -1.5])),
        lane(1, 0),
        lane(texts.code("y"), texts.code("x")),
        lane(7, 8),
    ]
    rows = write_parquet(
        iter([lanes]), (INT, FLOAT, BOOL, STRING, TIMESTAMP), list("abcde"), texts, tmp_path / "part-0"
    )
    (path,) = tmp_path.iterdir()
    assert rows == 2
    assert pq.read_table(path).to_pylist() == [
        {"a": 1, "b": 0.5, "c": True, "d": "y", "e": 7},
        {"a": -(2**40), "b": -1.5, "c": False, "d": "x", "e": 8},
    ]


def test_ints_are_as_narrow_as_they_can_be(tmp_path: Path) -> None:
    batches = iter([[lane(1, 2)], [lane(2**31)], [lane(3)]])
    assert write_parquet(batches, (INT,), ["a"], TextTable(), tmp_path / "part-0") == 4
    tables = [pq.read_table(path) for path in sorted(tmp_path.iterdir())]
    assert [str(table.schema.field("a").type) for table in tables] == ["int32", "int64", "int32"]
    assert [value for table in tables for value in table["a"].to_pylist()] == [1, 2, 2**31, 3]


def test_no_facts_make_no_file(tmp_path: Path) -> None:
    assert write_parquet(iter(()), (INT,), ["a"], TextTable(), tmp_path / "part-0") == 0
    assert not list(tmp_path.iterdir())


def test_long_results_are_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining, "LONGEST_FILE", 3)
    batches = iter([[lane(number, number)] for number in range(5)])
    assert write_parquet(batches, (INT,), ["a"], TextTable(), tmp_path / "part-0") == 10
    assert len(list(tmp_path.iterdir())) == 3
