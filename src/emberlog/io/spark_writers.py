"""Has Spark write results to folders: whole or not at all, and never over something that is there."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from emberlog.diagnostics import fail
from emberlog.io.spark_conversions import decimal_text, iso_duration, quoted
from emberlog.io.text_format import NULL
from emberlog.io.writers import check_format, is_not_written, is_there, put_in_place


def write_relations(
    frames: Mapping[str, DataFrame], folder: str | os.PathLike[str], format: str = "csv", *, header: bool = False
) -> None:
    """Writes the facts of each relation into a folder of its name in this one, which must not be there yet. They are
    written beside it, and put in place together when they are complete."""

    def write(place: str) -> None:
        for name, frame in frames.items():
            _write(frame, f"{place}/{name}", format, header)

    check_format(format, header=header)
    _put_in_place(next(iter(frames.values())).sparkSession if frames else None, os.fspath(folder), write)


def _put_in_place(spark: SparkSession | None, target: str, write: Callable[[str], None]) -> None:
    if "://" in target:
        _put_far_away(spark, target, write)
        return
    put_in_place(target, lambda place: write(place.as_uri()))


def _put_far_away(spark: SparkSession | None, target: str, write: Callable[[str], None]) -> None:
    """Writes to a file system that only Spark can reach."""
    session: Any = spark
    jvm: Any = getattr(session, "_jvm", None)
    if jvm is None:  # only the server of Spark Connect reaches it, and cannot be asked to put files in place
        raise fail(
            "DL408",
            f"cannot write `{target}` whole or not at all through Spark Connect",
            None,
            "write the frames one by one, which may leave some of them after a failure: "
            f"result[name].write.parquet({target!r})",
        )
    place = jvm.org.apache.hadoop.fs.Path(target)
    files = place.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    if files.exists(place):
        raise is_there(target)
    unfinished = jvm.org.apache.hadoop.fs.Path(place.getParent(), f".{place.getName()}.{uuid.uuid4().hex}.unfinished")
    try:
        write(unfinished.toString())
        if not files.rename(unfinished, place):
            raise is_not_written(target, "it could not be put in place")
    finally:
        with suppress(Exception):
            files.delete(unfinished, True)


def _write(frame: DataFrame, place: str, format: str, header: bool) -> None:
    if format == "parquet":
        frame.write.parquet(place)
    elif format == "json":
        columns = [
            _told_in_text(F.col(quoted(field.name)), field.dataType).alias(field.name) for field in frame.schema.fields
        ]
        frame.select(*columns).write.options(**_MOMENTS).json(place, ignoreNullFields=False)
    else:
        separator = "," if format == "csv" else "\t"
        _as_text(frame).write.csv(
            place, sep=separator, header=header, quote='"', escape='"', nullValue=NULL, emptyValue='""'
        )


_MOMENTS = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""How JSON holds moments: with all their digits, whatever the time zone of the session is."""


def _told_in_text(value: Column, type_: spark_types.DataType) -> Column:
    """Returns the value with lengths of time and decimals as text, as Emberlog reads it."""
    match type_:
        case spark_types.DayTimeIntervalType():
            return iso_duration(value)
        case spark_types.DecimalType():
            return decimal_text(value, type_.scale)  # a number of JSON would be read as a float
        case spark_types.ArrayType():
            return F.transform(value, lambda item: _told_in_text(item, type_.elementType))
        case spark_types.StructType():
            parts = [_told_in_text(value[one.name], one.dataType).alias(one.name) for one in type_.fields]
            return F.when(value.isNotNull(), F.struct(*parts))
        case _:
            return value


def _as_text(frame: DataFrame) -> DataFrame:
    """Returns the frame with columns that a text file can hold: lists and pairs are JSON, moments are in UTC."""
    return frame.select(
        *(_cell(F.col(quoted(field.name)), field.dataType).alias(field.name) for field in frame.schema.fields)
    )


def _cell(value: Column, type_: spark_types.DataType) -> Column:
    if isinstance(type_, spark_types.TimestampType):
        return F.date_format(F.to_utc_timestamp(value, F.current_timezone()), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")
    if isinstance(type_, spark_types.DayTimeIntervalType | spark_types.DecimalType):
        return _told_in_text(value, type_)
    if isinstance(type_, spark_types.ArrayType):
        return F.to_json(_told_in_text(value, type_), _MOMENTS)
    if isinstance(type_, spark_types.StructType):
        first, second = (_json_of(_told_in_text(value[one.name], one.dataType)) for one in type_.fields)
        return F.when(value.isNotNull(), F.concat(F.lit("["), first, F.lit(","), second, F.lit("]")))
    return value


def _json_of(value: Column) -> Column:
    """Returns a value as JSON: what is between the brackets of a list that holds it alone."""
    text = F.to_json(F.array(value), _MOMENTS)
    return F.substring(text, F.lit(2), F.length(text) - 2)
