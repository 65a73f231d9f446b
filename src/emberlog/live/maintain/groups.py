"""Keeps the contributions to the groups of an aggregated relation, so that one can be taken back.

A count and a sum of ints are numbers. A sum of floats is a whole number of the smallest float, so it is exact and has
the value of the language, which is rounded once. The smallest and the largest contribution come from a sorted list.
Whatever else there is has its contributions with their numbers, and the value of a group that changes is computed anew.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from emberlog.language.aggregates import Aggregate
from emberlog.language.values import CellValue, in_range
from emberlog.semantics.model import Fact

_SMALLEST = 1074
"""2 to the power of minus this is the smallest float."""


class Bag(ABC):
    """Holds the contributions to one column of one group; those with a null are left out."""

    @abstractmethod
    def add(self, arguments: Fact, times: int) -> None:
        """Puts a contribution in so many times, or takes it out if `times` is negative."""

    @abstractmethod
    def value(self) -> CellValue: ...


class _Count(Bag):
    def __init__(self) -> None:
        self.count = 0

    def add(self, arguments: Fact, times: int) -> None:
        self.count += times

    def value(self) -> CellValue:
        return self.count


class _Sum(Bag):
    """Adds up ints, or floats as multiples of the smallest float."""

    def __init__(self) -> None:
        self.count = 0
        self.floats = 0
        self.total = 0

    def add(self, arguments: Fact, times: int) -> None:
        number: Any = arguments[0]
        self.count += times
        if type(number) is float:
            self.floats += times
            above, below = number.as_integer_ratio()
            self.total += times * (above << (_SMALLEST + 1 - below.bit_length()))
        else:
            self.total += times * (number << _SMALLEST)

    def value(self) -> CellValue:
        return in_range(self.exact()) if self.count else None

    def exact(self) -> int | float:
        if not self.floats:
            return self.total >> _SMALLEST
        try:
            return self.total / (1 << _SMALLEST)  # which Python rounds once
        except OverflowError:
            return math.inf


class _Whole(Bag):
    """Adds up ints."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0

    def add(self, arguments: Fact, times: int) -> None:
        self.count += times
        number: Any = arguments[0]
        self.total += times * number

    def value(self) -> CellValue:
        return in_range(self.total) if self.count else None


class _Average(_Sum):
    def value(self) -> CellValue:
        return float(in_range(self.exact() / self.count)) if self.count else None


class _Different(Bag):
    def __init__(self) -> None:
        self.times: Counter[CellValue] = Counter()

    def add(self, arguments: Fact, times: int) -> None:
        self.times[arguments[0]] += times
        if not self.times[arguments[0]]:
            del self.times[arguments[0]]

    def value(self) -> CellValue:
        return len(self.times)


class _Sorted(Bag):
    """Holds contributions in order, each once beside its number."""

    def __init__(self, choose: Callable[[list[Any]], Any]) -> None:
        self.times: Counter[Fact] = Counter()
        self.sorted: list[Fact] = []
        self.choose = choose

    def add(self, arguments: Fact, times: int) -> None:
        before = self.times[arguments]
        self.times[arguments] = before + times
        if not before:
            insort(self.sorted, arguments)
        elif not before + times:
            del self.times[arguments]
            del self.sorted[bisect_left(self.sorted, arguments)]

    def value(self) -> CellValue:
        return self.choose(self.sorted)[-1] if self.times else None


class _Anew(Bag):
    """Holds contributions with their numbers, of which the value is computed anew."""

    def __init__(self, function: Aggregate) -> None:
        self.function = function
        self.times: Counter[Fact] = Counter()

    def add(self, arguments: Fact, times: int) -> None:
        self.times[arguments] += times
        if not self.times[arguments]:
            del self.times[arguments]

    def value(self) -> CellValue:
        return self.function.of(self.times.elements())


def _first(sorted_: list[Any]) -> Any:
    return sorted_[0]


def _last(sorted_: list[Any]) -> Any:
    return sorted_[-1]


def _dearest(sorted_: list[Any]) -> Any:
    """Returns the first of the contributions with the highest cost."""
    return sorted_[bisect_left(sorted_, sorted_[-1][:1])]


_BY_CHANGES: dict[str, Callable[[], Bag]] = {
    "count": _Count,
    "countd": _Different,
    "sum": _Sum,
    "avg": _Average,
    "min": lambda: _Sorted(_first),
    "mmin": lambda: _Sorted(_first),
    "all": lambda: _Sorted(_first),
    "argmin": lambda: _Sorted(_first),
    "max": lambda: _Sorted(_last),
    "mmax": lambda: _Sorted(_last),
    "any": lambda: _Sorted(_last),
    "argmax": lambda: _Sorted(_dearest),
}


def is_by_changes(function: Aggregate) -> bool:
    """Tells whether the value of a group follows from what changes in it; otherwise it is computed anew."""
    return not function.is_registered and function.name in _BY_CHANGES


def bag_of(function: Aggregate, *, is_whole: bool) -> Callable[[], Bag]:
    """Returns what makes an empty bag. `is_whole` says that all contributions are whole numbers."""
    if not is_by_changes(function):
        return lambda: _Anew(function)
    return _Whole if function.name == "sum" and is_whole else _BY_CHANGES[function.name]


class Group:
    """Holds the contributions to one group."""

    def __init__(self, makers: Sequence[Callable[[], Bag]]) -> None:
        self.size = 0
        self.bags = [make() for make in makers]
