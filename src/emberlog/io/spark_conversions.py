"""Converts columns of Spark's frames to columns of relations and back, by the same rules as `arrow_values`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from emberlog.datatypes import (
    BOOL,
    DATE,
    DURATION,
    FIRST,
    FLOAT,
    INT,
    SECOND,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    decimal_of,
    list_of,
    pair_of,
)
from emberlog.io.arrow_values import MOST_DIGITS, is_shown_otherwise, known_type, table_of
from emberlog.io.matching import DECIMAL_HINT, check_arity, check_type, no_decimal, unknown_type
from emberlog.language.spark_columns import nearest_float
from emberlog.language.spark_types import schema_of
from emberlog.language.spellings import (
    DAY,
    FIRST_DAY,
    FIRST_MOMENT,
    HOUR,
    LARGEST_SCALE,
    LAST_DAY,
    LAST_MOMENT,
    MINUTE,
)
from emberlog.language.spellings import SECOND as ONE_SECOND
from emberlog.semantics.model import CellValue, Fact, Relation
from emberlog.semantics.model import Column as RelationColumn

_EPOCH = "1970-01-01 00:00:00"


# --- rows in this process -------------------------------------------------------------------------------------------


def local_frame(
    spark: SparkSession, names: Sequence[str], types: Sequence[DataType], rows: Sequence[Fact]
) -> DataFrame:
    """Returns the rows as a frame that lives in its plan. A column of unknown type takes that of its values."""
    if not names:
        return spark.range(0, len(rows), 1, 1).drop("id")
    known = [known_type(type_, [row[i] for row in rows]) for i, type_ in enumerate(types)]
    return frame_of_table(spark, table_of(names, known, rows), known)


def frame_of_table(spark: SparkSession, table: pa.Table, types: Sequence[DataType]) -> DataFrame:
    """Returns a table, in which moments are microseconds, as a frame."""
    if not types:
        return spark.range(0, table.num_rows, 1, 1).drop("id")
    return spark.createDataFrame(table, schema_of(table.column_names, types))


def fact_of(row: Row) -> Fact:
    """Returns a row as a fact of the language: pairs and lists are tuples, moments and durations are ints."""
    return tuple(_cell(value) for value in row)


def _cell(value: object) -> CellValue:
    if isinstance(value, list | tuple):  # a Row is a tuple
        return tuple(_cell(part) for part in value)
    assert value is None or isinstance(value, bool | int | float | str)
    return value


# --- frames as relations --------------------------------------------------------------------------------------------


def quoted(name: str) -> str:
    """Returns the name of a column as Spark wants it, whatever letters it has."""
    return "`" + name.replace("`", "``") + "`"


def language_type(type_: spark_types.DataType) -> DataType | None:
    """Returns the type that values of a Spark type have in programs, or None if they have none."""
    match type_:
        case spark_types.ByteType() | spark_types.ShortType() | spark_types.IntegerType() | spark_types.LongType():
            return INT
        case spark_types.FloatType() | spark_types.DoubleType():
            return FLOAT
        case spark_types.DecimalType():
            is_known = type_.precision <= MOST_DIGITS
            return INT if type_.scale <= 0 else decimal_of(type_.scale) if is_known else None
        case spark_types.StringType() | spark_types.VarcharType() | spark_types.CharType():
            return STRING
        case spark_types.BooleanType():
            return BOOL
        case spark_types.TimestampType() | spark_types.TimestampNTZType():
            return TIMESTAMP
        case spark_types.DateType():
            return DATE
        case spark_types.DayTimeIntervalType():
            return DURATION
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


def narrower_decimals(name: str, frame: DataFrame) -> DataFrame:
    """Returns the frame with decimals of more than 19 digits in all cut to the digits that their values use, which one
    pass over it tells. What does not fit then is refused when it is read."""
    wide = [
        field.name
        for field in frame.schema.fields
        if isinstance(field.dataType, spark_types.DecimalType)
        and field.dataType.scale > 0
        and field.dataType.precision > MOST_DIGITS
    ]
    if not wide or len(set(frame.columns)) < len(frame.columns) or frame.isStreaming:
        return frame
    found = frame.agg(*(F.max(_digits_used(F.col(quoted(one)))) for one in wide)).collect()[0]
    cut = {}
    for place, one in enumerate(wide):
        value, scale = F.col(quoted(one)), found[place] or 0
        fault = F.raise_error(_decimal_fault(value, scale, f"the column `{one}` of `{name}`"))
        exact = value.try_cast(f"decimal({MOST_DIGITS},{scale})")
        cut[one] = F.when(value.isNotNull(), F.coalesce(F.when(exact == value, exact), fault))
    return frame.withColumns(cut)


def _digits_used(value: Column) -> Column:
    """Returns how many digits behind the point a decimal has, up to those that one can have."""
    digits = F.lit(LARGEST_SCALE)
    for scale in reversed(range(LARGEST_SCALE)):
        digits = F.when(F.round(value, scale) == value, F.lit(scale)).otherwise(digits)
    return F.when(value.isNotNull(), digits)


def _decimal_fault(value: Column, scale: int, where: str) -> Column:
    text = F.concat(F.lit(f"error[DL413]: {where} holds "), value.cast("string"))
    return F.concat(text, F.lit(f", {no_decimal(scale)}; {DECIMAL_HINT} ¶"))


def _unscaled(value: Column, scale: int) -> Column:
    """Returns a decimal as the int that stands for it, or null if it has more digits or does not fit."""
    exact = value.try_cast(f"decimal({MOST_DIGITS + scale},{scale})")
    number = (exact * F.lit(Decimal(10**scale))).try_cast("decimal(38,0)").try_cast("long")
    return F.when(exact == value, number)


def decimal_text(value: Column, scale: int) -> Column:
    """Returns a decimal with all its digits; Spark's own text of a small one has an exponent."""
    digits = F.lpad(F.abs(_unscaled(value, scale).cast("decimal(20,0)")).cast("string"), 40, "0")
    whole = F.regexp_replace(F.substring(digits, 1, 40 - scale), r"\A0+(?=[0-9])", "")
    return F.concat(
        F.when(value < 0, "-").otherwise(""), whole, F.lit("." if scale else ""), F.right(digits, F.lit(scale))
    )


