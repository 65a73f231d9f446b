"""Gives the values of a side dense numbers, so that arrays and sets of bits can be indexed by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emberlog.workers.kernels.indexes import number_keys
from emberlog.workers.kernels.lanes import Lanes, joined
from emberlog.workers.kernels.steps import Numbers, Ranks, breadth_first_ranks, numbers_in_range, pack_steps, ranks_of
from emberlog.workers.kernels.tables import Table, find_all, table_for


@dataclass(frozen=True, slots=True)
class Domain:
    """Holds different values, each with a number from 0 on. A value may have several lanes."""

    values: Lanes
    """By number."""
    ranks: Ranks
    """From the place where a value is found to its number, or to -1."""
    low: int | None
    """Values of one lane in a small range are found at their distance from it. Otherwise by the table."""
    table: Table
    distinct: Lanes

    @property
    def count(self) -> int:
        return int(self.values.shape[1])

    def numbers(self, values: Lanes) -> Ranks:
        """Returns the number of each value, or -1."""
        if self.low is None:
            found = find_all(self.table, self.distinct, len(values), np.ascontiguousarray(values))
            return ranks_of(found, self.ranks)
        return numbers_in_range(values[0], self.low, self.low + len(self.ranks) - 1, self.ranks)

    def renumbered(self, ranks: Ranks) -> Domain:
        """Returns the same values in another order: the value with the number n gets the number ranks[n]."""
        values = np.empty_like(self.values)
        values[:, ranks] = self.values
        return Domain(values, ranks_of(self.ranks, ranks), self.low, self.table, self.distinct)


def domain_of(batches: Sequence[Lanes], width: int) -> Domain:
    """Returns the domain of all values in the batches, numbered in their own order, so that neighbours stay
    neighbours."""
    filled = [batch for batch in batches if batch.shape[1]]
    if width == 1 and filled:
        low, high = min(int(batch.min()) for batch in filled), max(int(batch.max()) for batch in filled)
        if high - low < 4 * sum(batch.shape[1] for batch in filled) + 1024:
            return _domain_in_range(filled, low, high)
    keys = np.ascontiguousarray(joined(filled, width))
    table = table_for(max(keys.shape[1], 1))
    distinct = np.empty_like(keys)
    count, _ = number_keys(table, distinct, keys)
    distinct = np.ascontiguousarray(distinct[:, :count])
    order = np.lexsort(distinct[::-1])
    ranks = np.empty(count, np.int32)
    ranks[order] = np.arange(count)
    return Domain(distinct[:, order], ranks, None, table, distinct)


def _domain_in_range(batches: Sequence[Lanes], low: int, high: int) -> Domain:
    present = np.zeros(high - low + 1, np.bool_)
    for batch in batches:
        present[batch[0] - low] = True
    places = np.flatnonzero(present)
    ranks = np.full(len(present), -1, np.int32)
    ranks[places] = np.arange(len(places))
    return Domain(places[None] + low, ranks, low, table_for(1), np.empty((1, 0), np.int64))


@dataclass(frozen=True, slots=True)
class Steps:
    """Holds a step relation over the numbers of a domain."""

    starts: Numbers
    targets: Numbers

    @property
    def count(self) -> int:
        return len(self.targets)

    def origins(self) -> Ranks:
        """Returns the origin of each step."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))

    def backward(self) -> Steps:
        return packed(self.targets.astype(np.int32), self.origins(), len(self.starts) - 1)

    def has_steps(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Returns from which numbers a step goes on."""
        result: np.ndarray[tuple[int], np.dtype[np.bool_]] = self.starts[1:] > self.starts[:-1]
        return result


def packed(origins: Ranks, targets: Ranks, count: int) -> Steps:
    """Returns steps between the numbers of a domain of this size; steps with an end outside it are left out."""
    return Steps(*pack_steps(origins, targets, count, count))


def standing_still(count: int) -> Steps:
    """Returns the steps of a side that is handed through."""
    return Steps(np.arange(count + 1, dtype=np.uint32), np.arange(count, dtype=np.uint32))


@dataclass(frozen=True, slots=True)
class NumberedSide:
    """Holds the values of a side, and the steps of each rule on it as numbers; None where a rule hands the side
    through."""

    domain: Domain
    ends: tuple[tuple[Ranks, Ranks] | None, ...]
    """Origins and targets; -1 is a value that the side never has."""

    def steps(self, rule: int) -> Steps:
        ends = self.ends[rule]
        return standing_still(self.domain.count) if ends is None else packed(*ends, self.domain.count)

    def all_steps(self) -> Steps:
        """Returns the steps of all rules that take one, each once."""
        ends = [one for one in self.ends if one is not None]
        origins, targets = (np.concatenate(lanes) for lanes in zip(*ends, strict=True)) if ends else _NO_ENDS
        return packed(origins, targets, self.domain.count)

    def with_neighbours_together(self) -> NumberedSide:
        """Returns the same side in an order in which what is reached together lies together.

        Closing many sources at once lives on this: sources next to each other then reach the same numbers in the
        same rounds, and a row of bits has its bits in few words.
        """
        steps = self.all_steps()
        if not steps.count:
            return self
        ranks = breadth_first_ranks(steps.starts, steps.targets)
        ends = tuple(one and (ranks_of(one[0], ranks), ranks_of(one[1], ranks)) for one in self.ends)
        return NumberedSide(self.domain.renumbered(ranks), ends)


_NO_ENDS = (np.empty(0, np.int32), np.empty(0, np.int32))


def numbered(values: Lanes, step_lanes: Sequence[Lanes | None]) -> NumberedSide:
    """Returns a side that begins with these values and takes these steps: lanes of the origin, then of the target."""
    width = values.shape[0]
    domain = domain_of([values, *(lanes[width:] for lanes in step_lanes if lanes is not None)], width)
    ends = tuple(
        None if lanes is None else (domain.numbers(lanes[:width]), domain.numbers(lanes[width:]))
        for lanes in step_lanes
    )
    return NumberedSide(domain, ends)
