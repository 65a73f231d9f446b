"""Keeps the rows of streams that cannot be used, with the reason, so that a query goes on without them.

A row is bad if it has no value where the program needs one. What is null in a column that no rule reads is not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.diagnostics import EmberlogError, fail
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
    """Parts the rows of a stream that have no value in a column that is needed. Behind its columns a table may have
    what was malformed in each row, and whether it comes or goes."""
    table = table.combine_chunks()
    own = list(range(len(columns)))
    kept = table.select([*own, table.schema.get_field_index(CHANGE)]) if CHANGE in table.column_names else None
    rows = table.select(own)
    missing = [
        (pc.is_null(rows.column(place).combine_chunks()), f"{columns[place].name} has no value")
        for place in sorted(needed)
        if rows.column(place).null_count
    ]
    if kept is not None and kept.column(CHANGE).null_count:
        missing.append(
            (pc.is_null(kept.column(CHANGE).combine_chunks()), "it is not said whether the row comes or goes")
        )
    good = rows if kept is None else kept
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
