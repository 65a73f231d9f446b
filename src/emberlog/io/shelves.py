"""Looks up rows of a relation by the values of some columns, without a join: among facts of this process, in tables of
Arrow, and in Parquet files of this machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.io.local_relation import LocalRelation, facts_of_table
from emberlog.semantics.model import CellValue, Fact

MOST_AT_HAND = 20_000
"""Rows that are made into Python objects without being asked for."""

BATCH = 1 << 16

MOST_IN_MEMORY = 1 << 25
"""Rows of files that are read into memory at the first question."""


class Shelf(ABC):
    """Holds the rows of one relation, wherever they are. A row may be there twice."""

    is_at_hand = False
    """Whether all rows are Python objects already."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Returns how many rows there are."""

    @abstractmethod
    def select(self, equal: Mapping[int, CellValue], most: int) -> list[Fact] | None:
        """Returns the rows with these values, none of them null, by column; None if there are more than `most`."""

    @abstractmethod
    def scan(self, equal: Mapping[int, CellValue]) -> Iterator[Fact]:
        """Yields the same rows, however many, and holds only some at a time."""


class FactShelf(Shelf):
    """Holds facts in the memory of this process."""

    is_at_hand = True

    def __init__(self, facts: Collection[Fact]) -> None:
        self._facts = facts

    @property
    def rows(self) -> int:
        return len(self._facts)

    def select(self, equal: Mapping[int, CellValue], most: int) -> list[Fact] | None:
        found = list(self.scan(equal))
        return None if len(found) > most else found

    def scan(self, equal: Mapping[int, CellValue]) -> Iterator[Fact]:
        return (fact for fact in self._facts if all(fact[column] == value for column, value in equal.items()))


def shelf_of(relation: LocalRelation) -> Shelf:
    if len(relation) <= MOST_AT_HAND or not relation.is_table:
        return FactShelf(relation.facts)
    return ArrowShelf(relation.table)


class ArrowShelf(Shelf):
    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @property
    def rows(self) -> int:
        return int(self._table.num_rows)

    def select(self, equal: Mapping[int, CellValue], most: int) -> list[Fact] | None:
        chosen = self._chosen(equal)
        return None if chosen.num_rows > most else list(facts_of_table(chosen))

    def scan(self, equal: Mapping[int, CellValue]) -> Iterator[Fact]:
        for batch in self._chosen(equal).to_batches(BATCH):
            yield from facts_of_table(pa.table(batch))

    def _chosen(self, equal: Mapping[int, CellValue]) -> pa.Table:
        masks = []
        for column, value in equal.items():
            known = value_in(self._table.schema.field(column).type, value)
            if known is None:
                return self._table.slice(0, 0)
            masks.append(pc.equal(self._table.column(column), known))
        return self._table.filter(reduce(pc.and_, masks)) if masks else self._table


class ParquetShelf(Shelf):
    """Holds Parquet files, which must not change while they are read."""

    def __init__(self, paths: Sequence[str], columns: Sequence[str], rows: int) -> None:
        self._paths = paths
        self._columns = list(columns)
        self._rows = rows

    @property
    def rows(self) -> int:
        return self._rows

    def select(self, equal: Mapping[int, CellValue], most: int) -> list[Fact] | None:
        if self._rows <= MOST_IN_MEMORY:
            return self._in_memory.select(equal, most)
        return ArrowShelf(self._read(equal)).select({}, most)

    def scan(self, equal: Mapping[int, CellValue]) -> Iterator[Fact]:
        if self._rows <= MOST_IN_MEMORY:
            return self._in_memory.scan(equal)
        return ArrowShelf(self._read(equal)).scan({})

    @cached_property
    def _in_memory(self) -> ArrowShelf:
        return ArrowShelf(self._read({}))

    def _read(self, equal: Mapping[int, CellValue]) -> pa.Table:
        # Files of one relation may hold ints of different widths, so that each has its own schema.
        tables = [self._read_file(path, equal) for path in self._paths]
        return pa.concat_tables(tables, promote_options="permissive")

    def _read_file(self, path: str, equal: Mapping[int, CellValue]) -> pa.Table:
        import pyarrow.dataset as ds  # brings pandas along

        file = ds.dataset(path, format="parquet")
        conditions = []
        for column, value in equal.items():
            name = self._columns[column]
            known = value_in(file.schema.field(name).type, value)
            if known is None:
                return file.schema.empty_table().select(self._columns)
            conditions.append(pc.field(name) == known)
        chosen = reduce(lambda one, other: one & other, conditions) if conditions else None
        return file.to_table(columns=self._columns, filter=chosen)


def value_in(type_: pa.DataType, value: CellValue) -> pa.Scalar | None:
    """Returns the value in the type of a column; None if no row can have it."""
    if isinstance(value, float) and pa.types.is_integer(type_):
        if not value.is_integer():
            return None
        value = int(value)
    if isinstance(value, int) and pa.types.is_floating(type_):
        value = float(value)
    try:
        return pa.scalar(value, type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None
