"""Groups contributions: one accumulator for each aggregate of a group, into which they go one by one, in any order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from emberlog.datatypes import FLOAT
from emberlog.language.aggregates import Accumulator
from emberlog.language.registry import Functions
from emberlog.logical.nodes import AggregateColumn
from emberlog.semantics.model import Fact


class Groups:
    """Holds the accumulators of every group of an aggregated relation."""

    def __init__(
        self,
        columns: Sequence[str],
        keys: Sequence[str],
        aggregates: Sequence[AggregateColumn],
        functions: Functions,
    ) -> None:
        self._keys = [columns.index(key) for key in keys]
        self._aggregates = [
            (functions.aggregates[one.function], [columns.index(argument) for argument in one.arguments])
            for one in aggregates
        ]
        self._is_float = [one.field.type == FLOAT for one in aggregates]
        self._groups: dict[Fact, list[Accumulator]] = {}
        if not keys and all(function.is_count for function, _ in self._aggregates):
            self._group(())  # the count of nothing at all is 0

    def _group(self, key: Fact) -> list[Accumulator]:
        if key not in self._groups:
            self._groups[key] = [function.python() for function, _ in self._aggregates]
        return self._groups[key]

    def add(self, row: Fact) -> Fact:
        """Takes a contribution; gives the key of its group."""
        key = tuple(row[position] for position in self._keys)
        for accumulator, (function, positions) in zip(self._group(key), self._aggregates, strict=True):
            arguments = [row[position] for position in positions]
            function.check(arguments)
            if None not in arguments:
                accumulator.add(*arguments)
        return key

    @property
    def keys(self) -> Iterable[Fact]:
        return self._groups.keys()

    def row(self, key: Fact) -> Fact:
        """Returns the keys of a group, then the values of its aggregates."""
        values = (accumulator.value() for accumulator in self._groups[key])
        return key + tuple(
            # The 0 of a count that adds up floats is a float too.
            float(value) if is_float and isinstance(value, int) else value
            for value, is_float in zip(values, self._is_float, strict=True)
        )
