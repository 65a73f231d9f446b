"""Rows of Spark's frames, looked up: in files without Spark where they are files, otherwise by small jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from emberlog.engines.spark.frames.resources import Resources, is_connect
from emberlog.engines.spark.plain_scan import parquet_files, rows_in_plan
from emberlog.io.shelves import MOST_AT_HAND, FactShelf, ParquetShelf, Shelf
from emberlog.io.spark_conversions import fact_of
from emberlog.semantics.model import CellValue, Fact


def shelf_of_frame(frame: DataFrame, resources: Resources) -> Shelf:
    """Returns what is cached for it belongs to the resources."""
    if not is_connect(frame.sparkSession):
        rows = rows_in_plan(frame)
        if rows is not None and rows <= MOST_AT_HAND:
            return FactShelf([fact_of(row) for row in frame.collect()])
        files = parquet_files(frame)
        if files is not None:
            return ParquetShelf(files.paths, files.columns, files.rows)
    return FrameShelf(frame, resources)


class FrameShelf(Shelf):
    """Holds rows that only Spark can read. They are computed once, at the first question."""

    def __init__(self, frame: DataFrame, resources: Resources) -> None:
        self._names = [f"c{index}" for index in range(len(frame.columns))]
        self._frame = frame.toDF(*self._names)
        self._resources = resources

    @property
    def rows(self) -> int:
        return self._cached[1]

    def select(self, equal: Mapping[int, CellValue], most: int) -> list[Fact] | None:
        rows = self._where(equal).limit(most + 1).collect()
        return None if len(rows) > most else [fact_of(row) for row in rows]

    def scan(self, equal: Mapping[int, CellValue]) -> Iterator[Fact]:
        return (fact_of(row) for row in self._where(equal).toLocalIterator())

    def _where(self, equal: Mapping[int, CellValue]) -> DataFrame:
        frame = self._cached[0]
        if not equal:
            return frame
        conditions = (F.col(self._names[column]) == F.lit(value) for column, value in equal.items())
        return frame.where(reduce(Column.__and__, conditions))

    @cached_property
    def _cached(self) -> tuple[DataFrame, int]:
        kept = self._resources.cache(self._frame)
        return kept.frame, kept.rows
