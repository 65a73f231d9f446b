"""Converts types, values and relations of the language to Arrow, and people's tables of Arrow to relations.

int takes every integral type, and decimals without digits behind the point; float takes float and double; a decimal
keeps its scale if it has up to 19 digits, and otherwise has the digits that its values use; a timestamp
of any unit, with or without a time zone, is a timestamp, and one without counts as UTC; dates are dates, and durations
are durations. What is finer than a microsecond is refused. Other types have to be converted before.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.datatypes import (
    BOOL,
    DATE,
    DURATION,
    FIRST,
    FLOAT,
    INT,
    INT_MIN,
    SECOND,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    decimal_of,
    join_types,
    list_of,
    pair_of,
    type_of_value,
)
from emberlog.diagnostics import Diagnostic, EmberlogError, Note, Severity, fail, warn
from emberlog.io.matching import check_arity, check_type, decimal_misfit, half_character, no_equal_float, unknown_type
from emberlog.language.conversions import WIDEN
from emberlog.language.spellings import FIRST_DAY, FIRST_MOMENT, LARGEST_SCALE, LAST_DAY, LAST_MOMENT, read_cell
from emberlog.semantics.model import CellValue, Column, Fact, Relation

MOST_DIGITS = 19
"""Of a decimal, in all: 64 bits hold no more."""

_PLAIN = {
    INT: pa.int64(),
    FLOAT: pa.float64(),
    STRING: pa.string(),
    BOOL: pa.bool_(),
    UNKNOWN: pa.string(),
}

_SHOWN = {DATE: pa.date32(), TIMESTAMP: pa.timestamp("us", "UTC"), DURATION: pa.duration("us")}
"""What people see of values that are ints while a program runs."""


# --- types ----------------------------------------------------------------------------------------------------------


def arrow_type(type_: DataType) -> pa.DataType:
    """Returns the Arrow type that holds values of `type_` while a program runs: a moment is a number."""
    if type_.name == "pair":
        return pa.struct(list(zip((FIRST, SECOND), map(arrow_type, type_.parts), strict=True)))
    if type_.name == "list":
        return pa.list_(arrow_type(type_.parts[0]))
    return pa.int64() if type_.is_whole else _PLAIN[type_]


def shown_type(type_: DataType, *, plain_times: bool) -> pa.DataType:
    """Returns the Arrow type of values as people see them: a moment is one, unless moments came as plain numbers."""
    if type_.name == "pair":
        first, second = (shown_type(part, plain_times=plain_times) for part in type_.parts)
        return pa.struct([(FIRST, first), (SECOND, second)])
    if type_.name == "list":
        return pa.list_(shown_type(type_.parts[0], plain_times=plain_times))
    if type_.is_decimal:
        return pa.decimal128(MOST_DIGITS, type_.scale)
    return _SHOWN[type_] if is_shown_otherwise(type_, plain_times=plain_times) else arrow_type(type_)


def is_shown_otherwise(type_: DataType, *, plain_times: bool) -> bool:
    """Tells whether people see values of the type as something else than programs do, or parts of them."""
    if type_.parts:
        return any(is_shown_otherwise(part, plain_times=plain_times) for part in type_.parts)
    return type_.is_told_by_type and not (plain_times and type_ == TIMESTAMP)


def shown_column(values: pa.ChunkedArray, type_: DataType, *, plain_times: bool) -> pa.ChunkedArray:
    """Returns a column of a relation as people see it."""
    if not is_shown_otherwise(type_, plain_times=plain_times):
        return values
    chunks = [_shown(chunk, type_, plain_times=plain_times) for chunk in values.chunks]
    return pa.chunked_array(chunks, shown_type(type_, plain_times=plain_times))


def _shown(values: pa.Array, type_: DataType, *, plain_times: bool) -> pa.Array:
    if not is_shown_otherwise(type_, plain_times=plain_times):
        return values
    if type_.name == "pair":
        parts = [
            _shown(part, own, plain_times=plain_times) for part, own in zip(values.flatten(), type_.parts, strict=True)
        ]
        return pa.StructArray.from_arrays(parts, names=[FIRST, SECOND], mask=values.is_null())
    if type_.name == "list":
        inside = _shown(values.flatten(), type_.parts[0], plain_times=plain_times)
        return pa.ListArray.from_arrays(_offsets(values), inside, mask=values.is_null() if values.null_count else None)
    if type_.is_decimal:
        return _with_scale(values.cast(pa.decimal128(MOST_DIGITS, 0)), type_.scale or 0)
    if type_ == DATE:
        values = values.cast(pa.int32())
    return values.cast(_SHOWN[type_])


def _with_scale(values: pa.Array, scale: int) -> pa.Array:
    """Returns decimals of the same ints with another scale."""
    type_ = pa.decimal128(values.type.precision, scale)
    return pa.Array.from_buffers(type_, len(values), values.buffers(), values.null_count, values.offset)


def _offsets(values: pa.Array) -> pa.Array:
    """Returns where each list begins among the items, and where the last one ends."""
    lengths = pc.fill_null(pc.list_value_length(values), 0).cast(pa.int32())
    ends = pc.cumulative_sum(lengths)
    return pa.concat_arrays([pa.array([0], pa.int32()), ends if isinstance(ends, pa.Array) else ends.combine_chunks()])


def language_type(type_: pa.DataType) -> DataType | None:
    """Returns the type that values of an Arrow type have in programs, or None if they have none."""
    if pa.types.is_integer(type_):
        return INT
    if pa.types.is_floating(type_):
        return FLOAT
    if pa.types.is_decimal(type_):
        return INT if type_.scale <= 0 else decimal_of(type_.scale) if type_.precision <= MOST_DIGITS else None
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return STRING
    if pa.types.is_boolean(type_):
        return BOOL
    if pa.types.is_timestamp(type_):
        return TIMESTAMP
    if pa.types.is_date(type_):
        return DATE
    if pa.types.is_duration(type_):
        return DURATION
    if pa.types.is_null(type_):
        return UNKNOWN
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        element = language_type(type_.value_type)
        return None if element is None else list_of(element)
    if pa.types.is_struct(type_) and type_.num_fields == 2:
        first, second = (language_type(type_.field(index).type) for index in range(2))
        return None if first is None or second is None else pair_of(first, second)
    return None


def known_type(type_: DataType, values: Iterable[CellValue]) -> DataType:
    """Returns `type_`, or the type that all values have if it is unknown."""
    if type_.is_known:
        return type_
    found = UNKNOWN
    for value in values:
        one = type_of_value(value) if isinstance(value, bool | int | float | str) else UNKNOWN
        found = join_types(found, one) or UNKNOWN
    return found


# --- facts as tables ------------------------------------------------------------------------------------------------


def table_of(names: Sequence[str], types: Sequence[DataType], rows: Sequence[Fact]) -> pa.Table:
    """Returns the rows as a table, in which moments are microseconds and pairs are structs."""
    return pa.table(
        [pa.array((as_arrow(row[i], type_) for row in rows), arrow_type(type_)) for i, type_ in enumerate(types)],
        names=list(names),
    )


def as_arrow(value: CellValue, type_: DataType) -> object:
    """Returns a value as Arrow takes it."""
    if value is None:
        return None
    if type_.name == "pair":
        assert isinstance(value, tuple)
        parts = (as_arrow(part, part_type) for part, part_type in zip(value, type_.parts, strict=True))
        return dict(zip((FIRST, SECOND), parts, strict=True))
    if type_.name == "list":
        assert isinstance(value, tuple)
        return [as_arrow(part, type_.parts[0]) for part in value]
    return float(value) if type_ == FLOAT and isinstance(value, int) else value


# --- people's tables as relations -----------------------------------------------------------------------------------


def table_of_pandas(name: str, data: Any) -> pa.Table:
    """Returns a pandas frame as a table, in which NaN and NaT are null. Floats of numpy that are whole but for NaN are
    ints that pandas could not keep as such."""
    if data.ndim == 1:
        data = data.to_frame()
    levels = [str(level) for level in data.index.names if level is not None]
    if levels:
        shown = ", ".join(f"`{level}`" for level in levels)
        message = f"the index {shown} of the pandas data of `{name}` is left out"
        warn([Diagnostic("DL493", message, None, (Note("reset_index() makes columns of it"),), Severity.WARNING)])
    names = [str(column) for column in data.columns]
    if not data.columns.is_unique:  # they are told apart by their places, as those of Spark are
        data = data.set_axis(range(len(names)), axis="columns")
    try:
        table = pa.Table.from_pandas(data, preserve_index=False).rename_columns(names)
    except UnicodeEncodeError as error:
        raise half_character(f"{error.object!r} in the pandas data of `{name}`") from None
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        reason = str(error.args[0]).rstrip(".")
        raise fail("DL403", f"the pandas data of `{name}` has a column of mixed types: {reason}") from None
    for index, dtype in enumerate(data.dtypes):
        if str(dtype) == "float64" and _are_ids(table.column(index)):
            table = table.set_column(index, table.column_names[index], table.column(index).cast(pa.int64()))
    return table


def _are_ids(floats: pa.ChunkedArray) -> bool:
    """Tells whether floats have nulls among them, and are otherwise ints that no rounding can have made."""
    values = floats.drop_null()
    if not 0 < len(values) < len(floats):
        return False
    is_whole = pc.and_(pc.equal(pc.trunc(values), values), pc.less_equal(pc.abs(values), 2.0**53))
    return bool(pc.all(is_whole).as_py())


def table_of_stream(name: str, data: Any) -> pa.Table:
    """Returns the table of whatever hands out its rows as a stream of Arrow."""
    try:
        return pa.RecordBatchReader.from_stream(data).read_all()
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise fail("DL405", f"cannot read the {type(data).__name__} of `{name}`", None, reason) from None


def plain_table(name: str, table: pa.Table) -> pa.Table:
    """Returns the table without dictionaries and unsigned ints, with moments in microseconds, and dates in days."""
    columns = [_plain_column(name, field, table.column(index)) for index, field in enumerate(table.schema)]
    return pa.table(columns, names=table.column_names)


def _plain_column(name: str, field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    type_ = field.type
    try:
        if pa.types.is_string_view(type_):  # which few functions of Arrow know
            return column.cast(pa.string())
        if pa.types.is_dictionary(type_):
            values = pa.string() if language_type(type_.value_type) == STRING else type_.value_type
            chunks = [(one.indices, one.dictionary.cast(values)) for one in column.chunks]
            decoded = [pa.DictionaryArray.from_arrays(*chunk).dictionary_decode() for chunk in chunks]
            return pa.chunked_array(decoded, values)
        if pa.types.is_unsigned_integer(type_):
            return column.cast(pa.int64())
        if pa.types.is_timestamp(type_) and type_.unit != "us":
            return column.cast(pa.timestamp("us", type_.tz))
        if pa.types.is_duration(type_) and type_.unit != "us":
            return column.cast(pa.duration("us"))
        if type_ == pa.month_day_nano_interval():  # what DuckDB has for durations
            return pa.chunked_array([_durations(column)])
        if pa.types.is_date64(type_):
            return column.cast(pa.date32())
        if pa.types.is_decimal(type_) and type_.scale > 0 and type_.precision > MOST_DIGITS:
            return _narrower(column, f"the column `{field.name}` of `{name}`")
    except pa.ArrowInvalid as error:
        raise fail("DL403", f"the column `{field.name}` of `{name}` does not fit: {error}") from None
    return column


def _durations(column: pa.ChunkedArray) -> pa.Array:
    """Returns intervals of days and nanoseconds as durations; one of months has no length of its own."""
    lengths: list[int | None] = []
    for one in column.to_pylist():
        if one is not None and (one.months or one.nanoseconds % 1000):
            raise pa.ArrowInvalid(f"{one.months} months, {one.days} days and {one.nanoseconds} ns are no duration")
        lengths.append(None if one is None else one.days * 86_400_000_000 + one.nanoseconds // 1000)
    return pa.array(lengths, pa.duration("us"))


def _narrower(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    """Returns a column of wide decimals with the digits that its values use."""
    scale = _digits_used(column)
    try:
        return column.cast(pa.decimal256(76, column.type.scale)).cast(pa.decimal128(MOST_DIGITS, scale))
    except pa.ArrowInvalid:
        raise _decimal_misfit(column, scale, where) from None


def _decimal_misfit(column: pa.ChunkedArray, scale: int, where: str) -> EmberlogError:
    """Returns the error that names the first decimal which does not fit."""
    for value in column.to_pylist():
        if value is not None:
            number = Fraction(value) * 10**scale
            if number.denominator != 1 or not INT_MIN <= number < -INT_MIN:
                return decimal_misfit(value, scale, where)
    raise AssertionError(f"DL901: all decimals of {where} fit")


def _digits_used(column: pa.ChunkedArray) -> int:
    """Returns how many digits behind the point the values of a column have, up to those that a decimal can have."""
    wide = column.cast(pa.decimal256(76, column.type.scale))
    return bisect(range(LARGEST_SCALE), False, key=lambda scale: _has_more_digits(wide, scale) is False)


def _has_more_digits(column: pa.ChunkedArray, scale: int) -> bool:
    try:
        column.cast(pa.decimal256(76, scale))
    except pa.ArrowInvalid:
        return True
    return False


def columns_of_table(name: str, table: pa.Table) -> tuple[Column, ...]:
    """Returns the columns as a program sees them; raises DL403 for a type that programs do not know."""
    columns = []
    for field in table.schema:
        type_ = language_type(field.type)
        if type_ is None:
            raise unknown_type(name, field.name, str(field.type))
        columns.append(Column(field.name, type_))
    return tuple(columns)


def as_relation(table: pa.Table, relation: Relation) -> pa.Table:
    """Returns the table with its columns in the types of the relation, in which moments are microseconds."""
    check_arity(table.column_names, relation)
    columns = [_converted(table.column(index), relation, column) for index, column in enumerate(relation.columns)]
    return pa.table(columns, names=[column.name for column in relation.columns])


def _converted(values: pa.ChunkedArray, relation: Relation, column: Column) -> pa.ChunkedArray:
    own = language_type(values.type)
    if values.null_count == len(values):  # a null is of every type
        any_type = column.type if column.type.is_known else own or UNKNOWN
        return pa.chunked_array([pa.nulls(len(values), arrow_type(any_type))])
    wanted = check_type(own, str(values.type), relation, column)
    where = f"the column `{column.name}` of `{relation.name}`"
    if own == STRING and wanted.is_told_by_type:
        return _read(values, wanted, where)
    try:
        converted = pa.chunked_array([_cast(chunk, wanted) for chunk in values.chunks], arrow_type(wanted))
    except pa.ArrowInvalid as error:
        if pa.types.is_decimal(values.type) or wanted.is_decimal:
            raise _decimal_misfit(values, wanted.scale or 0, where) from None
        raise fail("DL403", f"{where} does not fit: {error}") from None
    if own in (DATE, TIMESTAMP):
        _check_calendar(converted, wanted, where)
    if wanted == FLOAT:
        if own == INT:
            _check_widened(values, where)
        if pc.all(pc.is_finite(converted), min_count=0).as_py() is False:
            raise fail("DL403", f"{where} holds a float that is not finite; null can stand for a missing value")
        return pc.add(converted, 0.0)  # 0.0 and -0.0 are one value
    return converted


MOST_COMPARED = 1 << 21
"""Rows of a table above which it costs too much to look for repeated ones."""


def repeated_rows(table: pa.Table) -> int | None:
    """Returns how many rows are there already; None where it costs too much to know, as of lists and pairs."""
    if table.num_rows > MOST_COMPARED or not table.num_columns or any(pa.types.is_nested(f.type) for f in table.schema):
        return None
    plain = table.rename_columns([f"c{place}" for place in range(table.num_columns)])
    return int(table.num_rows - plain.group_by(plain.column_names).aggregate([]).num_rows)


def _check_widened(values: pa.ChunkedArray, where: str) -> None:
    ints = values.drop_null().cast(pa.int64()).to_numpy()
    assert WIDEN.vector is not None
    _, bad = WIDEN.vector(ints)
    if bad is not None:
        raise no_equal_float(int(ints[bad][0]), where)


def _read(values: pa.ChunkedArray, wanted: DataType, where: str) -> pa.ChunkedArray:
    """Returns the moments or lengths of time that texts spell; raises DL404 if one spells none."""
    texts = pc.unique(values)
    found: list[int | None] = []
    for text in texts.to_pylist():
        try:
            found.append(None if text is None else read_cell(text.strip(), wanted))
        except ValueError:
            raise fail("DL404", f"{where} is {wanted.described}, and `{text}` spells none") from None
    return pa.array(found, pa.int64()).take(pc.index_in(values, texts))


def _check_calendar(values: pa.ChunkedArray, type_: DataType, where: str) -> None:
    first, last = (FIRST_DAY, LAST_DAY) if type_ == DATE else (FIRST_MOMENT, LAST_MOMENT)
    found = pc.min_max(values)
    if found["min"].as_py() < first or found["max"].as_py() > last:
        raise fail("DL412", f"{where} holds {type_.described} outside the years 1 to 9999")


def _cast(values: pa.Array, wanted: DataType) -> pa.Array:
    if pa.types.is_decimal(values.type) and wanted != FLOAT:
        exact = values.cast(pa.decimal256(76, 18)).cast(pa.decimal128(38, wanted.scale or 0))
        return _with_scale(exact, 0).cast(pa.int64())
    if wanted.is_decimal:
        exact = values.cast(pa.int64()).cast(pa.decimal128(38, wanted.scale))
        return _with_scale(exact, 0).cast(pa.int64())
    if wanted.name == "pair":
        parts = [_cast(values.field(index), part) for index, part in enumerate(wanted.parts)]
        return pa.StructArray.from_arrays(parts, names=[FIRST, SECOND], mask=values.is_null())
    if wanted.name == "list" and wanted.is_told_by_type:
        inside = _cast(values.flatten(), wanted.parts[0])
        return pa.ListArray.from_arrays(_offsets(values), inside, mask=values.is_null() if values.null_count else None)
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp("us", values.type.tz))
    elif pa.types.is_duration(values.type):
        values = values.cast(pa.duration("us"))
    elif pa.types.is_date(values.type):
        values = values.cast(pa.date32()).cast(pa.int32())
    return values.cast(arrow_type(wanted), safe=False)
