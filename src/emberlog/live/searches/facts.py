"""Keeps the facts of a relation from transaction to transaction: as they are, as they were, and what is in between.

While a transaction is under way, what goes is set aside, and what comes is marked. So a reader has the facts of after
(all rows), those of before (without what comes, and with what is set aside), and those of both (without what comes).
To abort means to drop what came and to put back what was set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum
from operator import itemgetter
from typing import Any, TypeAlias

from emberlog.semantics.model import Fact

Key: TypeAlias = Any
"""The values in some columns: the value itself if there is one."""
Index: TypeAlias = dict[Key, set[Fact]]


class State(Enum):
    """Which facts of a relation that changes are read."""

    OLD = "before the transaction"
    NEW = "after the transaction"
    KEPT = "before and after it"


class Facts:
    """Holds the facts of one relation with a number each, and hash indexes over the columns that rules ask for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rows: dict[Fact, int] = {}
        self._packed: Collection[Fact] | None = None
        """What holds the facts of after, as long as nobody asks for rows."""
        self.come: set[Fact] = set()
        """Those that were not there before."""
        self.gone: dict[Fact, int] = {}
        """Those of before that are not there any more."""
        self._numbers: dict[Fact, int] = {}
        """Of facts of before, the number that they had then, if it is another one now."""
        self._indexes: dict[tuple[int, ...], tuple[Callable[[Fact], Key], Index, Index]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Fact]:
        """Yields the facts of after."""
        return iter(self._held)

    def has(self, fact: Fact) -> bool:
        """Tells whether the fact is there after the transaction."""
        return fact in self._held

    @property
    def _held(self) -> Collection[Fact]:
        return self._rows if self._packed is None else self._packed

    @property
    def rows(self) -> dict[Fact, int]:
        """The facts of after. The number is how often an input has the fact, how many derivations it has, or its
        rank."""
        if self._packed is not None:
            self._rows.update(dict.fromkeys(self._packed, 0))
            self._packed = None
        return self._rows

    def keep_in(self, packed: Collection[Fact]) -> None:
        """Lets something else hold the facts, until somebody asks for rows or an index."""
        self._packed = packed

    def follow(self, come: Iterable[Fact], gone: Iterable[Fact]) -> None:
        """Takes note of what has come and gone where the facts are held."""
        if self._packed is not None:
            self.come.update(come)
            self.gone.update(dict.fromkeys(gone, 0))
            return
        for fact in gone:
            self.remove(fact)
        for fact in come:
            self.add(fact, 0)

    @property
    def is_changed(self) -> bool:
        return bool(self.come or self.gone)

    def index(self, places: Sequence[int]) -> tuple[Index, Index]:
        """Returns the rows by their values in some columns, nulls included, and in the same way those that are gone.
        Both stay up to date."""
        wanted = tuple(places)
        if wanted not in self._indexes:
            key = key_of(wanted)
            self._indexes[wanted] = key, _indexed(self.rows, key), _indexed(self.gone, key)
        _, rows, gone = self._indexes[wanted]
        return rows, gone

    def add(self, fact: Fact, number: int) -> None:
        """Lets a fact come, or come back, with a number."""
        if fact in self.gone:
            self._numbers.setdefault(fact, self.gone.pop(fact))
            for key, index, gone in self._indexes.values():
                _take(gone, key(fact), fact)
                index.setdefault(key(fact), set()).add(fact)
        else:
            self.come.add(fact)
            for key, index, _ in self._indexes.values():
                index.setdefault(key(fact), set()).add(fact)
        self._rows[fact] = number

    def remove(self, fact: Fact) -> None:
        """Lets a fact go. One that came in this transaction has never been there."""
        number = self._rows.pop(fact)
        if fact in self.come:
            self.come.discard(fact)
            for key, index, _ in self._indexes.values():
                _take(index, key(fact), fact)
        else:
            self.gone[fact] = number
            for key, index, gone in self._indexes.values():
                _take(index, key(fact), fact)
                gone.setdefault(key(fact), set()).add(fact)

    def renumber(self, fact: Fact, number: int) -> None:
        if fact not in self.come:
            self._numbers.setdefault(fact, self._rows[fact])
        self._rows[fact] = number

    def commit(self) -> None:
        self._forget()

    def abort(self) -> None:
        if self._packed is not None:  # what holds the facts takes back its own
            self._forget()
            return
        for fact in list(self.come):
            self.remove(fact)
        for fact in list(self.gone):
            self.add(fact, self.gone[fact])
        self._rows.update(self._numbers)
        self._forget()

    def _forget(self) -> None:
        self.come.clear()  # the same containers stay, as compiled rules hold them
        self.gone.clear()
        self._numbers.clear()
        for _, _, gone in self._indexes.values():
            gone.clear()


class Relations(dict[str, Facts]):
    """Holds the facts of relations, which are empty at first."""

    def __missing__(self, name: str) -> Facts:
        self[name] = Facts(name)
        return self[name]


def _indexed(rows: Iterable[Fact], key: Callable[[Fact], Key]) -> Index:
    found: Index = {}
    for fact in rows:
        found.setdefault(key(fact), set()).add(fact)
    return found


def _take(index: Index, key: Key, fact: Fact) -> None:
    bucket = index[key]
    bucket.discard(fact)
    if not bucket:
        del index[key]


def key_of(places: Sequence[int]) -> Callable[[Any], Key]:
    """Returns what reads the values at some places: the value itself if there is one place."""
    return itemgetter(*places) if places else lambda _row: ()
