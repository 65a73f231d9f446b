"""The facts that the tuples of a stream stand for."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.semantics.model import TimeRole


def facts_of_tuples(role: TimeRole, table: pa.Table) -> pa.Table:
    """`role` says what becomes of the time: left out (NONE), the earliest of each fact, or a plain column. Unless it is
    the last, each fact is there once."""
    match role:
        case TimeRole.NONE:
            facts = table.select(range(1, table.num_columns))
            return facts.group_by(facts.column_names, use_threads=False).aggregate([])  # many differ in the time alone
        case TimeRole.ANNOTATION:
            time, *others = table.column_names
            if not others:
                return table.slice(0, 0) if not table.num_rows else pa.table({time: [pc.min(table.column(0))]})
            earliest = table.group_by(others, use_threads=False).aggregate([(time, "min")])
            return earliest.select([f"{time}_min", *others])
        case TimeRole.ORDINARY:
            return table
