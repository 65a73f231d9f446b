"""Reads the rows that a transaction inserts and deletes, as the program sees them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from emberlog.datatypes import BOOL, FLOAT, INT, INT_MAX, INT_MIN, STRING
from emberlog.io.intake import NoRows, register
from emberlog.io.local_files import LocalReader
from emberlog.io.local_relation import LocalRelation, facts_of_table
from emberlog.semantics.model import CellValue, Fact, Relation


def read_rows(relation: Relation, data: object) -> Sequence[Fact]:
    """Returns the rows of data of any kind that can be registered, repeats included. Raises an error for a row that the
    relation cannot have."""
    plain = _plain_rows(relation, data)
    if plain is not None:
        return plain
    source = register(LocalReader(), relation.data_name, data)
    if isinstance(source, NoRows):
        return ()
    source.columns(relation.columns if relation.is_declared else None)
    return list(rows_with_repeats(source.relation(relation)))


def rows_with_repeats(relation: LocalRelation) -> Sequence[Fact]:
    """Returns the rows of a relation, each as often as it was given."""
    return list(facts_of_table(relation.table)) if relation.is_table and relation.types else list(relation.facts)


def _plain_rows(relation: Relation, data: object) -> Sequence[Fact] | None:
    """Returns the rows if they are a list of tuples of just the values that the columns hold: most are, and are not
    worth a table."""
    if type(data) is not list:
        return None
    kinds = [column.type for column in relation.columns]
    rows = []
    for row in data:
        if type(row) is not tuple or len(row) != len(kinds):
            return None
        cells: list[CellValue] = []
        for value, kind in zip(row, kinds, strict=True):
            match value:
                case None:
                    pass
                case bool() if kind == BOOL:
                    pass
                case int() if kind == INT and type(value) is int and INT_MIN <= value <= INT_MAX:
                    pass
                case float() if kind == FLOAT and type(value) is float and math.isfinite(value):
                    value = value + 0.0  # 0.0 and -0.0 are one value
                case str() if kind == STRING and type(value) is str and value.isascii():
                    pass
                case _:
                    return None
            cells.append(value)
        rows.append(tuple(cells))
    return rows