def columns_of_frame(name: str, frame: DataFrame) -> tuple[RelationColumn, ...]:
    """Returns the columns as a program sees them; raises DL403 for a type that programs do not know."""
    columns = []
    for field in frame.schema.fields:
        type_ = language_type(field.dataType)
        if type_ is None:
            raise unknown_type(name, field.name, field.dataType.simpleString())
        columns.append(RelationColumn(field.name, type_))
    return tuple(columns)


def as_relation(frame: DataFrame, relation: Relation) -> DataFrame:
    """Returns the frame with its columns in the types of the relation, as engines want them, named `c0`, `c1`, …"""
    check_arity(frame.columns, relation)
    types = [field.dataType for field in frame.schema.fields]
    numbered = frame.toDF(*(f"c{i}" for i in range(relation.arity)))  # the same name may be there twice
    return numbered.select(
        *(
            _converted(F.col(f"c{i}"), given, relation, column).alias(f"c{i}")
            for i, (given, column) in enumerate(zip(types, relation.columns, strict=True))
        )
    )


MALFORMED = "malformed"
"""The column of a streaming frame that says what was there in place of a value; null if nothing is wrong."""
CORRUPT = "_corrupt_record"
"""The column in which Spark's readers of text put a row that they cannot read."""
CHANGED = "_change"
"""The column of a stream of changes: 1 if the row comes, -1 if it goes."""
_SHOWN = 200
"""Characters of a malformed value that are told."""


