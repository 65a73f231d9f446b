"""Data that is in the Python process already, as DataFrames: pandas, Arrow, and rows of plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.datatypes import TIMESTAMP, UNKNOWN, DataType
from emberlog.io.arrow_relations import plain_table, table_of_pandas
from emberlog.io.local_rows import local_frame
from emberlog.semantics.model import Fact


def frame_of_arrow(spark: SparkSession, name: str, table: pa.Table) -> DataFrame:
    """The table, in types that Spark knows."""
    return spark.createDataFrame(plain_table(name, table))


def frame_of_pandas(spark: SparkSession, name: str, data: Any) -> DataFrame:
    """A pandas frame; NaN and NaT are null there."""
    return frame_of_arrow(spark, name, table_of_pandas(name, data))


def frame_of_rows(
    spark: SparkSession, facts: Sequence[Fact], types: Sequence[DataType], names: Sequence[str]
) -> DataFrame:
    """A frame as a person would have made it: moments are timestamps."""
    frame = local_frame(spark, names, types, facts)
    for column, type_ in zip(names, types, strict=True):
        if type_ == TIMESTAMP:
            frame = frame.withColumn(column, F.timestamp_micros(F.col(column)))
        elif type_ == UNKNOWN:  # nothing but nulls, which are of every type
            frame = frame.withColumn(column, F.lit(None))
    return frame
