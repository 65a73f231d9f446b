"""Keeps the rows of streams that cannot be used, with the reason, so that a query goes on without them.

A row is bad if it has no value where the program needs one, or one that the declared type of its column does not have.
What is in a column that no rule reads does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.datatypes import DataType
from emberlog.diagnostics import EmberlogError, fail
from emberlog.language.faults import Fault
from emberlog.language.records import grammar_of, read_value
from emberlog.semantics.model import Column
from emberlog.streams.state.copies import CHANGE

REASON, MALFORMED = "reason", "malformed"


@dataclass(frozen=True, slots=True)
class Inspected:
    """Holds the rows of a batch by whether they can be used."""

    good: pa.Table
    bad: pa.Table
    """With one more column, that of the reasons."""


def inspect(table: pa.Table, columns: Sequence[Column], needed: Collection[int]) -> Inspected:
    """Parts the rows of a stream that have no value of its type in a column that is needed. Behind its columns a table
    may have what was malformed in each row, and whether it comes or goes."""
    table = table.combine_chunks()
    own = list(range(len(columns)))
    kept = table.select([*own, table.schema.get_field_index(CHANGE)]) if CHANGE in table.column_names else None
    rows = table.select(own)
    missing: list[tuple[pa.Array, pa.Array | str]] = [
        (pc.is_null(rows.column(place).combine_chunks()), f"{columns[place].name} has no value")
        for place in sorted(needed)
        if rows.column(place).null_count
    ]
    good = rows if kept is None else kept
    for place in sorted(needed):
        type_ = columns[place].type
        if not type_.is_record and type_.bounds is None:
            continue
        values, faults = _as_declared(rows.column(place).combine_chunks(), type_)
        good = good.set_column(place, good.field(place), values)
        if faults.null_count < len(faults):
            missing.append((pc.is_valid(faults), faults))
    if kept is not None and kept.column(CHANGE).null_count:
        missing.append(
            (pc.is_null(kept.column(CHANGE).combine_chunks()), "it is not said whether the row comes or goes")
        )
    if not missing:
        return Inspected(good, with_reason(rows.slice(0, 0), ""))
    reason = pa.nulls(rows.num_rows, pa.string())
    for is_missing, why in reversed(missing):
        reason = pc.if_else(is_missing, why, reason)
    if MALFORMED in table.column_names:
        told = pc.binary_join_element_wise(reason, table.column(MALFORMED).combine_chunks(), ": ")
        reason = pc.coalesce(told, reason)  # what is told is null where one of them is
    is_bad = pc.is_valid(reason)
    bad = rows.filter(is_bad).append_column(REASON, reason.filter(is_bad))
    return Inspected(good.filter(pc.invert(is_bad)), bad)


def _as_declared(values: pa.Array, type_: DataType) -> tuple[pa.Array, pa.Array]:
    """Returns the values that a declared type has for those of a column, and what is wrong where it has none."""
    if type_.is_record:
        encoded = values.dictionary_encode()
        grammar = grammar_of(type_)
        read = [_read(text, grammar) for text in encoded.dictionary.to_pylist()]
        found, faults = (pa.array([one[side] for one in read], pa.string()) for side in (0, 1))
        return found.take(encoded.indices), faults.take(encoded.indices)
    assert type_.bounds is not None
    least, greatest = type_.bounds
    is_outside = pc.or_(pc.less(values, least), pc.greater(values, greatest))
    told = pc.binary_join_element_wise(values.cast(pa.string()), f" is no {type_}", "")
    return values, pc.if_else(is_outside, told, pa.scalar(None, pa.string()))


def _read(text: str, grammar: str) -> tuple[str | None, str | None]:
    """Returns the value that a text means, or what is wrong with it."""
    try:
        return read_value(text, grammar), None
    except Fault as fault:
        return None, fault.message


def with_reason(rows: pa.Table, reason: str) -> pa.Table:
    return rows.append_column(REASON, pa.repeat(pa.scalar(reason), rows.num_rows))


def refused(bad: Mapping[str, pa.Table]) -> EmberlogError:
    """Returns the error for bad rows where these are to end the query."""
    stream, rows = next(iter(bad.items()))
    first = ", ".join(f"{cell}" for cell in rows.slice(0, 1).to_pylist()[0].values())
    return fail(
        "DL330",
        f"{sum(table.num_rows for table in bad.values()):,} rows of a batch cannot be used; the first of `{stream}`: "
        f"{first}",
        None,
        'bad="keep" puts such rows aside, and the query goes on',
    )


def bad_rows(inspected: Mapping[str, Inspected]) -> dict[str, pa.Table]:
    """Returns the bad rows of each stream that has some."""
    return {stream: one.bad for stream, one in inspected.items() if one.bad.num_rows}
