"""In which order to join several inputs, by estimate: the one whose intermediate results are smallest together.

Orders are left-deep. Up to ten inputs all of them are compared (dynamic programming over sets of inputs); more are put
together step by step, the smallest result first. Every pair with every pair only where inputs share no column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emberlog.logical.expressions import condition_columns
from emberlog.logical.nodes import Condition
from emberlog.optimize.cardinality import Estimate, joined, kept

MOST_COMPARED = 10
"""Inputs up to which all orders are compared."""

WORTHWHILE = 1.3
"""By how much another order has to be better than the one that is written: estimates are rough."""


@dataclass(frozen=True, slots=True)
class Order:
    inputs: tuple[int, ...]
    """Places among the inputs given."""
    results: tuple[Estimate, ...]
    """What there is after the first input, after the second, and so on."""
    crossings: int
    """How often every row met every row."""

    @property
    def cost(self) -> float:
        """Rows of all intermediate results; the last one is the same in every order, whatever the estimate says."""
        return sum(result.rows for result in self.results[:-1])

    @property
    def largest(self) -> float:
        """Rows of the largest intermediate result."""
        return max((result.rows for result in self.results[:-1]), default=0.0)


def order_as_given(
    inputs: Sequence[Estimate], conditions: Sequence[Condition], places: Sequence[int] | None = None
) -> Order:
    """Returns the order in which they stand, or one that is given by their places."""
    first, *others = range(len(inputs)) if places is None else places
    order = _begun(inputs, conditions, first)
    for place in others:
        order = _extended(order, inputs, conditions, place)
    return order


def best_order(
    inputs: Sequence[Estimate],
    conditions: Sequence[Condition],
    given: Sequence[int] | None = None,
    *,
    keeps_first: bool = False,
) -> Order:
    """Returns the best order, unless the one given (that of the inputs themselves) is about as good. It can be asked to
    begin as the given one does."""
    as_given = order_as_given(inputs, conditions, given)
    first = as_given.inputs[0] if keeps_first else None
    best = (_compared if len(inputs) <= MOST_COMPARED else _stepwise)(inputs, conditions, first)
    if best.crossings == as_given.crossings and best.cost * WORTHWHILE >= as_given.cost:
        return as_given
    return best


def _begun(inputs: Sequence[Estimate], conditions: Sequence[Condition], first: int) -> Order:
    ready = [condition for condition in conditions if condition_columns(condition) <= inputs[first].columns.keys()]
    return Order((first,), (kept(inputs[first], ready),), 0)


def _extended(order: Order, inputs: Sequence[Estimate], conditions: Sequence[Condition], place: int) -> Order:
    before, new = order.results[-1], inputs[place]
    on = [name for name in new.columns if name in before.columns]
    result = joined(before, new, on)
    ready = [
        condition
        for condition in conditions
        if condition_columns(condition) <= result.columns.keys()
        and not condition_columns(condition) <= before.columns.keys()
    ]
    return Order((*order.inputs, place), (*order.results, kept(result, ready)), order.crossings + (not on))


def _compared(inputs: Sequence[Estimate], conditions: Sequence[Condition], first: int | None) -> Order:
    starts = range(len(inputs)) if first is None else (first,)
    best: dict[frozenset[int], Order] = {frozenset((one,)): _begun(inputs, conditions, one) for one in starts}
    for joined_already in range(1, len(inputs)):
        rank = _full_rank if joined_already + 1 < len(inputs) else _final_rank
        longer: dict[frozenset[int], Order] = {}
        for done, order in best.items():
            for place in range(len(inputs)):
                if place in done:
                    continue
                candidate = _extended(order, inputs, conditions, place)
                key = done | {place}
                if key not in longer or rank(candidate) < rank(longer[key]):
                    longer[key] = candidate
        best = longer
    (order,) = best.values()
    return order


def _full_rank(order: Order) -> tuple[int, float]:
    """Of an order that goes on: its last result will be an intermediate one."""
    return order.crossings, sum(result.rows for result in order.results)


def _final_rank(order: Order) -> tuple[int, float]:
    return order.crossings, order.cost


def _stepwise(inputs: Sequence[Estimate], conditions: Sequence[Condition], first: int | None) -> Order:
    starts = range(len(inputs)) if first is None else (first,)
    order = min((_begun(inputs, conditions, one) for one in starts), key=_full_rank)
    while len(order.inputs) < len(inputs):
        left = [place for place in range(len(inputs)) if place not in order.inputs]
        order = min((_extended(order, inputs, conditions, place) for place in left), key=_full_rank)
    return order