def as_stream(frame: DataFrame, relation: Relation, extras: Sequence[str] = ()) -> DataFrame:
    """Returns the frame as `as_relation` does, and behind its columns what was malformed. A value that the column
    cannot hold is a null here, and no error: one row must not end a query. The last columns of the frame are `extras`:
    that of corrupt rows, and that of changes, which is kept."""
    names = [f"c{place}" for place in range(relation.arity)]
    check_arity(frame.columns[: len(frame.columns) - len(extras)], relation)
    numbered = frame.toDF(*names, *extras)
    columns: list[Column] = []
    told = [F.left(CORRUPT, F.lit(_SHOWN))] if CORRUPT in extras else []
    for name, field, column in zip(names, frame.schema.fields, relation.columns, strict=False):
        found = _converted(F.col(name), field.dataType, relation, column, lambda _text: F.lit(None))
        columns.append(found.alias(name))
        if not isinstance(field.dataType, spark_types.StructType | spark_types.ArrayType):
            is_malformed = F.col(name).isNotNull() & found.isNull()
            told.append(F.when(is_malformed, F.left(F.col(name).cast("string"), F.lit(_SHOWN))))
    malformed = F.coalesce(*told, F.lit(None).cast("string")).alias(MALFORMED)
    return numbered.select(*columns, malformed, *(one for one in extras if one == CHANGED))


Fault = Callable[[Column], Column]
"""Makes of the text of a fault what takes the place of a value."""


def _converted(
    value: Column,
    given: spark_types.DataType,
    relation: Relation,
    column: RelationColumn,
    fault: Fault = F.raise_error,
) -> Column:
    wanted = check_type(language_type(given), given.simpleString(), relation, column)
    return _as_type(value, given, wanted, f"the column `{column.name}` of `{relation.name}`", fault)


def _as_type(value: Column, given: spark_types.DataType, wanted: DataType, where: str, fault: Fault) -> Column:
    if (isinstance(given, spark_types.DecimalType) and wanted != FLOAT) or (
        wanted.is_decimal and language_type(given) == INT
    ):
        scale = wanted.scale or 0
        found = _unscaled(value if isinstance(given, spark_types.DecimalType) else value.cast("decimal(20,0)"), scale)
        return F.when(value.isNotNull(), F.coalesce(found, fault(_decimal_fault(value, scale, where))))
    if wanted == INT:
        return value.cast("long")
    if wanted == FLOAT and language_type(given) == INT:
        return _widened(value.cast("long"), where, fault)
    if wanted == FLOAT:
        return _finite(value.cast("double"), where, fault)
    if isinstance(given, spark_types.StringType) and wanted.is_told_by_type:
        text = F.concat(F.lit(f"error[DL404]: {where} is {wanted.described}, and `"), value)
        spelled = read_cell(F.trim(value), wanted)
        return F.when(value.isNotNull(), F.coalesce(spelled, fault(F.concat(text, F.lit("` spells none ¶")))))
    if wanted == TIMESTAMP:
        return _microseconds(value, given)
    if wanted == DATE:
        return F.unix_date(value).cast("long")
    if wanted == DURATION:
        return _microseconds_of_interval(value)
    if isinstance(given, spark_types.StructType):
        parts = [
            _as_type(value[field.name], field.dataType, type_, where, fault).alias(name)
            for field, type_, name in zip(given.fields, wanted.parts, (FIRST, SECOND), strict=True)
        ]
        return F.when(value.isNotNull(), F.struct(*parts))
    if isinstance(given, spark_types.ArrayType):
        return F.transform(value, lambda item: _as_type(item, given.elementType, wanted.parts[0], where, fault))
    return value.cast("string") if wanted in (STRING, UNKNOWN) else value


