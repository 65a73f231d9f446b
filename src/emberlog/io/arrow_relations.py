"""Tables of Arrow as relations: the same types are taken as from Spark's DataFrames, and the same errors given.

int takes every integral type; float takes float, double and decimal; a timestamp without a time zone counts as UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.datatypes import BOOL, FIRST, FLOAT, INT, SECOND, STRING, TIMESTAMP, UNKNOWN, DataType, list_of, pair_of
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.arrow_values import arrow_type
from emberlog.language.conversions import WIDEN
from emberlog.semantics.model import Column, Relation

_HINTS = {
    "date": "a timestamp or text can be used",
    "binary": "text in UTF-8 can be used",
    "map": "one row for each entry can be used",
    "struct": "its fields as columns of their own can be used; a struct of two fields is a pair",
}


def table_of_pandas(name: str, data: Any) -> pa.Table:
    """A pandas frame; NaN and NaT are null there."""
    try:
        return pa.Table.from_pandas(data, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        reason = str(error.args[0]).rstrip(".")
        raise fail("DL403", f"the pandas data of `{name}` has a column of mixed types: {reason}") from None


def plain_table(name: str, table: pa.Table) -> pa.Table:
    """The table in types that every engine knows: no dictionaries, no unsigned ints, moments in microseconds."""
    columns = [_plain_column(name, field, table.column(index)) for index, field in enumerate(table.schema)]
    return pa.table(columns, names=table.column_names)


def _plain_column(name: str, field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
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


def language_type(type_: pa.DataType) -> DataType | None:
    """The type that values of an Arrow type have in programs, or None if they have none."""
    if pa.types.is_integer(type_):
        return INT
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return FLOAT
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return STRING
    if pa.types.is_boolean(type_):
        return BOOL
    if pa.types.is_timestamp(type_):
        return TIMESTAMP
    if pa.types.is_null(type_):
        return UNKNOWN
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        element = language_type(type_.value_type)
        return None if element is None else list_of(element)
    if pa.types.is_struct(type_) and type_.num_fields == 2:
        first, second = (language_type(type_.field(index).type) for index in range(2))
        return None if first is None or second is None else pair_of(first, second)
    return None


def columns_of_table(name: str, table: pa.Table) -> tuple[Column, ...]:
    """The columns as a program sees them; raises DL403 for a type that programs do not know."""
    columns = []
    for field in table.schema:
        type_ = language_type(field.type)
        if type_ is None:
            raise _unknown_type(name, field)
        columns.append(Column(field.name, type_))
    return tuple(columns)


def _unknown_type(name: str, field: pa.Field) -> EmberlogError:
    found = next((kind for kind in _HINTS if kind in str(field.type).split("<")[0]), str(field.type))
    hint = _HINTS.get(found, "leave the column out, or convert it")
    message = f"the column `{field.name}` of `{name}` is of type {found}, which programs do not know"
    return fail("DL403", message, None, hint)


def as_relation(table: pa.Table, relation: Relation) -> pa.Table:
    """The table with its columns in the relation's types; moments are microseconds."""
    if table.num_columns != relation.arity:
        counted = f"{table.num_columns:,} column{'' if table.num_columns == 1 else 's'}"
        raise fail(
            "DL402",
            f"the data of `{relation.name}` has {counted}, but the program uses {relation.arity}",
            None,
            f"the program has {relation}; the data has {', '.join(table.column_names)}",
        )
    columns = [_converted(table.column(index), relation, column) for index, column in enumerate(relation.columns)]
    return pa.table(columns, names=[column.name for column in relation.columns])


def _converted(values: pa.ChunkedArray, relation: Relation, column: Column) -> pa.ChunkedArray:
    found = UNKNOWN if values.null_count == len(values) else language_type(values.type)  # a null is of every type
    wanted = column.type if column.type.is_known else language_type(values.type)
    is_time = wanted == TIMESTAMP and found == INT  # a clock can be a plain count
    is_wider = wanted == FLOAT and found == INT
    if found is None or wanted is None or not (found in (wanted, UNKNOWN) or is_time or is_wider):
        raise fail(
            "DL403",
            f"the column `{column.name}` of `{relation.name}` is {wanted}, and the data has {values.type}",
            relation.span if relation.is_declared else None,
        )
    converted = pa.chunked_array([_cast(chunk, wanted) for chunk in values.chunks], arrow_type(wanted))
    if wanted == FLOAT:
        where = f"the column `{column.name}` of `{relation.name}`"
        if is_wider:
            _check_widened(values, where)
        _check_finite(converted, where)
        return pc.add(converted, 0.0)  # 0.0 and -0.0 are one value
    return converted


def _check_widened(values: pa.ChunkedArray, where: str) -> None:
    ints = values.drop_null().cast(pa.int64()).to_numpy()
    assert WIDEN.vector is not None
    _, bad = WIDEN.vector(ints)
    if bad is not None:
        raise no_equal_float(int(ints[bad][0]), where)


def no_equal_float(value: int, where: str) -> EmberlogError:
    """Returns the error for an int in a column of floats that would become another number."""
    return fail("DL506", f"{where} is of floats, and {value:,} has no equal float", None, "give all values as ints")


def _cast(values: pa.Array, wanted: DataType) -> pa.Array:
    if wanted.name != "pair":
        return values.cast(arrow_type(wanted), safe=False)
    parts = [_cast(values.field(index), part) for index, part in enumerate(wanted.parts)]
    return pa.StructArray.from_arrays(parts, names=[FIRST, SECOND], mask=values.is_null())


def _check_finite(values: pa.ChunkedArray, where: str) -> None:
    if pc.all(pc.is_finite(values), min_count=0).as_py() is False:
        raise fail("DL403", f"{where} holds a float that is not finite; null can stand for a missing value")


def has_plain_times(columns: Sequence[Column], relation: Relation) -> bool:
    """Whether a column that the relation takes as a timestamp holds plain numbers."""
    return any(
        wanted.type == TIMESTAMP and given.type == INT for given, wanted in zip(columns, relation.columns, strict=True)
    )
