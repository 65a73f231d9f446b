"""Data that is in the Python process already: pandas, Arrow, and rows of plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.datatypes import BOOL, FLOAT, INT, INT_MAX, INT_MIN, STRING, TIMESTAMP, UNKNOWN, DataType, join_types
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.local_rows import local_frame
from emberlog.semantics.model import CellValue, Fact

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def frame_of_arrow(spark: SparkSession, name: str, table: pa.Table) -> DataFrame:
    """The table, in types that Spark knows."""
    columns = [_for_spark(name, field, table.column(index)) for index, field in enumerate(table.schema)]
    return spark.createDataFrame(pa.table(columns, names=table.column_names))


def _for_spark(name: str, field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    type_ = field.type
    try:
        if pa.types.is_dictionary(type_):
            return column.cast(type_.value_type)
        if pa.types.is_unsigned_integer(type_):
            return column.cast(pa.int64())
        if pa.types.is_null(type_):
            return column.cast(pa.string())
        if pa.types.is_timestamp(type_) and type_.unit != "us":
            return column.cast(pa.timestamp("us", type_.tz))
    except pa.ArrowInvalid as error:
        raise fail("DL403", f"the column `{field.name}` of `{name}` does not fit: {error}") from None
    return column


def frame_of_pandas(spark: SparkSession, name: str, data: Any) -> DataFrame:
    """A pandas frame; NaN and NaT are null there."""
    try:
        table = pa.Table.from_pandas(data, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        reason = str(error.args[0]).rstrip(".")
        raise fail("DL403", f"the pandas data of `{name}` has a column of mixed types: {reason}") from None
    return frame_of_arrow(spark, name, table)


def rows_of(name: str, data: Iterable[object]) -> tuple[list[Fact], list[DataType]] | None:
    """Rows of plain values and the types of their columns, or None if there are no rows."""
    rows = [_row(one) for one in data]
    if not rows:
        return None
    arity = len(rows[0])
    types = [UNKNOWN] * arity
    facts: list[Fact] = []
    for number, row in enumerate(rows, 1):
        if len(row) != arity:
            message = f"row {number:,} of `{name}` has {len(row)} values, and the first has {arity}"
            raise fail("DL402", message, None, f"it is {row}")
        facts.append(tuple(_cell(name, number, value) for value in row))
        for index, value in enumerate(row):
            joined = join_types(types[index], _type_of(value))
            if joined is None:
                raise fail(
                    "DL403",
                    f"column {index + 1} of `{name}` holds values of several types",
                    None,
                    f"row {number:,} has {value!r}, and the rows before have {types[index]}",
                )
            types[index] = joined
    return facts, types


def frame_of_rows(
    spark: SparkSession, facts: Sequence[Fact], types: Sequence[DataType], names: Sequence[str]
) -> DataFrame:
    """A frame as a person would have made it: moments are timestamps."""
    frame = local_frame(spark, names, types, facts)
    for column, type_ in zip(names, types, strict=True):
        if type_ == TIMESTAMP:
            frame = frame.withColumn(column, F.timestamp_micros(F.col(column)))
    return frame


def _row(one: object) -> tuple[Any, ...]:
    return tuple(one) if isinstance(one, tuple | list) else (one,)


def _cell(name: str, number: int, value: Any) -> CellValue:
    value = _plain(value)
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (moment - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, int) and not isinstance(value, bool) and not INT_MIN <= value <= INT_MAX:
        raise _misfit(name, number, value, "does not fit in a 64-bit int")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return tuple(_cell(name, number, part) for part in value)
    raise _misfit(name, number, value, f"is a {type(value).__name__}, which programs do not know")


def _misfit(name: str, number: int, value: object, problem: str) -> EmberlogError:
    return fail("DL403", f"{value!r} in row {number:,} of `{name}` {problem}")


def _plain(value: Any) -> Any:
    """A value of numpy as one of Python."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _type_of(value: Any) -> DataType:
    match _plain(value):
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str():
            return STRING
        case datetime():
            return TIMESTAMP
        case (first, second):
            return DataType("pair", (_type_of(first), _type_of(second)))
        case _:
            return UNKNOWN
