"""Columns of people's DataFrames as columns of relations, and back.

int takes every integral type; float takes float, double and decimal (which loses digits beyond the 16th); a timestamp
with or without a time zone is a timestamp, one without counts as UTC. Other types have to be converted before.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from emberlog.datatypes import BOOL, FIRST, FLOAT, INT, SECOND, STRING, TIMESTAMP, UNKNOWN, DataType, list_of, pair_of
from emberlog.diagnostics import EmberlogError, fail
from emberlog.language.spark_columns import nearest_float
from emberlog.semantics.model import Column as RelationColumn
from emberlog.semantics.model import Relation

_HINTS = {
    "date": "to_timestamp(…) or string(…) of it can be used",
    "binary": "text can be used: decode(…, 'UTF-8')",
    "map": "one row for each entry can be used: explode(…)",
    "struct": "its fields as columns of their own can be used; a struct of two fields is a pair",
}

_EPOCH = "1970-01-01 00:00:00"


def language_type(type_: spark_types.DataType) -> DataType | None:
    """The type that values of a Spark type have in programs, or None if they have none."""
    match type_:
        case spark_types.ByteType() | spark_types.ShortType() | spark_types.IntegerType() | spark_types.LongType():
            return INT
        case spark_types.FloatType() | spark_types.DoubleType() | spark_types.DecimalType():
            return FLOAT
        case spark_types.StringType() | spark_types.VarcharType() | spark_types.CharType():
            return STRING
        case spark_types.BooleanType():
            return BOOL
        case spark_types.TimestampType() | spark_types.TimestampNTZType():
            return TIMESTAMP
        case spark_types.NullType():
            return UNKNOWN
        case spark_types.ArrayType():
            element = language_type(type_.elementType)
            return None if element is None else list_of(element)
        case spark_types.StructType() if len(type_.fields) == 2:
            first, second = (language_type(one.dataType) for one in type_.fields)
            return None if first is None or second is None else pair_of(first, second)
        case _:
            return None


def columns_of_frame(name: str, frame: DataFrame) -> tuple[RelationColumn, ...]:
    """The columns as a program sees them; raises DL403 for a type that programs do not know."""
    columns = []
    for field in frame.schema.fields:
        type_ = language_type(field.dataType)
        if type_ is None:
            raise _unknown_type(name, field)
        columns.append(RelationColumn(field.name, type_))
    return tuple(columns)


def _unknown_type(name: str, field: spark_types.StructField) -> EmberlogError:
    found = field.dataType.simpleString().split("<")[0]
    hint = _HINTS.get(found, "leave the column out, or convert it")
    message = f"the column `{field.name}` of `{name}` is of type {found}, which programs do not know"
    return fail("DL403", message, None, hint)


def as_relation(frame: DataFrame, relation: Relation) -> DataFrame:
    """The frame with its columns in the relation's types, as executors want them, named `c0`, `c1`, …"""
    if len(frame.columns) != relation.arity:
        raise fail(
            "DL402",
            f"the data of `{relation.name}` has {_counted(len(frame.columns))}, but the program uses {relation.arity}",
            None,
            f"the program has {relation}; the data has {', '.join(frame.columns)}",
        )
    fields = frame.schema.fields
    names = [field.name for field in fields]
    if len({name.lower() for name in names}) < len(names):
        names = [f"c{i}" for i in range(relation.arity)]
        frame = frame.toDF(*names)
    return frame.select(
        *(
            _converted(F.col(quoted(name)), field.dataType, relation, column).alias(f"c{i}")
            for i, (name, field, column) in enumerate(zip(names, fields, relation.columns, strict=True))
        )
    )


def quoted(name: str) -> str:
    """The name of a column as Spark wants it, whatever letters it has."""
    return "`" + name.replace("`", "``") + "`"


def _counted(count: int) -> str:
    return f"{count:,} column{'' if count == 1 else 's'}"