def _widened(value: Column, where: str, fault: Fault) -> Column:
    """Returns the float that is equal to an int; a fault where there is none."""
    near, is_equal = nearest_float(value)
    text = F.concat(F.lit(f"error[DL506]: {where} is of floats, and "), value.cast("string"))
    none = fault(F.concat(text, F.lit(" has no equal float; give all values as ints ¶")))
    return F.when(value.isNotNull(), F.when(is_equal, near).otherwise(none))


def _finite(value: Column, where: str, fault: Fault) -> Column:
    """Returns the value; a fault for infinity and NaN, which programs do not know. 0.0 and -0.0 are one value."""
    text = f"error[DL403]: {where} holds a float that is not finite; null can stand for a missing value ¶"
    # The remainder of a division by infinity is the dividend itself, unless that is infinite.
    return F.nanvl((value + F.lit(0.0)) % F.lit(float("inf")), fault(F.lit(text)).cast("double"))


def _microseconds(value: Column, given: spark_types.DataType) -> Column:
    """Returns a moment as microseconds since 1970 in UTC."""
    if isinstance(given, spark_types.TimestampType):
        return F.unix_micros(value)
    if isinstance(given, spark_types.TimestampNTZType):
        return F.timestamp_diff("MICROSECOND", F.lit(_EPOCH).cast("timestamp_ntz"), value)
    return value.cast("long")


_MOMENT = (
    r"\A([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,6})0*)?)?"
    r"(?: ?(Z|[+-][0-9]{2}(?::?[0-9]{2})?))?)?\z"
)
_DURATION = (
    r"\A([+-])?P(?:([0-9]+)W)?(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:[.,]([0-9]{1,6})0*)?S)?)?\z"
)


