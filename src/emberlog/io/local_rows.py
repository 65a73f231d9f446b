"""Rows of Python values as DataFrames, and rows of DataFrames as Python values."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row, SparkSession

from emberlog.datatypes import DataType
from emberlog.io.arrow_values import known_type, table_of
from emberlog.language.spark_types import schema_of
from emberlog.semantics.model import CellValue, Fact


def local_frame(
    spark: SparkSession, names: Sequence[str], types: Sequence[DataType], rows: Sequence[Fact]
) -> DataFrame:
    """The rows as a frame that lives in its plan. A column of unknown type takes that of its values."""
    if not names:
        return spark.range(0, len(rows), 1, 1).drop("id")
    known = [known_type(type_, [row[i] for row in rows]) for i, type_ in enumerate(types)]
    return spark.createDataFrame(table_of(names, known, rows), schema_of(list(names), known))


def fact_of(row: Row) -> Fact:
    """A row as a fact of the language: pairs and lists are tuples, timestamps are microseconds."""
    return tuple(_cell(value) for value in row)


def _cell(value: object) -> CellValue:
    if isinstance(value, list | tuple):  # a Row is a tuple
        return tuple(_cell(part) for part in value)
    assert value is None or isinstance(value, bool | int | float | str)
    return value