def _converted(value: Column, given: spark_types.DataType, relation: Relation, column: RelationColumn) -> Column:
    found = language_type(given)
    wanted = column.type if column.type.is_known else found
    is_time = wanted == TIMESTAMP and found == INT  # a clock can be a plain count
    is_wider = wanted == FLOAT and found == INT
    if found is None or wanted is None or not (found in (wanted, UNKNOWN) or is_time or is_wider):
        raise fail(
            "DL403",
            f"the column `{column.name}` of `{relation.name}` is {wanted}, and the data has {given.simpleString()}",
            relation.span if relation.is_declared else None,
        )
    return _as_type(value, given, wanted, f"the column `{column.name}` of `{relation.name}`")


def _as_type(value: Column, given: spark_types.DataType, wanted: DataType, where: str) -> Column:
    if wanted == INT:
        return value.cast("long")
    if wanted == FLOAT and language_type(given) == INT:
        return _widened(value.cast("long"), where)
    if wanted == FLOAT:
        return _finite(value.cast("double"), where)
    if wanted == TIMESTAMP:
        return microseconds(value, given)
    if isinstance(given, spark_types.StructType):
        parts = [
            _as_type(value[field.name], field.dataType, type_, where).alias(name)
            for field, type_, name in zip(given.fields, wanted.parts, (FIRST, SECOND), strict=True)
        ]
        return F.when(value.isNotNull(), F.struct(*parts))
    if isinstance(given, spark_types.ArrayType):
        return F.transform(value, lambda item: _as_type(item, given.elementType, wanted.parts[0], where))
    return value.cast("string") if wanted in (STRING, UNKNOWN) else value


def _widened(value: Column, where: str) -> Column:
    """The float that is equal to an int; a fault where there is none."""
    near, is_equal = nearest_float(value)
    text = F.concat(F.lit(f"error[DL506]: {where} is of floats, and "), value.cast("string"))
    fault = F.raise_error(F.concat(text, F.lit(" has no equal float; give all values as ints ¶")))
    return F.when(value.isNotNull(), F.when(is_equal, near).otherwise(fault))


def _finite(value: Column, where: str) -> Column:
    """The value; a fault for infinity and NaN, which programs do not know. 0.0 and -0.0 are one value."""
    text = f"error[DL403]: {where} holds a float that is not finite; null can stand for a missing value ¶"
    # The remainder of a division by infinity is the dividend itself, unless that is infinite.
    return F.nanvl((value + F.lit(0.0)) % F.lit(float("inf")), F.raise_error(F.lit(text)))


def microseconds(value: Column, given: spark_types.DataType) -> Column:
    """A moment as microseconds since 1970 in UTC."""
    if isinstance(given, spark_types.TimestampType):
        return F.unix_micros(value)
    if isinstance(given, spark_types.TimestampNTZType):
        return F.timestamp_diff("MICROSECOND", F.lit(_EPOCH).cast("timestamp_ntz"), value)
    return value.cast("long")


def as_result(frame: DataFrame, relation: Relation, *, plain_times: bool = False) -> DataFrame:
    """The facts of a relation as people want them: timestamps are timestamps again, unless they came as numbers."""
    if plain_times or not any(_holds_time(column.type) for column in relation.columns):
        return frame
    return frame.select(
        *(
            _moments(F.col(f"`{name}`"), column.type).alias(name)
            for name, column in zip(frame.columns, relation.columns, strict=True)
        )
    )


def _holds_time(type_: DataType) -> bool:
    return type_ == TIMESTAMP or any(map(_holds_time, type_.parts))


def _moments(value: Column, type_: DataType) -> Column:
    if type_ == TIMESTAMP:
        return F.timestamp_micros(value)
    if not _holds_time(type_):
        return value
    if type_.name == "list":
        return F.transform(value, lambda item: _moments(item, type_.parts[0]))
    first, second = type_.parts
    pair = F.struct(_moments(value[FIRST], first).alias(FIRST), _moments(value[SECOND], second).alias(SECOND))
    return F.when(value.isNotNull(), pair)


def has_plain_times(schemas: Sequence[tuple[DataFrame, Relation]]) -> bool:
    """Whether a column that a program takes as a timestamp holds plain numbers."""
    return any(
        column.type == TIMESTAMP and language_type(field.dataType) == INT
        for frame, relation in schemas
        for field, column in zip(frame.schema.fields, relation.columns, strict=True)
    )
