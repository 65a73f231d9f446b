"""The oracle's aggregates: each is a function of the bag of contributions, nulls left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, cast

from tests.crosscheck.meaning import (
    EPSILON,
    NEGATIVE,
    OVERFLOW,
    SAFELY_FINITE,
    Fault,
    Known,
    Near,
    Unclear,
    near,
    number,
)
from tests.crosscheck.times import decimal_of, microseconds, scale_of

Contribution: TypeAlias = "tuple[Known, ...]"

COUNTS = ("count", "countd", "mcount")
"""They are 0 where there is nothing to aggregate."""


def aggregated(function: str, contributions: Sequence[Contribution]) -> Known:
    bag = [one for one in contributions if None not in one]
    if function in ("mcount", "msum"):
        _check_signs(bag, len(bag) < len(contributions))
    if not bag and function not in (*COUNTS, "collect", "top", "bottom"):
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
    if all(isinstance(value, timedelta | Decimal) for value in values):
        return _exact_total(cast(Sequence[Any], values))
    slack = sum(value.slack for value in values if isinstance(value, Near))
    sizes = sum(Fraction(abs(_number(value))) for value in values)
    if sizes >= SAFELY_FINITE:
        raise Unclear
    exact = float(sum(Fraction(_number(value)) for value in values))
    return near(exact, slack * 1.01 + len(values) * EPSILON * float(sizes) + math.ulp(exact))


def _exact_total(values: Sequence[Any]) -> Known:
    """The total of durations or decimals, which may be out of range on the way."""
    if isinstance(values[0], timedelta):
        return timedelta(microseconds=number(sum(map(microseconds, values))))
    found = decimal_of(sum(map(Fraction, values), Fraction(0)), scale_of(values[0]))
    if found is None:
        raise Fault(OVERFLOW)
    return found


def _mean(values: Sequence[Known]) -> Known:
    if all(isinstance(value, int) for value in values):
        return float(Fraction(sum(cast(Sequence[int], values)), len(values))) + 0.0
    total = _total(values)
    assert isinstance(total, Near)
    mean = total.value / len(values)
    return near(mean, total.slack / len(values) + math.ulp(mean))


def _median(values: Sequence[Known]) -> Known:
    ordered = sorted(cast(Sequence[Any], values))
    half = len(ordered) // 2
    middle = ordered[half : half + 1] if len(ordered) % 2 else ordered[half - 1 : half + 1]
    return float(sum(map(Fraction, middle)) / len(middle)) + 0.0


def _most(bag: Sequence[Contribution], is_descending: bool) -> Known:
    """The first few of the sorted values, as many as the largest first argument says."""
    number = max((cast(int, one[0]) for one in bag), default=0)
    return tuple(sorted((cast(Any, one[1]) for one in bag), reverse=is_descending)[:number])


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
    "sumd": lambda bag: _total(list(set(_first(bag)))),
    "median": lambda bag: _median(_first(bag)),
    "top": lambda bag: _most(bag, is_descending=True),
    "bottom": lambda bag: _most(bag, is_descending=False),
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
