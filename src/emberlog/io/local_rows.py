"""Rows of Python values as DataFrames, and rows of DataFrames as Python values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, TIMESTAMP, UNKNOWN, DataType, join_types
from emberlog.io.spark_types import FIRST, SECOND, schema_of
from emberlog.semantics.model import CellValue, Fact

_PLAIN = {
    INT: pa.int64(),
    FLOAT: pa.float64(),
    STRING: pa.string(),
    BOOL: pa.bool_(),
    TIMESTAMP: pa.int64(),
    UNKNOWN: pa.string(),
}


def local_frame(
    spark: SparkSession, names: Sequence[str], types: Sequence[DataType], rows: Sequence[Fact]
) -> DataFrame:
    """The rows as a frame that lives in its plan. A column of unknown type takes that of its values."""
    if not names:
        return spark.range(0, len(rows), 1, 1).drop("id")
    known = [_known(type_, [row[i] for row in rows]) for i, type_ in enumerate(types)]
    table = pa.table(
        {
            name: pa.array((_as_arrow(row[i], known[i]) for row in rows), _arrow_type(known[i]))
            for i, name in enumerate(names)
        }
    )
    return spark.createDataFrame(table, schema_of(list(names), known))


def _known(type_: DataType, values: Iterable[CellValue]) -> DataType:
    if type_.is_known:
        return type_
    found = UNKNOWN
    for value in values:
        found = join_types(found, _type_of(value)) or UNKNOWN
    return found


def _type_of(value: CellValue) -> DataType:
    match value:
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str():
            return STRING
        case _:
            return UNKNOWN


def _arrow_type(type_: DataType) -> pa.DataType:
    if type_.name == "pair":
        first, second = map(_arrow_type, type_.parts)
        return pa.struct([(FIRST, first), (SECOND, second)])
    if type_.name == "list":
        return pa.list_(_arrow_type(type_.parts[0]))
    return _PLAIN[type_]


def _as_arrow(value: CellValue, type_: DataType) -> object:
    if value is None:
        return None
    if type_.name == "pair":
        assert isinstance(value, tuple)
        parts = (_as_arrow(part, part_type) for part, part_type in zip(value, type_.parts, strict=True))
        return dict(zip((FIRST, SECOND), parts, strict=True))
    if type_.name == "list":
        assert isinstance(value, tuple)
        return [_as_arrow(part, type_.parts[0]) for part in value]
    return float(value) if type_ == FLOAT and isinstance(value, int) else value


def fact_of(row: Row) -> Fact:
    """A row as a fact of the language: pairs and lists are tuples, timestamps are microseconds."""
    return tuple(_cell(value) for value in row)


def _cell(value: object) -> CellValue:
    if isinstance(value, list | tuple):  # a Row is a tuple
        return tuple(_cell(part) for part in value)
    assert value is None or isinstance(value, bool | int | float | str)
    return value
