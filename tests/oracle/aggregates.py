"""The aggregates, each as a plain function of the bag of its contributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from emberlog.language.aggregates import Aggregate
from emberlog.semantics.model import CellValue
from tests.oracle.expressions import Fault, called, checked_number

Bag = Sequence[tuple[Any, ...]]
"""Contributions without nulls. Each holds the arguments of the aggregate for one valuation of a body."""

COUNTS = frozenset({"count", "countd", "mcount"})
"""The aggregates that have a value for a bag without contributions: 0."""


def aggregate(function: Aggregate, contributions: Sequence[tuple[CellValue, ...]]) -> CellValue:
    """The value of the aggregate. As in SQL, contributions with a null are left out; if none is left, the value is
    null, or 0 for a count, or the empty list."""
    bag = [contribution for contribution in contributions if None not in contribution]
    if not bag and function.name not in COUNTS and function.name not in ("collect", "top", "bottom"):
        return None
    if function.is_registered:
        return called(lambda: function.of([(value,) for value in _values(bag)]))
    return _AGGREGATES[function.name](bag)


def check_contribution(function: str, arguments: tuple[CellValue, ...]) -> None:
    """`mcount` and `msum` only grow, so nothing negative may be added to them."""
    if function not in ("mcount", "msum") or len(arguments) != 2:
        return
    amount = arguments[1]
    if isinstance(amount, (int, float)) and amount < 0:
        raise Fault("DL504", f"{function} of a negative value", f"the value is {amount:,}; {function} can only grow")


def _values(bag: Bag) -> list[Any]:
    return [contribution[0] for contribution in bag]


def _sum(numbers: Sequence[int | float]) -> int | float:
    """Exact, so that it does not depend on the order of the contributions."""
    if any(isinstance(number, float) for number in numbers):
        return checked_number(_float_sum(numbers))
    return checked_number(sum(numbers))


def _float_sum(numbers: Sequence[int | float]) -> float:
    total = sum(map(Fraction, numbers))
    try:
        return float(total)
    except OverflowError:
        return math.inf


def _sum_over_keys(bag: Bag) -> int | float:
    largest: dict[CellValue, int | float] = {}
    for key, amount in bag:
        largest[key] = max(amount, largest.get(key, amount))
    return _sum(list(largest.values()))


def _monotone_count(bag: Bag) -> int | float:
    return _sum_over_keys([(key, *amount) if amount else (key, 1) for key, *amount in bag])


def _mean(bag: Bag) -> float:
    numbers = _values(bag)
    total = _float_sum(numbers) if any(isinstance(number, float) for number in numbers) else sum(numbers)
    return float(checked_number(total / len(numbers)))


def _median(bag: Bag) -> float:
    numbers = sorted(map(Fraction, _values(bag)))
    while len(numbers) > 2:
        numbers = numbers[1:-1]
    return float(sum(numbers, Fraction()) / len(numbers))


def _first_of(values: list[Any], bag: Bag) -> tuple[Any, ...]:
    limit = max([0, *(limit for limit, _ in bag)])
    return tuple(value for place, value in enumerate(values) if place < limit)


def _of_smallest_cost(bag: Bag) -> CellValue:
    lowest = min(cost for cost, _ in bag)
    return min(value for cost, value in bag if cost == lowest)  # type: ignore[no-any-return]


def _of_largest_cost(bag: Bag) -> CellValue:
    highest = max(cost for cost, _ in bag)
    return min(value for cost, value in bag if cost == highest)  # type: ignore[no-any-return]


_AGGREGATES: Mapping[str, Callable[[Bag], CellValue]] = {
    "count": len,
    "countd": lambda bag: len(set(_values(bag))),
    "sum": lambda bag: _sum(_values(bag)),
    "sumd": lambda bag: _sum(sorted(set(_values(bag)))),
    "median": _median,
    "top": lambda bag: _first_of(sorted((value for _, value in bag), reverse=True), bag),
    "bottom": lambda bag: _first_of(sorted(value for _, value in bag), bag),
    "avg": _mean,
    "min": lambda bag: min(_values(bag)),
    "max": lambda bag: max(_values(bag)),
    "mmin": lambda bag: min(_values(bag)),
    "mmax": lambda bag: max(_values(bag)),
    "mcount": _monotone_count,
    "msum": _sum_over_keys,
    "argmin": _of_smallest_cost,
    "argmax": _of_largest_cost,
    "collect": lambda bag: tuple(sorted(_values(bag))),
    "any": lambda bag: any(_values(bag)),
    "all": lambda bag: all(_values(bag)),
}
