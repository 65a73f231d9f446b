"""Statistics that cost little: counted where data is small, sampled where it is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emberlog.io.sampling import (
    statistics_of_facts,
    statistics_of_parquet,
    statistics_of_table,
    statistics_of_text,
)
from emberlog.io.text_format import TextOptions
from emberlog.logical.statistics import RelationStatistics


def skewed(rows: int) -> pa.Table:
    """A tenth of the rows have the same value in the first column; the second has 5,000 values, the third no two."""
    draw = np.random.default_rng(7)
    first = np.where(draw.random(rows) < 0.1, 42, draw.integers(1_000, 3_000, rows))
    return pa.table({"a": first, "b": draw.integers(0, 5_000, rows), "c": np.arange(rows)})


def assert_skewed(found: RelationStatistics, rows: int) -> None:
    assert found.rows == pytest.approx(rows, rel=0.05)
    first, second, third = found.columns
    assert first.frequent[42] == pytest.approx(0.1, rel=0.1)
    assert first.distinct == pytest.approx(2_001, rel=0.1)
    assert second.distinct == pytest.approx(5_000, rel=0.1)
    assert not second.frequent
    assert third.distinct == pytest.approx(rows, rel=0.1)


def test_few_rows_are_counted() -> None:
    found = statistics_of_table(skewed(30_000))
    assert found.origin == "counted"
    assert_skewed(found, 30_000)
    assert statistics_of_facts(zip(*skewed(30_000).to_pydict().values(), strict=True), 3) == found


def test_many_rows_are_sampled() -> None:
    found = statistics_of_table(skewed(400_000))
    assert found.origin == "a sample of 65,536 rows"
    assert_skewed(found, 400_000)


def test_parquet_files_are_counted_by_their_footers_and_sampled(tmp_path: Path) -> None:
    for part in range(2):
        pq.write_table(skewed(200_000), tmp_path / f"{part}.parquet", row_group_size=50_000)
    found = statistics_of_parquet([str(path) for path in sorted(tmp_path.iterdir())], ("a", "b"))
    assert found is not None
    assert (found.rows, found.origin) == (400_000, "Parquet footers and a sample of 65,536 rows")
    assert found.columns[0].frequent[42] == pytest.approx(0.1, rel=0.1)


def test_text_is_told_by_its_first_lines(tmp_path: Path) -> None:
    path = tmp_path / "arc.csv"
    rows = [f"{number % 10:02},{number:06}\n" for number in range(60_000)]
    path.write_text("".join(rows))
    found = statistics_of_text([path], TextOptions().of_kind(".csv"), 2)
    assert found is not None
    assert found.rows == pytest.approx(60_000, rel=0.01)
    assert found.columns[0].distinct == pytest.approx(10, rel=0.01)
    assert statistics_of_text([path], TextOptions().of_kind(".tsv"), 2) is None


@pytest.mark.parametrize("table", [pa.table({"a": pa.array([], pa.int64())}), pa.table({"a": [None, None]})])
def test_nothing_and_nulls_are_data_too(table: pa.Table) -> None:
    (column,) = statistics_of_table(table).columns
    assert column.distinct == 1.0
