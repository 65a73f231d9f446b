"""Aggregates as accumulators: contributions go in one by one, in any order, and the value can be asked for at any time.

A contribution in which an argument is null is left out, as in SQL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from emberlog.datatypes import FLOAT
from emberlog.executors.interpreter_faults import Fault
from emberlog.executors.interpreter_functions import in_range
from emberlog.executors.interpreter_registered import registered_aggregate
from emberlog.logical.nodes import AggregateColumn
from emberlog.semantics.functions import Functions
from emberlog.semantics.model import CellValue, Fact


class Accumulator(Protocol):
    def add(self, *arguments: Any) -> None: ...

    def value(self) -> CellValue: ...


class _Count:
    def __init__(self) -> None:
        self.count = 0

    def add(self, *_arguments: Any) -> None:
        self.count += 1

    def value(self) -> CellValue:
        return self.count


class _CountDifferent:
    def __init__(self) -> None:
        self.seen: set[CellValue] = set()

    def add(self, argument: Any) -> None:
        self.seen.add(argument)

    def value(self) -> CellValue:
        return len(self.seen)


class _Collect:
    def __init__(self) -> None:
        self.items: list[Any] = []

    def add(self, argument: Any) -> None:
        self.items.append(argument)

    def value(self) -> CellValue:
        return tuple(sorted(self.items))


class _Sum(_Collect):
    def value(self) -> CellValue:
        return in_range(exact_sum(self.items)) if self.items else None


class _Average(_Collect):
    def value(self) -> CellValue:
        return float(in_range(exact_sum(self.items) / len(self.items))) if self.items else None


class _Best:
    """Keeps the contribution that is better than all others."""

    def __init__(self, is_better: Callable[[Any, Any], bool]) -> None:
        self.is_better = is_better
        self.best: Any = None

    def add(self, *arguments: Any) -> None:
        if self.best is None or self.is_better(arguments, self.best):
            self.best = arguments

    def value(self) -> CellValue:
        return None if self.best is None else self.best[-1]


def _has_smaller_cost(one: Any, other: Any) -> bool:
    return (one[0], one[1]) < (other[0], other[1])


def _has_larger_cost(one: Any, other: Any) -> bool:
    return bool(one[1] < other[1] if one[0] == other[0] else one[0] > other[0])


class _SumOverKeys:
    """The largest value of each key counts, once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.largest: dict[CellValue, Any] = {}

    def add(self, key: Any, value: Any = 1) -> None:
        if key not in self.largest or value > self.largest[key]:
            self.largest[key] = value

    def value(self) -> CellValue:
        if not self.largest and self.name == "msum":
            return None
        return in_range(exact_sum(self.largest.values()))


def exact_sum(numbers: Iterable[Any]) -> Any:
    """Does not depend on the order: ints have no limit here, and floats are rounded once, at the end."""
    numbers = list(numbers)
    if any(type(number) is float for number in numbers):
        try:
            return math.fsum(numbers)
        except OverflowError:
            return math.inf
    return sum(numbers)


_ACCUMULATORS: Mapping[str, Callable[[], Accumulator]] = {
    "count": _Count,
    "countd": _CountDifferent,
    "sum": _Sum,
    "avg": _Average,
    "min": lambda: _Best(lambda one, other: one[0] < other[0]),
    "max": lambda: _Best(lambda one, other: one[0] > other[0]),
    "mmin": lambda: _Best(lambda one, other: one[0] < other[0]),
    "mmax": lambda: _Best(lambda one, other: one[0] > other[0]),
    "mcount": lambda: _SumOverKeys("mcount"),
    "msum": lambda: _SumOverKeys("msum"),
    "argmin": lambda: _Best(_has_smaller_cost),
    "argmax": lambda: _Best(_has_larger_cost),
    "collect": _Collect,
    "any": lambda: _Best(lambda one, other: one[0] and not other[0]),
    "all": lambda: _Best(lambda one, other: other[0] and not one[0]),
}


class _Registered(_Collect):
    """A function of the sorted list of all values."""

    def __init__(self, function: Callable[..., CellValue]) -> None:
        super().__init__()
        self.function = function

    def value(self) -> CellValue:
        return self.function(sorted(self.items)) if self.items else None


def _accumulator(name: str, functions: Functions) -> Callable[[], Accumulator]:
    registered = registered_aggregate(functions, name)
    return _ACCUMULATORS[name] if registered is None else lambda: _Registered(registered)


_COUNTS = ("count", "countd", "mcount")


class Groups:
    """The accumulators of every group of an aggregated relation."""

    def __init__(
        self,
        columns: Sequence[str],
        keys: Sequence[str],
        aggregates: Sequence[AggregateColumn],
        functions: Functions,
    ) -> None:
        self._keys = [columns.index(key) for key in keys]
        self._aggregates = [
            (aggregate.function, [columns.index(argument) for argument in aggregate.arguments])
            for aggregate in aggregates
        ]
        self._is_float = [aggregate.field.type == FLOAT for aggregate in aggregates]
        self._new = [_accumulator(aggregate.function, functions) for aggregate in aggregates]
        self._groups: dict[Fact, list[Accumulator]] = {}
        if not keys and all(function in _COUNTS for function, _ in self._aggregates):
            self._group(())  # the count of nothing at all is 0

    def _group(self, key: Fact) -> list[Accumulator]:
        if key not in self._groups:
            self._groups[key] = [new() for new in self._new]
        return self._groups[key]

    def add(self, row: Fact) -> Fact:
        """Takes a contribution; gives the key of its group."""
        key = tuple(row[position] for position in self._keys)
        for accumulator, (function, positions) in zip(self._group(key), self._aggregates, strict=True):
            arguments = [row[position] for position in positions]
            if function in ("mcount", "msum") and len(arguments) == 2:
                _check_not_negative(function, arguments[1])
            if None not in arguments:
                accumulator.add(*arguments)
        return key

    @property
    def keys(self) -> Iterable[Fact]:
        return self._groups.keys()

    def row(self, key: Fact) -> Fact:
        """The keys of a group, then the values of its aggregates."""
        values = (accumulator.value() for accumulator in self._groups[key])
        return key + tuple(
            # The 0 of a count that adds up floats is a float too.
            float(value) if is_float and isinstance(value, int) else value
            for value, is_float in zip(values, self._is_float, strict=True)
        )


def _check_not_negative(function: str, amount: CellValue) -> None:
    if isinstance(amount, int | float) and amount < 0:
        raise Fault("DL504", f"{function} of a negative value", f"the value is {amount:,}; {function} can only grow")
