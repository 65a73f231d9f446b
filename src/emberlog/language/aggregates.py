"""Defines the aggregates: what a bag of contributions comes to, whatever their order.

A contribution in which an argument is null is left out, as in SQL. The value of a group without contributions is null,
0 for a count, and the empty list for `collect`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from emberlog.datatypes import BOOL, FLOAT, INT, DataType, list_of
from emberlog.language.entry import Types, always
from emberlog.language.faults import Fault
from emberlog.language.values import CellValue, in_range

if TYPE_CHECKING:
    from emberlog.language.spark_aggregates import Arguments, Parts


class Accumulator(Protocol):
    """Takes contributions one by one and has the value of the bag so far."""

    def add(self, *arguments: Any) -> None: ...

    def value(self) -> CellValue: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """Describes an aggregate function, its laws and its implementations."""

    name: str
    arities: tuple[int, ...]
    result: Callable[[Types], DataType]
    signature: str
    meaning: str
    python: Callable[[], Accumulator]
    """Makes the accumulator of a group."""
    lanes: tuple[str, ...] = ()
    """How workers keep a group: the names of the kernels that combine each lane; none if they cannot."""
    spark: Callable[[Arguments], Parts] | None = None
    """Makes the value of Spark's own aggregates."""
    direction: int = 0
    """In recursion: -1 when values only fall, +1 when they only rise, 0 when they may do either."""
    is_meet: bool = False
    """Law: idempotent. A contribution that comes twice changes nothing."""
    takes_repeats: bool = False
    """Law: a contribution that comes twice changes nothing in the end, though the bag is more than its best part."""
    is_count: bool = False
    """Whether the value of no contributions is 0."""
    is_total: bool = False
    """Whether an aggregate over a body of its own is 0 where nothing satisfies the body."""
    is_numeric: bool = False
    """Whether the last argument must be a number."""
    is_of_truth: bool = False
    """Whether the argument must be true or false."""
    by_cost: bool = False
    """Whether the first of two arguments is a cost, and the second what comes with it."""
    is_limited: bool = False
    """Whether the first of two arguments is an int that says how many values are kept."""
    by_key: bool = False
    """Whether the first argument is a key, of which only the largest value counts, and no value may be negative."""
    precision: str = "exact"
    """How exact the value is on every engine, as documentation puts it."""
    is_registered: bool = False
    """Whether the user brought it: from the sorted list of a group's values, nulls left out."""

    def check(self, arguments: Sequence[CellValue]) -> None:
        """Raises a fault for a contribution that the aggregate refuses."""
        amount = arguments[-1] if self.by_key and len(arguments) == 2 else None
        if isinstance(amount, int | float) and amount < 0:
            raise Fault(
                "DL504", f"{self.name} of a negative value", f"the value is {amount:,}; {self.name} can only grow"
            )

    def of(self, contributions: Iterable[Sequence[CellValue]], *, is_float: bool = False) -> CellValue:
        """Returns the value of a whole bag. `is_float` says that the column is of floats: its 0 is one, too."""
        accumulator = self.python()
        for arguments in contributions:
            self.check(arguments)
            if None not in arguments:
                accumulator.add(*arguments)
        found = accumulator.value()
        return float(found) if is_float and isinstance(found, int) else found


# --- plain Python ---------------------------------------------------------------------------------------------------


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


class _SumDifferent(_Sum):
    def value(self) -> CellValue:
        self.items = list(set(self.items))
        return super().value()


class _Median(_Collect):
    def value(self) -> CellValue:
        if not self.items:
            return None
        from fractions import Fraction  # a sum of two floats can be out of range, and their mean is not

        self.items.sort()
        middle = len(self.items) // 2
        return float((Fraction(self.items[middle]) + Fraction(self.items[-middle - 1])) / 2)


class _BestOf:
    """Keeps as many of the largest values, or of the smallest, as the first argument says."""

    def __init__(self, *, is_largest: bool) -> None:
        self.is_largest = is_largest
        self.limit = 0
        self.items: list[Any] = []

    def add(self, limit: Any, value: Any) -> None:
        self.limit = max(self.limit, limit)
        self.items.append(value)

    def value(self) -> CellValue:
        return tuple(sorted(self.items, reverse=self.is_largest)[: self.limit])


class _Average(_Collect):
    def value(self) -> CellValue:
        if not self.items:
            return None
        return float(in_range(exact_sum(self.items) / len(self.items)))