def read_cell(text: Column, type_: DataType) -> Column:
    """Returns the moment or the length of time that a text spells, and null for other text, by the same forms as
    `language.spellings`. The time zone of the session has no say."""
    if type_ == DATE:
        day = F.unix_date(F.when(F.rlike(text, F.lit(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z")), text).try_cast("date"))
        return F.when((day >= F.lit(FIRST_DAY)) & (day <= F.lit(LAST_DAY)), day.cast("long"))
    if type_.is_decimal:
        scale = type_.scale or 0
        spells = F.rlike(text, F.lit(rf"\A[+-]?[0-9]{{1,40}}(\.[0-9]{{0,{scale}}}0*)?\z"))
        return F.when(spells, _unscaled(text.try_cast(f"decimal({MOST_DIGITS + scale},{scale})"), scale))
    return _read_moment(text) if type_ == TIMESTAMP else _read_duration(text)


def _read_moment(text: Column) -> Column:
    day, minute, second, fraction, zone = (F.regexp_extract(text, _MOMENT, group) for group in range(1, 6))
    written = F.concat(
        day,
        F.lit("T"),
        F.when(minute == "", "00:00").otherwise(minute),
        F.lit(":"),
        F.when(second == "", "00").otherwise(second),
        F.when(fraction == "", "").otherwise(F.concat(F.lit("."), fraction)),
        F.lit("Z"),
    )
    hours, minutes = F.substring(zone, 2, 2).try_cast("long"), F.right(zone, F.lit(2)).try_cast("long")
    minutes = F.when(F.length(zone) > 3, minutes).otherwise(F.lit(0))
    size = F.when((hours < 24) & (minutes < 60), hours * F.lit(HOUR) + minutes * F.lit(MINUTE))
    ahead = F.when(zone.isin("", "Z"), F.lit(0)).when(F.startswith(zone, F.lit("-")), -size).otherwise(size)
    moment = F.unix_micros(F.when(F.rlike(text, F.lit(_MOMENT)), written).try_cast("timestamp")) - ahead
    return F.when((moment >= F.lit(FIRST_MOMENT)) & (moment <= F.lit(LAST_MOMENT)), moment)


def _read_duration(text: Column) -> Column:
    sign, *amounts, fraction = (F.regexp_extract(text, _DURATION, group) for group in range(1, 8))
    total = F.rpad(fraction, 6, "0").try_cast("decimal(38,0)")
    for amount, size in zip(amounts, (7 * DAY, DAY, HOUR, MINUTE, ONE_SECOND), strict=True):
        total = total + F.when(amount == "", F.lit(0)).otherwise(amount.try_cast("decimal(20,0)")) * F.lit(size)
    spells = F.rlike(text, F.lit(_DURATION)) & ~F.right(text, F.lit(1)).isin("P", "T")
    return F.when(spells, F.when(sign == "-", -total).otherwise(total).try_cast("long"))


def _microseconds_of_interval(value: Column) -> Column:
    """Returns a length of time in microseconds, which is exact: Spark gives its seconds as a decimal."""
    seconds = F.extract(F.lit("SECOND"), value) * F.lit(1_000_000)
    days, hours, minutes = (F.extract(F.lit(unit), value).cast("long") for unit in ("DAY", "HOUR", "MINUTE"))
    return days * F.lit(DAY) + hours * F.lit(HOUR) + minutes * F.lit(MINUTE) + seconds.cast("long")


def iso_duration(value: Column) -> Column:
    """Returns an interval of Spark as text of ISO 8601, in days and seconds."""
    time = _microseconds_of_interval(value)
    size = F.abs(time)
    seconds = (size % F.lit(DAY)).cast("decimal(18,0)") / F.lit(1_000_000).cast("decimal(18,0)")
    written = F.regexp_replace(seconds.cast("decimal(18,6)").cast("string"), r"\.?0+\z", "")
    days = F.call_function("div", size, F.lit(DAY)).cast("string")
    return F.concat(
        F.when(time < 0, "-").otherwise(""),
        F.lit("P"),
        days,
        F.lit("DT"),
        F.when(written == "", "0").otherwise(written),
        F.lit("S"),
    )


def as_result(frame: DataFrame, relation: Relation, *, plain_times: bool = False) -> DataFrame:
    """Returns facts as people want them: timestamps are timestamps again, unless they came as numbers."""
    if not any(is_shown_otherwise(column.type, plain_times=plain_times) for column in relation.columns):
        return frame
    return frame.select(
        *(
            _shown(F.col(quoted(name)), column.type, plain_times=plain_times).alias(name)
            for name, column in zip(frame.columns, relation.columns, strict=True)
        )
    )


def _shown(value: Column, type_: DataType, *, plain_times: bool) -> Column:
    if not is_shown_otherwise(type_, plain_times=plain_times):
        return value
    if type_ == TIMESTAMP:
        return F.timestamp_micros(value)
    if type_ == DATE:
        return F.date_from_unix_date(value.cast("int"))
    if type_ == DURATION:
        return _interval(value)
    if type_.is_decimal:
        scale = type_.scale or 0
        exact = value.cast(f"decimal({MOST_DIGITS},0)") * F.lit(Decimal(1).scaleb(-scale))
        return exact.cast(f"decimal({MOST_DIGITS},{scale})")
    if type_.name == "list":
        return F.transform(value, lambda item: _shown(item, type_.parts[0], plain_times=plain_times))
    parts = [
        _shown(value[name], part, plain_times=plain_times).alias(name)
        for name, part in zip((FIRST, SECOND), type_.parts, strict=True)
    ]
    return F.when(value.isNotNull(), F.struct(*parts))


def _interval(value: Column) -> Column:
    """Returns microseconds as an interval of Spark: `make_dt_interval` takes seconds as a decimal, which is exact."""
    none = F.lit(0)
    minutes = F.call_function("div", value, F.lit(MINUTE))
    rest = (value % F.lit(MINUTE)).cast("decimal(18,0)") / F.lit(1_000_000).cast("decimal(18,0)")
    days = F.call_function("div", minutes, F.lit(24 * 60)).cast("int")
    return F.make_dt_interval(days, none, (minutes % F.lit(24 * 60)).cast("int"), rest.cast("decimal(18,6)"))
