"""Types of the language as types of Spark. Moments, durations and decimals are longs while a program runs, as in
every executor, and what Spark calls them outside."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import types as spark_types

from emberlog.datatypes import BOOL, FIRST, FLOAT, SECOND, STRING, UNKNOWN, DataType
from emberlog.diagnostics import InternalError

_PLAIN = {
    FLOAT: spark_types.DoubleType(),
    STRING: spark_types.StringType(),
    BOOL: spark_types.BooleanType(),
    UNKNOWN: spark_types.StringType(),
}


def spark_type(type_: DataType) -> spark_types.DataType:
    """How values of the type are kept while a program runs."""
    if type_.name == "pair":
        first, second = map(spark_type, type_.parts)
        return spark_types.StructType([spark_types.StructField(FIRST, first), spark_types.StructField(SECOND, second)])
    if type_.name == "list":
        return spark_types.ArrayType(spark_type(type_.parts[0]))
    if type_.is_whole:
        return spark_types.LongType()
    if type_ not in _PLAIN:
        raise InternalError(f"DL903: there is no Spark type for {type_}")
    return _PLAIN[type_]


def schema_of(names: Sequence[str], types: Sequence[DataType]) -> spark_types.StructType:
    return spark_types.StructType(
        [spark_types.StructField(name, spark_type(type_)) for name, type_ in zip(names, types, strict=True)]
    )
