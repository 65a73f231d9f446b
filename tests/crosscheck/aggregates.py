"""The oracle's aggregates: each is a function of the bag of contributions, nulls left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, cast

from tests.crosscheck.meaning import EPSILON, NEGATIVE, SAFELY_FINITE, Fault, Known, Near, Unclear, near, number

Contribution: TypeAlias = "tuple[Known, ...]"

COUNTS = ("count", "countd", "mcount")
"""They are 0 where there is nothing to aggregate."""


def aggregated(function: str, contributions: Sequence[Contribution]) -> Known:
    bag = [one for one in contributions if None not in one]
    if function in ("mcount", "msum"):
        _check_signs(bag, len(bag) < len(contributions))
    if not bag and function not in (*COUNTS, "collect"):
        return None
    return _AGGREGATES[function](bag)


def _check_signs(bag: Sequence[Contribution], has_nulls: bool) -> None:
    if any(len(one) == 2 and _number(one[1]) < 0 for one in bag):
        raise Unclear if has_nulls else Fault(NEGATIVE)


def _number(value: Known) -> Any:
    return value.value if isinstance(value, Near) else value


def _total(values: Sequence[Known]) -> Known:
    """The exact total of ints; of floats one that may be off by n·2⁻⁵² of the sum of their absolute values."""
    if all(isinstance(value, int) for value in values):
        return number(sum(cast(Sequence[int], values)))
    slack = sum(value.slack for value in values if isinstance(value, Near))
    sizes = sum(Fraction(abs(_number(value))) for value in values)
    if sizes >= SAFELY_FINITE:
        raise Unclear
    exact = float(sum(Fraction(_number(value)) for value in values))
    return near(exact, slack * 1.01 + len(values) * EPSILON * float(sizes) + math.ulp(exact))


def _mean(values: Sequence[Known]) -> Known:
    if all(isinstance(value, int) for value in values):
        return float(Fraction(sum(cast(Sequence[int], values)), len(values))) + 0.0
    total = _total(values)
    assert isinstance(total, Near)
    mean = total.value / len(values)
    return near(mean, total.slack / len(values) + math.ulp(mean))


def _sum_over_keys(bag: Sequence[Contribution]) -> Known:
    largest: dict[Known, Known] = {}
    for key, value in bag:
        if key not in largest or _number(value) > _number(largest[key]):
            largest[key] = value
    return _total(list(largest.values())) if largest else 0


def _smallest(values: Sequence[Known]) -> Known:
    if any(isinstance(value, Near) for value in values):
        return _near_extreme(min, values)
    return min(cast(Any, values))  # type: ignore[no-any-return]


def _largest(values: Sequence[Known]) -> Known:
    if any(isinstance(value, Near) for value in values):
        return _near_extreme(max, values)
    return max(cast(Any, values))  # type: ignore[no-any-return]


def _near_extreme(choose: Callable[..., float], values: Sequence[Known]) -> Near:
    slack = max(value.slack for value in values if isinstance(value, Near))
    return Near(choose(map(_number, values)), slack)


def _chosen(bag: Sequence[Contribution], choose: Callable[..., Any]) -> Known:
    """The X of the best cost; among equal costs the smallest X."""
    best = choose(cost for cost, _ in bag)
    return _smallest([value for cost, value in bag if cost == best])


def _first(bag: Sequence[Contribution]) -> list[Any]:
    return [one[0] for one in bag]


_AGGREGATES: dict[str, Callable[[Sequence[Contribution]], Known]] = {
    "count": len,
    "countd": lambda bag: len(set(_first(bag))),
    "sum": lambda bag: _total(_first(bag)),
    "avg": lambda bag: _mean(_first(bag)),
    "min": lambda bag: _smallest(_first(bag)),
    "max": lambda bag: _largest(_first(bag)),
    "mmin": lambda bag: _smallest(_first(bag)),
    "mmax": lambda bag: _largest(_first(bag)),
    "mcount": lambda bag: _sum_over_keys([(one[0], one[1] if len(one) == 2 else 1) for one in bag]),
    "msum": _sum_over_keys,
    "argmin": lambda bag: _chosen(bag, min),
    "argmax": lambda bag: _chosen(bag, max),
    "collect": lambda bag: tuple(sorted(_first(bag))),
    "any": lambda bag: any(_first(bag)),
    "all": lambda bag: all(_first(bag)),
}
