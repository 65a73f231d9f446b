"""Relations on their way to the workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emberlog.datatypes import BOOL, FLOAT, INT, STRING
from emberlog.workers.kernels.lanes import NULL, Lanes, lane_to_floats
from emberlog.workers.store.hot_keys import NO_HOT_KEYS
from emberlog.workers.store.partitioning import Hashed
from emberlog.workers.store.stores import StaticStore
from emberlog.workers.store.texts import TextTable
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.feeding import (
    Feed,
    InlineRows,
    MeetsNulls,
    ParquetFiles,
    StageRows,
    Unfit,
    read_footer,
    spread_rows,
)
from emberlog.workers.wire.feeding import feed as feed_and_divide
from tests.unit.workers.test_exchange import team


def feed(
    feeds: Sequence[Feed],
    number: int,
    workers: int,
    exchange: Exchange,
    stage_rows: Mapping[int, Sequence[pa.RecordBatch]],
    texts: TextTable,
) -> dict[str, StaticStore]:
    division = Hashed(workers), NO_HOT_KEYS
    return feed_and_divide(feeds, number, workers, exchange, stage_rows, texts, lambda _: division)[0]


ONE_COLUMN, TWO_COLUMNS = frozenset((0,)), frozenset((0, 1))
ROWS = [(number % 7, number) for number in range(100)]


def written(folder: Path, row_group_size: int, files: int = 1) -> ParquetFiles:
    paths = []
    for index in range(files):
        part = ROWS[index::files]
        table = pa.table({"b": [row[1] for row in part], "a": pa.array([row[0] for row in part], pa.int32())})
        paths.append(str(folder / f"{index}.parquet"))
        pq.write_table(table, paths[-1], row_group_size=row_group_size)
    return ParquetFiles.of([read_footer(path) for path in paths], ("a", "b"))


def inline(table: pa.Table) -> InlineRows:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return InlineRows(sink.getvalue().to_pybytes())


def fed(one: Feed, workers: int) -> list[StaticStore]:
    with team(workers) as exchanges, ThreadPoolExecutor(workers) as threads:
        return list(
            threads.map(
                lambda exchange: feed([one], exchange.number, workers, exchange, {}, TextTable())[one.relation],
                exchanges,
            )
        )


def rows_of(lanes: Lanes) -> list[tuple[int, ...]]:
    return sorted(zip(*lanes.tolist(), strict=True))


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize(("row_group_size", "files"), [(1000, 1), (10, 1), (7, 3)])
def test_files_are_shared(tmp_path: Path, workers: int, row_group_size: int, files: int) -> None:
    source = written(tmp_path, row_group_size, files)
    everywhere = fed(Feed("r", (INT, INT), source, None, True, TWO_COLUMNS), workers)
    assert [rows_of(static.all) for static in everywhere] == [sorted(ROWS)] * workers
    spread = fed(Feed("r", (INT, INT), source, 0, True, TWO_COLUMNS), workers)
    assert sorted(row for static in spread for row in rows_of(static.all)) == sorted(ROWS)
    for value in range(7):
        assert sum(value in static.all[0] for static in spread) == 1


def test_repeated_rows_are_dropped_where_they_matter(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 1, 2, 1], "b": [5, 5, 5, 5]})
    for is_set, expected in ((True, 4), (False, 2)):
        statics = fed(Feed("r", (INT, INT), inline(table), 0, is_set, TWO_COLUMNS), 2)
        assert sum(static.count for static in statics) == expected


def test_values_of_every_type() -> None:
    table = pa.table({"i": [-5], "f": [-0.5], "b": [True], "s": ["x"]})
    texts = TextTable()
    with team(1) as (exchange,):
        one = Feed("r", (INT, FLOAT, BOOL, STRING), inline(table), None, True, frozenset(range(4)))
        lanes = feed([one], 0, 1, exchange, {}, texts)["r"].all
    assert lanes[0, 0] == -5
    assert lane_to_floats(lanes[1])[0] == -0.5
    assert lanes[2, 0] == 1
    assert texts.decode(lanes[3]).to_pylist() == ["x"]


def test_nulls_are_told_unless_they_are_expected() -> None:
    table = pa.table({"a": [1, None], "b": [2, 2], "c": ["x", None], "d": [None, 3]})
    one = Feed("r", (INT, INT, STRING, INT), inline(table), None, True, frozenset((0, 1, 2)))
    with team(1) as (exchange,), pytest.raises(MeetsNulls) as met:
        feed([one], 0, 1, exchange, {}, TextTable())
    assert met.value.columns == {"r": [0, 2]}
    texts = TextTable()
    with team(1) as (exchange,):
        lanes = feed([replace(one, nullable=frozenset((0, 2)))], 0, 1, exchange, {}, texts)["r"].all
    assert lanes[:3].tolist() == [[1, NULL], [2, 2], [texts.code("x"), NULL]]


def test_the_int_that_stands_for_null_does_not_fit_beside_nulls() -> None:
    table = pa.table({"a": [NULL, None]})
    one = Feed("r", (INT,), inline(table), None, True, ONE_COLUMN, ONE_COLUMN)
    with team(1) as (exchange,), pytest.raises(Unfit, match="`r` has nulls, and the int that stands for them"):
        feed([one], 0, 1, exchange, {}, TextTable())


def test_rows_of_the_stage() -> None:
    batches = [pa.record_batch({"i0": [1, 2]}), pa.record_batch({"i0": [3]})]
    with team(1) as (exchange,):
        statics = feed(
            [
                Feed("r", (INT,), StageRows(4), None, True, ONE_COLUMN),
                Feed("none", (INT,), StageRows(5), None, True, ONE_COLUMN),
            ],
            0,
            1,
            exchange,
            {4: batches},
            TextTable(),
        )
    assert statics["r"].all.tolist() == [[1, 2, 3]]
    assert statics["none"].count == 0


def test_results_are_spread_anew() -> None:
    lanes = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.int64)
    with team(2) as exchanges, ThreadPoolExecutor(2) as threads:
        everywhere = list(threads.map(lambda one: spread_rows(one, 2, lanes, None, Hashed(2)), exchanges))
        spread = list(threads.map(lambda one: spread_rows(one, 2, lanes, 0, Hashed(2)), exchanges))
    assert [part.shape for part in everywhere] == [(2, 8), (2, 8)]
    assert sorted(value for part in spread for value in part[0].tolist()) == [1, 1, 2, 2, 3, 3, 4, 4]
    assert not set(spread[0][0].tolist()) & set(spread[1][0].tolist())


def test_columns_that_nobody_reads_are_not_brought(tmp_path: Path) -> None:
    source = inline(pa.table({"a": [1, 2], "b": ["x", None]}))
    with team(1) as (exchange,):
        lanes = feed([Feed("r", (INT, STRING), source, None, True, ONE_COLUMN)], 0, 1, exchange, {}, TextTable())[
            "r"
        ].all
    assert lanes.tolist() == [[1, 2], [0, 0]]
    files = written(tmp_path, 1000)
    (static,) = fed(Feed("r", (INT, INT), files, None, True, frozenset((1,))), 1)
    assert sorted(static.all[1].tolist()) == sorted(row[1] for row in ROWS)
    assert not static.all[0].any()
