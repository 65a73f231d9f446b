"""Estimates: right where data is as even as they suppose, and not blind to frequent values."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from emberlog.datatypes import INT
from emberlog.io.sampling import statistics_of_facts
from emberlog.logical.nodes import Aggregate, AggregateColumn, Distinct, Field, Filter, Join, Plan, Scan, Version
from emberlog.logical.statistics import Statistics
from emberlog.optimize.cardinality import NotKnown, estimate
from emberlog.semantics.model import Compare, Fact
from emberlog.syntax.ast import ComparisonOperator, Constant, Variable


def scan(relation: str, *names: str) -> Scan:
    return Scan(relation, tuple(Field(name, INT) for name in names))


def known(**facts: Sequence[Fact]) -> Statistics:
    return {name: statistics_of_facts(rows, len(rows[0])) for name, rows in facts.items()}


def uniform(rows: int, *values: int) -> list[Fact]:
    draw = random.Random(1)
    return list({tuple(draw.randrange(one) for one in values) for _ in range(rows)})


def joined(left: Sequence[Fact], right: Sequence[Fact]) -> int:
    """Rows of a join on the last column of the one and the first of the other."""
    counts: dict[object, int] = {}
    for fact in right:
        counts[fact[0]] = counts.get(fact[0], 0) + 1
    return sum(counts.get(fact[-1], 0) for fact in left)


PAIRS = Join(scan("a", "X", "Y"), scan("b", "Y", "Z"), ("Y",))


def test_a_join_of_even_data_is_estimated_well() -> None:
    a, b = uniform(4_000, 500, 40), uniform(4_000, 40, 500)
    assert estimate(PAIRS, known(a=a, b=b)).rows == pytest.approx(joined(a, b), rel=0.1)


def test_values_that_are_frequent_on_both_sides_are_counted() -> None:
    hub: list[Fact] = [(number, 0) for number in range(2_000)]
    back: list[Fact] = [(0, number) for number in range(2_000)]
    a, b = hub + uniform(2_000, 5_000, 5_000), back + uniform(2_000, 5_000, 5_000)
    assert joined(a, b) > 4_000_000
    assert estimate(PAIRS, known(a=a, b=b)).rows == pytest.approx(joined(a, b), rel=0.1)


def test_a_row_meets_one_row_of_a_set_at_most() -> None:
    a = uniform(1_000, 10, 10_000)
    whole = Join(scan("a", "X", "Y"), scan("a", "X", "Y"), ("X", "Y"))
    assert estimate(whole, known(a=a)).rows <= len(a)


@pytest.mark.parametrize(
    ("operator", "value", "share"),
    [
        (ComparisonOperator.EQUAL, 3, 1 / 40),
        (ComparisonOperator.NOT_EQUAL, 3, 39 / 40),
        (ComparisonOperator.LESS, 10, 1 / 3),
    ],
)
def test_conditions_keep_a_share_of_the_rows(operator: ComparisonOperator, value: int, share: float) -> None:
    a = uniform(4_000, 500, 40)
    plan = Filter(scan("a", "X", "Y"), (Compare(operator, Variable("Y"), Constant(value)),))
    assert estimate(plan, known(a=a)).rows == pytest.approx(len(a) * share, rel=0.2)


def test_groups_are_as_many_as_their_keys() -> None:
    a = uniform(4_000, 500, 40)
    counted = AggregateColumn(Field("N", INT), "count", ())
    plans: list[Plan] = [Aggregate(scan("a", "X", "Y"), ("Y",), (counted,)), Distinct(scan("a", "X", "Y"))]
    assert [round(estimate(plan, known(a=a)).rows) for plan in plans] == [40, len(a)]


def test_a_delta_is_a_small_part() -> None:
    a = uniform(4_000, 500, 40)
    delta = Scan("a", (Field("X", INT), Field("Y", INT)), Version.DELTA)
    assert estimate(delta, known(a=a)).rows < len(a) / 10


def test_nothing_is_said_of_what_is_not_known() -> None:
    with pytest.raises(NotKnown, match="b"):
        estimate(PAIRS, known(a=[(1, 2)]))
