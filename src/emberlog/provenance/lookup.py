"""Finds facts by the values of some columns, for many questions about few of many facts.

A large relation is never made into Python objects. What has one value in one column is fetched once and kept as a page,
with hash indexes: the facts of a proof have most of their values in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from emberlog.io.facts import in_order
from emberlog.io.shelves import Shelf
from emberlog.semantics.model import CellValue, Fact

SMALL = 20_000
"""Rows of a relation that becomes one page."""
LARGEST_PAGE = 50_000


@dataclass(frozen=True, slots=True)
class Found:
    """Holds the facts that agree with what was asked for, and perhaps some more; at most about `count`."""

    count: int
    facts: Iterable[Fact]


class Page:
    """Holds some facts, each once, with an index for every set of columns that was asked for."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        # In order, so that the same question gets the same answer in every run.
        self.facts = sorted(set(facts), key=in_order)
        self._indexes: dict[tuple[int, ...], dict[Fact, list[Fact]]] = {}

    def find(self, equal: Mapping[int, CellValue]) -> list[Fact]:
        columns = tuple(sorted(equal))
        if columns not in self._indexes:
            index: dict[Fact, list[Fact]] = {}
            for fact in self.facts:
                index.setdefault(tuple([fact[column] for column in columns]), []).append(fact)
            self._indexes[columns] = index
        return self._indexes[columns].get(tuple([equal[column] for column in columns]), [])


class Lookup:
    """Finds facts of one relation."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._whole: Page | None = None
        self._pages: dict[tuple[int, CellValue], Page | None] = {}
        """Pages by column and value; None where there are too many facts for a page."""

    def find(self, equal: Mapping[int, CellValue]) -> Found:
        """Finds the facts with these values in these columns. Null agrees with nothing, and is not asked for."""
        if self._shelf.is_at_hand or self._shelf.rows <= SMALL:
            if self._whole is None:
                self._whole = Page(self._shelf.scan({}))
            found = self._whole.find(equal)
            return Found(len(found), found)
        # Whoever asks compares pairs and lists; columns of them are not made to be searched.
        plain = {column: value for column, value in equal.items() if not isinstance(value, tuple)}
        if not plain:
            return Found(self._shelf.rows, _Scan(self._shelf, {}))
        known = [page for item in plain.items() if (page := self._pages.get(item)) is not None]
        if not known:
            known = [page for item in plain.items() if (page := self._page(item)) is not None]
        if known:
            found = min(known, key=lambda page: len(page.facts)).find(plain)
            return Found(len(found), found)
        return Found(self._shelf.rows, _Scan(self._shelf, plain))

    def _page(self, item: tuple[int, CellValue]) -> Page | None:
        if item not in self._pages:
            rows = self._shelf.select(dict((item,)), LARGEST_PAGE)
            self._pages[item] = None if rows is None else Page(rows)
        return self._pages[item]


@dataclass(frozen=True, slots=True)
class _Scan:
    """Fetches rows when they are looked at."""

    shelf: Shelf
    equal: Mapping[int, CellValue]

    def __iter__(self) -> Iterator[Fact]:
        return self.shelf.scan(self.equal)
