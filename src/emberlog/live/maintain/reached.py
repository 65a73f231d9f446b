"""Holds pairs of a row and a column as a matrix of levels, with the arcs that lead from column to column."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from emberlog.deadline import check_time
from emberlog.live.maintain.reach_kernels import Arcs, Codes, Journal, Levels, relink, settle
from emberlog.live.searches.facts import Key

Pair: TypeAlias = tuple[Key, Key]
"""A row and a column; of an arc the column that it leaves, and the one that it enters."""

_CELLS_AT_A_TIME = 1 << 24
"""After which the clock is looked at."""


@dataclass(slots=True)
class _Numbers:
    """Numbers the keys of rows, or of columns."""

    numbers: dict[Key, int] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)

    def of(self, key: Key) -> int:
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.keys)
            self.keys.append(key)
        return number

    def keep(self, used: Sequence[int]) -> None:
        """Numbers anew those that are used, in their order."""
        self.keys = [self.keys[number] for number in used]
        self.numbers = {key: number for number, key in enumerate(self.keys)}


@dataclass(frozen=True, slots=True)
class Changes:
    """Holds seeds and arcs that there were and no longer are, and new ones."""

    lost_seeds: Collection[Pair]
    new_seeds: Collection[Pair]
    lost_arcs: Collection[Pair]
    new_arcs: Collection[Pair]


class Reached(Collection[Pair]):
    """Holds which columns are reached in each row: the seeds, and where arcs lead from there."""

    def __init__(self) -> None:
        self._rows, self._columns = _Numbers(), _Numbers()
        self._levels: Levels = np.zeros((0, 0), np.int32)
        self._arcs = Arcs(*(np.full(0, -1, np.int32) for _ in Arcs._fields))
        self._arc_of: dict[Pair, int] = {}
        self._free: list[int] = []
        self._count = 0
        self.highest = 0
        """The highest level of a fact that came in the last transaction."""
        self._journals: list[Journal] = []
        self._less = self._more = 0
        self._relinked: tuple[dict[Pair, int], dict[Pair, int]] = ({}, {})
        """The arcs that the transaction took out, and those that it put in."""

    # --- what is there ----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._count

    def __contains__(self, pair: object) -> bool:
        if not isinstance(pair, tuple):
            return False
        row, column = self._rows.numbers.get(pair[0]), self._columns.numbers.get(pair[1])
        return row is not None and column is not None and bool(self._levels[column, row] > 0)

    def __iter__(self) -> Iterator[Pair]:
        return (pair for pair, _ in self.levels())

    def levels(self) -> Iterator[tuple[Pair, int]]:
        """Yields all pairs with their levels."""
        for column, of_column in zip(self._columns.keys, self._levels, strict=False):
            rows = np.flatnonzero(of_column > 0)
            for row, level in zip(rows.tolist(), of_column[rows].tolist(), strict=True):
                yield (self._rows.keys[row], column), level

    @property
    def come(self) -> list[Pair]:
        """The pairs that the transaction added."""
        return [] if not self._more else self._pairs(one.come[one.come_levels == 0] for one in self._journals)

    @property
    def gone(self) -> list[Pair]:
        """The pairs that it took away."""
        return [] if not self._less else self._pairs(map(self._gone_of, self._journals))

    def _gone_of(self, journal: Journal) -> Codes:
        gone: Codes = journal.gone[self._levels.reshape(-1)[journal.gone] < 0]
        return gone

    def _pairs(self, codes: Iterable[Codes]) -> list[Pair]:
        rows, columns = self._rows.keys, self._columns.keys
        width = self._levels.shape[1]
        return [(rows[code % width], columns[code // width]) for some in codes for code in some.tolist()]

    # --- room -------------------------------------------------------------------------------------------------------

    def cells_with(self, changes: Changes) -> int:
        """Returns how many cells the matrix will have, if these changes take place."""
        rows, columns = self._unknown(changes)
        return (len(self._rows.keys) + rows) * (len(self._columns.keys) + columns)

    def _unknown(self, changes: Changes) -> tuple[int, int]:
        rows, columns = self._rows.numbers, self._columns.numbers
        new_rows = {row for row, _ in changes.new_seeds if row not in rows}
        new_columns = {column for _, column in changes.new_seeds if column not in columns}
        for arc in changes.new_arcs:
            new_columns.update(end for end in arc if end not in columns)
        return len(new_rows), len(new_columns)

    def make_room(self, changes: Changes) -> None:
        """Lets the matrix have room for what is new. To grow, it leaves out empty rows and columns."""
        rows, columns = self._unknown(changes)
        height, width = self._levels.shape
        if len(self._rows.keys) + rows > width or len(self._columns.keys) + columns > height:
            self._grow(rows, columns)
        missing = len(self._arc_of) + len(changes.new_arcs) - len(self._arcs.sources)
        if missing > 0:
            more = np.full(max(64, missing, len(self._arcs.sources) // 2), -1, np.int32)
            self._free.extend(range(len(self._arcs.sources) + len(more) - 1, len(self._arcs.sources) - 1, -1))
            by_arc = [name for name in Arcs._fields if name not in ("first_out", "first_in")]
            self._arcs = self._arcs._replace(**{name: np.append(getattr(self._arcs, name), more) for name in by_arc})

    def _grow(self, rows: int, columns: int) -> None:
        is_there = self._levels > 0
        arcs = self._arcs
        used_rows = np.flatnonzero(is_there.any(axis=0))
        used_columns = np.flatnonzero(is_there.any(axis=1) | (arcs.first_out >= 0) | (arcs.first_in >= 0))
        rows, columns = rows + len(used_rows), columns + len(used_columns)
        levels = np.zeros((columns + max(64, columns // 4), rows + max(64, rows // 4)), np.int32)
        levels[: len(used_columns), : len(used_rows)] = self._levels[np.ix_(used_columns, used_rows)]
        new_number = np.full(len(self._levels), -1, np.int32)
        new_number[used_columns] = np.arange(len(used_columns))
        heads = [np.full(len(levels), -1, np.int32) for _ in range(2)]
        for head, old in zip(heads, (arcs.first_out, arcs.first_in), strict=True):
            head[: len(used_columns)] = old[used_columns]
        if len(new_number):
            arcs = arcs._replace(sources=new_number[arcs.sources], targets=new_number[arcs.targets])
        self._arcs = arcs._replace(first_out=heads[0], first_in=heads[1])
        self._levels = levels
        self._rows.keep(used_rows.tolist())
        self._columns.keep(used_columns.tolist())

    # --- a transaction ----------------------------------------------------------------------------------------------

    def update(self, changes: Changes) -> None:
        """Follows changes; there must be room for them."""
        lost = {arc: self._arc_of.pop(arc) for arc in changes.lost_arcs}
        new = {}
        for arc in changes.new_arcs:
            number = new[arc] = self._arc_of[arc] = self._free.pop()
            self._arcs.sources[number] = self._columns.of(arc[0])
            self._arcs.targets[number] = self._columns.of(arc[1])
        self._relinked = lost, new
        lost_arcs, new_arcs = _array(lost.values()), _array(new.values())
        relink(self._arcs, lost_arcs, new_arcs)
        lost_seeds, new_seeds = self._codes(changes.lost_seeds), self._codes(changes.new_seeds)
        width, used = self._levels.shape[1], len(self._rows.keys)
        self.highest = 0
        step = max(64, _CELLS_AT_A_TIME // max(1, len(self._columns.keys)))
        for first in range(0, used, step):
            seeds = (lost_seeds, new_seeds)
            if used > step:
                check_time("bringing a recursion up to date")
                seeds = tuple(one[(first <= one % width) & (one % width < first + step)] for one in seeds)
            journal, less, more, highest = settle(
                self._levels, self._arcs, lost_arcs, new_arcs, *seeds, first, min(used, first + step)
            )
            self._journals.append(journal)
            self._less += less
            self._more += more
            self._count += more - less
            self.highest = max(self.highest, highest)

    def _codes(self, pairs: Iterable[Pair]) -> Codes:
        width, row_of, column_of = self._levels.shape[1], self._rows.of, self._columns.of
        return np.array([column_of(column) * width + row_of(row) for row, column in pairs], np.int64)

    def commit(self) -> None:
        if self._less:
            cells = self._levels.reshape(-1)
            for journal in self._journals:
                cells[self._gone_of(journal)] = 0
        self._free.extend(self._relinked[0].values())
        self._forget()

    def abort(self) -> None:
        cells = self._levels.reshape(-1)
        for journal in self._journals:
            cells[journal.come] = journal.come_levels
            cells[journal.gone] = journal.gone_levels
        lost, new = self._relinked
        relink(self._arcs, _array(new.values()), _array(lost.values()))
        for arc in new:
            del self._arc_of[arc]
        self._arc_of |= lost
        self._free.extend(new.values())
        self._count += self._less - self._more
        self._forget()

    def _forget(self) -> None:
        self._journals.clear()
        self._less = self._more = 0
        self._relinked = ({}, {})


def _array(numbers: Collection[int]) -> Levels:
    return np.fromiter(numbers, np.int32, len(numbers))