class Best:
    """Keeps the contribution that is better than all others."""

    def __init__(self, is_better: Callable[[Any, Any], bool]) -> None:
        self.is_better = is_better
        self.best: Any = None

    def add(self, *arguments: Any) -> None:
        if self.best is None or self.is_better(arguments, self.best):
            self.best = arguments

    def value(self) -> CellValue:
        return None if self.best is None else self.best[-1]


class _SumOverKeys:
    """Adds up the largest value of each key."""

    def __init__(self, *, counts: bool) -> None:
        self.counts = counts
        self.largest: dict[CellValue, Any] = {}

    def add(self, key: Any, value: Any = 1) -> None:
        if key not in self.largest or value > self.largest[key]:
            self.largest[key] = value

    def value(self) -> CellValue:
        return in_range(exact_sum(self.largest.values())) if self.largest or self.counts else None


def exact_sum(numbers: Iterable[Any]) -> Any:
    """Returns the sum, which does not depend on the order: ints have no limit here, and floats are rounded once, at the
    end."""
    numbers = list(numbers)
    if not any(type(number) is float for number in numbers):
        return sum(numbers)
    try:
        return math.fsum(numbers)
    except OverflowError:  # on the way, or in the end
        from fractions import Fraction

        total = sum(map(Fraction, numbers), Fraction())
        return float(total) if abs(total) < 2**1024 - 2**970 else math.inf


def _is_smaller(one: Any, other: Any) -> bool:
    return bool(one[0] < other[0])


def _is_larger(one: Any, other: Any) -> bool:
    return bool(one[0] > other[0])


def _costs_less(one: Any, other: Any) -> bool:
    return (one[0], one[1]) < (other[0], other[1])


def _costs_more(one: Any, other: Any) -> bool:
    return bool(one[1] < other[1] if one[0] == other[0] else one[0] > other[0])


class _Registered(_Collect):
    def __init__(self, function: Callable[..., CellValue]) -> None:
        super().__init__()
        self.function = function

    def value(self) -> CellValue:
        return self.function(sorted(self.items)) if self.items else None


def registered(function: Callable[..., CellValue]) -> Callable[[], Accumulator]:
    """Returns the maker of accumulators for a function of the sorted list of a group's values."""
    return lambda: _Registered(function)


# --- the entries ----------------------------------------------------------------------------------------------------


def _spark(name: str) -> Callable[[Arguments], Parts]:
    """Returns the form of an aggregate on Spark, which is loaded when it is first used."""

    def compiled(arguments: Arguments) -> Parts:
        from emberlog.language import spark_aggregates

        return getattr(spark_aggregates, name)(arguments)  # type: ignore[no-any-return]

    return compiled


def _first(types: Types) -> DataType:
    return types[0]


def _last(types: Types) -> DataType:
    return types[-1]


OF_SUMS = (
    "of ints exact, and an error only if the sum does not fit; of n floats within n · 2⁻⁵² of the sum of their "
    "absolute values, and an error only if that is out of range"
)

MIN = Aggregate(
    name="min",
    arities=(1,),
    result=_first,
    signature="min<X>",
    meaning="the smallest value",
    python=lambda: Best(_is_smaller),
    lanes=("min",),
    spark=_spark("smallest"),
    direction=-1,
    is_meet=True,
)
MAX = Aggregate(
    name="max",
    arities=(1,),
    result=_first,
    signature="max<X>",
    meaning="the largest value",
    python=lambda: Best(_is_larger),
    lanes=("max",),
    spark=_spark("largest"),
    direction=1,
    is_meet=True,
)

