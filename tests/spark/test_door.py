"""Every source with every type, on Spark: what the table of docs/api.md says, and random tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import emberlog
from emberlog.database import Database
from tests.door import SOURCES, check_random_table, program_of, sample, types_of, types_seen

TABLES = int(os.environ.get("EMBERLOG_DOOR", "1"))

OTHER = {"Parquet": {"duration": "int"}, "partitioned Parquet": {"duration": "int"}}
"""Where Spark differs: what Arrow writes for a duration is a number for it."""

OUT = [
    "bigint",
    "double",
    "string",
    "boolean",
    "timestamp",
    "date",
    "interval day to second",
    "decimal(19,2)",
    "array<bigint>",
    "struct<first:bigint,second:string>",
]


@pytest.mark.usefixtures("simple_queries")
def test_sources_mean_the_same_as_in_this_process(
    database: Database, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for source in SOURCES:
        with subtests.test(source):
            for engine in ("here", "spark"):
                (tmp_path / engine / source).mkdir(parents=True)
            types = types_of(source)
            here = types_seen(emberlog.Database(engine="local"), source, tmp_path / "here" / source, types=types)
            there = types_seen(database, source, tmp_path / "spark" / source, types=types)
            assert there == here | OTHER.get(source, {})
    frame = database.spark.createDataFrame(sample())
    frame.createOrReplaceTempView("door")
    expected = types_seen(emberlog.Database(engine="local"), "Arrow", tmp_path)
    for data in (frame, "door"):
        assert types_seen(database, "Arrow", tmp_path, data) == expected
    result = database.datalog(program_of(sample().column_names, "Arrow"))["q"]
    assert [kind for _, kind in result.dtypes] == OUT
    database.spark.catalog.dropTempView("door")


@pytest.mark.usefixtures("simple_queries")
def test_random_tables(database: Database, tmp_path: Path, subtests: pytest.Subtests) -> None:
    for source in SOURCES:
        with subtests.test(source):
            for seed in range(TABLES):
                folder = tmp_path / source / str(seed)
                folder.mkdir(parents=True)
                check_random_table(database, seed, source, folder, on_spark=True)
