"""Values of the language in Arrow: which type holds them, and how they look there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from emberlog.datatypes import (
    BOOL,
    FIRST,
    FLOAT,
    INT,
    SECOND,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    join_types,
    type_of_value,
)
from emberlog.semantics.model import CellValue, Fact

_PLAIN = {
    INT: pa.int64(),
    FLOAT: pa.float64(),
    STRING: pa.string(),
    BOOL: pa.bool_(),
    TIMESTAMP: pa.int64(),
    UNKNOWN: pa.string(),
}


def table_of(names: Sequence[str], types: Sequence[DataType], rows: Sequence[Fact]) -> pa.Table:
    """The rows as a table: moments are microseconds, pairs are structs."""
    return pa.table(
        [pa.array((as_arrow(row[i], type_) for row in rows), arrow_type(type_)) for i, type_ in enumerate(types)],
        names=list(names),
    )


def known_type(type_: DataType, values: Iterable[CellValue]) -> DataType:
    if type_.is_known:
        return type_
    found = UNKNOWN
    for value in values:
        found = join_types(found, _type_of(value)) or UNKNOWN
    return found


def _type_of(value: CellValue) -> DataType:
    return type_of_value(value) if isinstance(value, bool | int | float | str) else UNKNOWN


def arrow_type(type_: DataType) -> pa.DataType:
    if type_.name == "pair":
        first, second = map(arrow_type, type_.parts)
        return pa.struct([(FIRST, first), (SECOND, second)])
    if type_.name == "list":
        return pa.list_(arrow_type(type_.parts[0]))
    return _PLAIN[type_]


def shown_type(type_: DataType, *, plain_times: bool) -> pa.DataType:
    """The type as people see it: a moment is one, and no number, unless it came as a number."""
    if type_ == TIMESTAMP and not plain_times:
        return pa.timestamp("us", "UTC")
    if type_.name == "pair":
        first, second = (shown_type(part, plain_times=plain_times) for part in type_.parts)
        return pa.struct([(FIRST, first), (SECOND, second)])
    if type_.name == "list":
        return pa.list_(shown_type(type_.parts[0], plain_times=plain_times))
    return arrow_type(type_)


def as_arrow(value: CellValue, type_: DataType) -> object:
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
