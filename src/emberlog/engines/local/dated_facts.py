"""Facts with the iteration in which each came, in a column behind their own."""

from __future__ import annotations

import pyarrow as pa

from emberlog.datatypes import INT
from emberlog.engines.recording import ITERATION, is_latest
from emberlog.io.local_relation import LocalRelation
from emberlog.io.matching import free_name
from emberlog.semantics.model import Fact, RecursionCase


def dated(facts: LocalRelation, history: LocalRelation, case: RecursionCase) -> LocalRelation:
    """`history` has these facts, and perhaps others."""
    names = [*facts.columns, free_name(ITERATION, facts.columns)]
    types = (*facts.types, INT)
    if any(type_.parts for type_ in facts.types):
        return LocalRelation(names, types, _one_by_one(facts, history, case), plain_times=facts.plain_times)
    # A group is a fact of both: unlike a join, that takes null for null.
    keys = [f"c{place}" for place in range(len(facts.types))]
    asked = facts.table.rename_columns(keys).append_column(ITERATION, pa.nulls(len(facts), pa.int64()))
    known = history.table.rename_columns([*keys, ITERATION])
    both = pa.concat_tables(
        [
            one.append_column("is_asked", pa.repeat(is_asked, one.num_rows))
            for one, is_asked in ((asked, True), (known.cast(asked.schema), False))
        ]
    )
    found = both.group_by(keys).aggregate([(ITERATION, "max" if is_latest(case) else "min"), ("is_asked", "any")])
    rows = found.filter(found.column("is_asked_any")).drop_columns(["is_asked_any"])
    rows = rows.select([*keys, next(name for name in rows.column_names if name not in keys)])
    return LocalRelation(names, types, rows, plain_times=facts.plain_times)


def _one_by_one(facts: LocalRelation, history: LocalRelation, case: RecursionCase) -> list[Fact]:
    """Arrow makes no groups of lists and pairs."""
    chosen = max if is_latest(case) else min
    came: dict[Fact, int] = {}
    for *fact, iteration in history.facts:
        assert isinstance(iteration, int)
        key = tuple(fact)
        came[key] = chosen(came.get(key, iteration), iteration)
    return [(*fact, came.get(fact)) for fact in facts.facts]