AGGREGATES = (
    Aggregate(
        name="count",
        is_total=True,
        arities=(0, 1),
        result=always(INT),
        signature="count<_>, count<X>",
        meaning="the number of valuations (with X not null)",
        python=_Count,
        lanes=("count",),
        spark=_spark("count"),
        is_count=True,
    ),
    Aggregate(
        name="countd",
        is_total=True,
        arities=(1,),
        result=always(INT),
        signature="countd<X>",
        meaning="the number of different values; also written `count_distinct<X>`",
        python=_CountDifferent,
        spark=_spark("count_different"),
        is_count=True,
        takes_repeats=True,
    ),
    Aggregate(
        name="sum",
        is_total=True,
        arities=(1,),
        result=_first,
        signature="sum<X>",
        meaning="the sum",
        python=_Sum,
        lanes=("sum",),
        spark=_spark("total"),
        is_numeric=True,
        precision=OF_SUMS,
    ),
    Aggregate(
        name="avg",
        arities=(1,),
        result=always(FLOAT),
        signature="avg<X>",
        meaning="the mean, a float",
        python=_Average,
        lanes=("sum", "count"),
        spark=_spark("mean"),
        is_numeric=True,
        precision="of n values within n · 2⁻⁵² of the mean of their absolute values",
    ),
    Aggregate(
        name="sumd",
        is_total=True,
        arities=(1,),
        result=_first,
        signature="sumd<X>",
        meaning="the sum of the different values; also written `sum_distinct<X>`",
        python=_SumDifferent,
        is_numeric=True,
        takes_repeats=True,
        precision=OF_SUMS,
    ),
    Aggregate(
        name="median",
        arities=(1,),
        result=always(FLOAT),
        signature="median<X>",
        meaning="the value in the middle, a float; of an even number of values, the mean of both in the middle",
        python=_Median,
        is_numeric=True,
    ),
    Aggregate(
        name="top",
        arities=(2,),
        result=lambda types: list_of(types[1]),
        signature="top<N, X>",
        meaning="the list of the N largest values, the largest first, repeats included",
        python=lambda: _BestOf(is_largest=True),
        is_limited=True,
    ),
    Aggregate(
        name="bottom",
        arities=(2,),
        result=lambda types: list_of(types[1]),
        signature="bottom<N, X>",
        meaning="the list of the N smallest values, the smallest first, repeats included",
        python=lambda: _BestOf(is_largest=False),
        is_limited=True,
    ),
    MIN,
    MAX,
    replace(MIN, name="mmin", signature="mmin<X>", meaning="the same as min"),
    replace(MAX, name="mmax", signature="mmax<X>", meaning="the same as max"),
    Aggregate(
        name="mcount",
        arities=(1, 2),
        result=lambda types: types[1] if len(types) == 2 else INT,
        signature="mcount<Key>, mcount<(Key, N)>",
        meaning="the sum over the keys of the largest N (1 if not given) of each",
        python=lambda: _SumOverKeys(counts=True),
        lanes=("sum",),
        direction=1,
        is_count=True,
        takes_repeats=True,
        by_key=True,
        precision=OF_SUMS,
    ),
    Aggregate(
        name="msum",
        arities=(2,),
        result=_last,
        signature="msum<(Key, X)>",
        meaning="the sum over the keys of the largest X, not negative, of each",
        python=lambda: _SumOverKeys(counts=False),
        lanes=("sum",),
        direction=1,
        takes_repeats=True,
        by_key=True,
        precision=OF_SUMS,
    ),
    Aggregate(
        name="argmin",
        arities=(2,),
        result=_last,
        signature="argmin<Cost, X>",
        meaning="the X of the smallest cost; among equals the smallest X",
        python=lambda: Best(_costs_less),
        lanes=("argmin", "choice"),
        spark=_spark("of_smallest_cost"),
        direction=-1,
        is_meet=True,
        by_cost=True,
    ),
    Aggregate(
        name="argmax",
        arities=(2,),
        result=_last,
        signature="argmax<Cost, X>",
        meaning="the X of the largest cost; among equals the smallest X",
        python=lambda: Best(_costs_more),
        lanes=("argmax", "choice"),
        spark=_spark("of_largest_cost"),
        direction=1,
        is_meet=True,
        by_cost=True,
    ),
    Aggregate(
        name="collect",
        arities=(1,),
        result=lambda types: list_of(types[0]),
        signature="collect<X>",
        meaning="the list of all values, sorted, repeats included",
        python=_Collect,
        spark=_spark("sorted_list"),
    ),
    Aggregate(
        name="any",
        arities=(1,),
        result=always(BOOL),
        signature="any<B>",
        meaning="whether some value is true",
        python=lambda: Best(_is_larger),
        lanes=("max",),
        spark=_spark("some"),
        direction=1,
        is_meet=True,
        is_of_truth=True,
    ),
    Aggregate(
        name="all",
        arities=(1,),
        result=always(BOOL),
        signature="all<B>",
        meaning="whether every value is true",
        python=lambda: Best(_is_smaller),
        lanes=("min",),
        spark=_spark("every"),
        direction=-1,
        is_meet=True,
        is_of_truth=True,
    ),
)
