"""Holds a relation in this process, which a local run reads or gives: as facts, as a table of Arrow, or as both."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.datatypes import FIRST, SECOND, DataType
from emberlog.io.arrow_values import is_shown_otherwise, known_type, repeated_rows, shown_column, table_of
from emberlog.io.facts import in_order
from emberlog.io.matching import chosen_places
from emberlog.io.sampling import statistics_of_facts, statistics_of_table
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import CellValue, Fact
from emberlog.shown import Shown
from emberlog.text_widths import SHORTENED, table_lines, terminal_width, width_of

_MANY = 10_000
"""Rows above which a table is not made into facts just to show some of them."""


class Later:
    """Holds a table that is made when somebody reads it, and whose rows are counted."""

    def __init__(self, count: int, make: Callable[[], pa.Table]) -> None:
        self.count = count
        self._make: Callable[[], pa.Table] | None = make
        self._table: pa.Table | None = None
        self._lock = Lock()

    @property
    def table(self) -> pa.Table:
        with self._lock:
            if self._make is not None:
                self._table, self._make = self._make(), None
            return self._table


class LocalRelation(Shown):
    """Holds the rows of a relation. Inside, moments and durations are ints and pairs tuples; for people they are what
    Python and Arrow call so."""

    def __init__(
        self,
        names: Sequence[str],
        types: Sequence[DataType],
        data: Collection[Fact] | pa.Table | Later,
        *,
        plain_times: bool = False,
    ) -> None:
        self._names = list(names)
        self.types = tuple(types)
        self.plain_times = plain_times
        """Whether moments came as numbers, and are shown as such."""
        self._repeated: int | None = None
        self._statistics: RelationStatistics | None = None
        self._facts: frozenset[Fact] | None = None
        self._table: pa.Table | None = None
        self._later: Later | None = None
        """A table without nulls that nobody has read yet."""
        if isinstance(data, pa.Table):
            self._table = data.rename_columns(self._names)
        elif isinstance(data, Later):
            self._later = data
        else:
            self._facts = frozenset(data)
            self._repeated = len(data) - len(self._facts)

    # --- inside -----------------------------------------------------------------------------------------------------

    @property
    def facts(self) -> frozenset[Fact]:
        if self._facts is None:
            assert self.is_table
            self._facts = frozenset(facts_of_table(self.table))
        return self._facts

    @property
    def table(self) -> pa.Table:
        """Returns the rows as a table, which may hold one twice if it came from outside."""
        later = self._later  # another thread may have read it meanwhile
        if later is not None:
            self._table, self._later = later.table.rename_columns(self._names), None
        if self._table is None:
            rows = list(self.facts)
            types = [known_type(type_, [row[i] for row in rows]) for i, type_ in enumerate(self.types)]
            self._table = table_of(self._names, types, rows)
        return self._table

    @property
    def repeated(self) -> int | None:
        """Returns how many of the rows that came from outside were there already; None if it costs too much."""
        if self._repeated is None:
            self._repeated = repeated_rows(self.table)
        return self._repeated

    @property
    def is_known_set(self) -> bool:
        """Tells whether somebody has found that no row is there twice."""
        return self._repeated == 0

    @property
    def statistics(self) -> RelationStatistics:
        """Returns how many rows it has, and how many values each column."""
        if self._statistics is None:
            is_table = self.is_table and self.types
            self._statistics = (
                statistics_of_table(self.table) if is_table else statistics_of_facts(self.facts, len(self.types))
            )
        return self._statistics

    @property
    def has_nulls(self) -> bool:
        return bool(self.columns_with_nulls)

    @property
    def columns_with_nulls(self) -> frozenset[int]:
        """Returns the places of columns that have nulls."""
        if self._later is not None:
            return frozenset()
        if self._table is not None:
            return frozenset(place for place, column in enumerate(self._table.columns) if column.null_count)
        return frozenset(
            place for fact in self.facts if None in fact for place, cell in enumerate(fact) if cell is None
        )

    @property
    def is_table(self) -> bool:
        """Tells whether it is a table, be it one that nobody has read yet."""
        return self._table is not None or self._later is not None

    def first(self, count: int) -> list[Fact]:
        """Returns the first facts in order, null before everything else; moments are microseconds."""
        if count <= 0:
            return []
        if self._facts is None and self.table.num_rows > _MANY and not any(type_.parts for type_ in self.types):
            keys = [(name, "ascending") for name in self._names]
            smallest = pc.select_k_unstable(self.table, min(count, self.table.num_rows), keys)
            return sorted(facts_of_table(self.table.take(smallest)), key=in_order)
        return heapq.nsmallest(count, self.facts, key=in_order)

    def renamed(self, names: Sequence[str]) -> LocalRelation:
        if self._names == list(names):
            return self
        renamed = LocalRelation(names, self.types, self._data)
        renamed._repeated = self._repeated
        return renamed

    def selected(self, places: Sequence[int]) -> LocalRelation:
        """Returns the columns at these places, in this order."""
        names, types = [self._names[place] for place in places], [self.types[place] for place in places]
        if list(places) == list(range(len(self._names))):
            return self
        if self.is_table:
            return LocalRelation(names, types, self.table.select(list(places)), plain_times=self.plain_times)
        facts = [tuple(fact[place] for place in places) for fact in self.facts]
        selected = LocalRelation(names, types, facts, plain_times=self.plain_times)
        selected._repeated = (self._repeated or 0) + (selected._repeated or 0)
        return selected

    def without_last_column(self) -> LocalRelation:
        """Returns the same rows but for their last column, without a copy of a table."""
        names = self._names[:-1]
        return LocalRelation(names, self.types[:-1], self.table.select(range(len(names))))

    def with_times(self, *, plain: bool) -> LocalRelation:
        return LocalRelation(self._names, self.types, self._data, plain_times=plain)

    @property
    def _data(self) -> frozenset[Fact] | pa.Table | Later:
        later = self._later
        if later is not None:
            return later
        return self.facts if self._table is None else self._table

    # --- for people -------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        return list(self._names)

    def count(self) -> int:
        return len(self)

    def to_arrow(self) -> pa.Table:
        """Returns the rows as a table of Arrow."""
        columns = [
            shown_column(column, type_, plain_times=self.plain_times)
            for column, type_ in zip(self.table.columns, self.types, strict=True)
        ]
        return pa.table(columns, names=self._names)

    def to_pandas(self) -> Any:
        """Returns the rows as a DataFrame of pandas."""
        return self.to_arrow().to_pandas()

    toPandas = to_pandas  # as Spark calls it

    def sort(self, *columns: str, ascending: bool = True) -> LocalRelation:
        """Returns the rows in the order of the columns that are named, or of all; null comes first."""
        places = [self._place(name) for name in columns] or list(range(len(self._names)))
        rows = sorted(
            facts_of_table(self.table),
            key=lambda row: in_order(tuple(row[place] for place in places)),
            reverse=not ascending,
        )
        return self._of_rows(rows)

    def head(self, count: int = 5) -> LocalRelation:
        """Returns the first rows: in order, or as they were sorted."""
        if self._facts is None:
            return LocalRelation(self._names, self.types, self.table.slice(0, count), plain_times=self.plain_times)
        return self._of_rows(self.first(count))

    def some(self, count: int) -> list[tuple[Any, ...]]:
        """Returns a few rows, in order if that takes no time; to look at, not to count on."""
        if self._facts is None or not self.types:
            return self.head(count).collect()
        facts = self.first(count) if len(self._facts) <= _MANY else list(islice(self._facts, count))
        return list(facts_of_table(self._of_rows(facts).to_arrow()))

    def filter(self, condition: Callable[[tuple[Any, ...]], bool] | None = None, **equal: object) -> LocalRelation:
        """Returns the rows for which a function of the row is true, and whose columns have the values given:
        `filter(X=1)`, `filter(lambda row: row[0] < row[1])`."""
        wanted = {self._place(name): value for name, value in equal.items()}
        chosen = [
            number
            for number, row in enumerate(facts_of_table(self.to_arrow()))
            if all(row[place] == value for place, value in wanted.items()) and (condition is None or condition(row))
        ]
        table = self.table.take(pa.array(chosen, pa.int64()))
        return LocalRelation(self._names, self.types, table, plain_times=self.plain_times)

    def show(self, count: int = 20) -> None:
        """Prints the first rows as a table."""
        rows = [[str(value) for value in row] for row in self.head(count).collect()]
        widths = [max(map(width_of, cells)) for cells in zip(self._names, *rows, strict=True)]
        table = (self._names, ["-" * width for width in widths], *rows)
        lines, is_cut = table_lines(table, [False] * len(widths), width=terminal_width(sys.stdout))
        print("\n".join((*lines, *([SHORTENED] if is_cut else []))))
        if len(self) > count:
            print(f"… and {len(self) - count:,} more")

    def _place(self, name: str) -> int:
        return chosen_places("the relation", self._names, [name])[0]

    def _of_rows(self, rows: Sequence[Fact]) -> LocalRelation:
        """Returns a relation whose rows stay in this order."""
        types = [known_type(type_, [row[i] for row in rows]) for i, type_ in enumerate(self.types)]
        return LocalRelation(self._names, types, table_of(self._names, types, rows), plain_times=self.plain_times)

    def collect(self) -> list[tuple[Any, ...]]:
        """Returns the rows as tuples, in no particular order."""
        if not self.types:
            return list(self.facts)
        is_otherwise = any(is_shown_otherwise(type_, plain_times=self.plain_times) for type_ in self.types)
        if not self.is_table and self._facts is not None and not is_otherwise:
            return list(self._facts)
        return list(facts_of_table(self.to_arrow()))

    def __len__(self) -> int:
        later = self._later
        if later is not None:
            return later.count
        return len(self._facts) if self._facts is not None else self.table.num_rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.collect())

    @property
    def header(self) -> str:
        """`X: int, Y: string`"""
        return ", ".join(f"{name}: {type_}" for name, type_ in zip(self._names, self.types, strict=True))

    def __repr__(self) -> str:
        return f"LocalRelation({self.header}; {len(self):,} row{'' if len(self) == 1 else 's'})"


def facts_of_table(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(map(cell_of, column.to_pylist()) for column in table.columns), strict=True)


def cell_of(value: Any) -> CellValue:
    """Returns a value of a table, as facts have it."""
    match value:
        case dict():
            return tuple(cell_of(value[part]) for part in (FIRST, SECOND))
        case list():
            return tuple(map(cell_of, value))
        case _:
            return value  # type: ignore[no-any-return]
