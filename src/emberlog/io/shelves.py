"""Looks up rows of a relation by the values of some columns, without a join."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping

from emberlog.semantics.model import CellValue, Fact


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
