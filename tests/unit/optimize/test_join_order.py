"""Orders of joins: the smallest intermediate results, no pairs of everything with everything, few changes."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from emberlog.logical.statistics import ColumnStatistics
from emberlog.optimize.cardinality import Estimate
from emberlog.optimize.join_order import MOST_COMPARED, WORTHWHILE, best_order, order_as_given


def table(rows: float, **values: float) -> Estimate:
    return Estimate(rows, {name: ColumnStatistics(float(count), {}) for name, count in values.items()}, is_set=True)


BIG, MIDDLE, SMALL = table(1e6, X=1e3, Y=1e3), table(1e4, Y=1e3, Z=1e3), table(10, Z=10, W=10)


def test_the_selective_end_comes_first() -> None:
    assert best_order([BIG, MIDDLE, SMALL], ()).inputs == (2, 1, 0)


def test_it_can_be_asked_to_begin_where_it_begins() -> None:
    assert best_order([BIG, MIDDLE, SMALL], (), keeps_first=True).inputs[0] == 0


def test_an_order_that_is_about_as_good_is_kept() -> None:
    assert best_order([table(1000, X=100, Y=100), table(1100, Y=100, Z=100), table(1000, Z=100, W=100)], ()).inputs == (
        0,
        1,
        2,
    )


def test_inputs_are_paired_as_a_last_resort() -> None:
    order = best_order([table(5, A=5), table(5, B=5), table(1e6, A=1e3, B=1e3)], ())
    assert order.crossings == 0
    assert best_order([table(5, A=5), table(5, B=5)], ()).crossings == 1


def test_a_long_body_is_ordered_step_by_step() -> None:
    names = [f"V{number}" for number in range(MOST_COMPARED + 4)]
    chain = [table(1e5, **{one: 1e3, other: 1e3}) for one, other in itertools.pairwise(names)]
    order = best_order([*chain, table(2, V0=2)], ())
    assert sorted(order.inputs) == list(range(len(chain) + 1))
    assert order.inputs[:2] == (len(chain), 0)


@given(
    st.lists(
        st.tuples(st.integers(1, 10_000), st.sets(st.sampled_from("ABCD"), min_size=1, max_size=3)),
        min_size=3,
        max_size=5,
    )
)
@settings(deadline=None)
def test_no_other_order_is_much_better(tables: list[tuple[int, set[str]]]) -> None:
    """A set of inputs can have another estimate on another way, so the best by estimate is not always found."""
    inputs = [table(rows, **dict.fromkeys(sorted(names), float(rows))) for rows, names in tables]
    best = best_order(inputs, ())
    for places in itertools.permutations(range(len(inputs))):
        other = order_as_given(inputs, (), places)
        assert best.crossings <= other.crossings
        if best.crossings == other.crossings:
            assert best.cost <= other.cost * WORTHWHILE * 2
