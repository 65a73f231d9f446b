"""Tells which worker owns a value: by its hash, by ranges, so that everyone has equally much, or so that values that
belong together are together.

All but the first are computed from the arcs that the recursion walks. With values that are linked on one worker, most
of what it derives is its own, and a local fixpoint goes far before anything is sent (Datalography's super vertices).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.hashing import owners as hashed_owners
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.steps import Ranks, breadth_first_ranks
from emberlog.workers.kernels.tuning import GROUPS_PER_WORKER
from emberlog.workers.plan.partition_choice import Kind
from emberlog.workers.store.numbering import Domain, domain_of, packed

Owners: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Hashed:
    workers: int
    ignored_bits: int = 0
    """Values that differ in so many last bits only are together: what is looked up by them lies in other lines of the
    cache than what other workers look up. For workers of one process alone."""

    def owners(self, lane: Lane) -> Owners:
        return hashed_owners(lane >> self.ignored_bits if self.ignored_bits else lane, self.workers)


@dataclass(frozen=True, slots=True, eq=False)
class Ranged:
    bounds: Lane
    """The least value of each worker but the first."""

    def owners(self, lane: Lane) -> Owners:
        return np.searchsorted(self.bounds, lane, side="right").astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Tabled:
    """Places every value that is linked by itself; others go by their hash."""

    workers: int
    domain: Domain
    by_number: Owners

    def owners(self, lane: Lane) -> Owners:
        numbers = self.domain.numbers(lane[None])
        is_known = numbers >= 0
        if is_known.all():
            return self.by_number[numbers]
        return np.where(is_known, self.by_number[numbers], hashed_owners(lane, self.workers))


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Places values in groups by their hash: by few of them all values are spread evenly, however many there are."""

    by_group: Owners
    """As many for each worker as `GROUPS_PER_WORKER` says."""

    def owners(self, lane: Lane) -> Owners:
        return self.by_group[hashed_owners(lane, len(self.by_group))]


Partitioning: TypeAlias = Hashed | Ranged | Tabled | Grouped


def divided(kind: Kind, arcs: Lanes, workers: int, ignored_bits: int = 0) -> Partitioning:
    """Returns the partitioning of values that these arcs link, so that each worker has about the same number of
    arcs."""
    if kind is Kind.HASH or not arcs.shape[1] or workers == 1:
        return Hashed(workers, 0 if workers == 1 else ignored_bits)
    if kind is Kind.TURNS:
        return dealt(ends_counted(arcs), workers)
    domain = domain_of([arcs[:1], arcs[1:]], 1)
    ends = domain.numbers(arcs[:1]), domain.numbers(arcs[1:])
    arcs_of = np.bincount(np.concatenate(ends), minlength=domain.count)
    match kind:
        case Kind.RANGE:
            return Ranged(domain.values[0, np.searchsorted(_shares(arcs_of, workers), np.arange(1, workers))])
        case Kind.LOCALITY:
            order = _neighbours_together(*ends, domain.count)
            by_number = np.empty(domain.count, np.int32)
            by_number[order] = _shares(arcs_of[order], workers)
            return Tabled(workers, domain, by_number)
        case _:
            assert_never(kind)


def ends_counted(arcs: Lanes) -> Lanes:
    """Returns the values that arcs link, and how many arcs each has."""
    domain = domain_of([arcs[:1], arcs[1:]], 1)
    ends = np.concatenate((domain.numbers(arcs[:1]), domain.numbers(arcs[1:])))
    return np.stack((domain.values[0], np.bincount(ends, minlength=domain.count)))


def dealt(ends: Lanes, workers: int) -> Partitioning:
    """Returns the partitioning that deals groups of values out in turns, those with most arcs first: in each turn the
    worker that has fewest values so far gets the group that has most. So all have about the same number of values of
    each kind, and about the same arcs. A value may be there several times."""
    if not ends.shape[1]:
        return Hashed(workers)
    domain = domain_of([ends[:1]], 1)
    groups = GROUPS_PER_WORKER * workers
    group = hashed_owners(domain.values[0], groups)
    values = np.bincount(group, minlength=groups)
    arcs = np.bincount(hashed_owners(ends[0], groups), ends[1], groups)
    by_group = (np.arange(groups) % workers).astype(np.int32)  # where values go by their hash
    given = np.zeros((2, workers))
    order = np.lexsort((-values, -arcs))[: np.count_nonzero(values)]
    for begin in range(0, len(order), workers):
        turn = order[begin : begin + workers]
        turn = turn[np.lexsort((-arcs[turn], -values[turn]))]
        least = np.lexsort((given[1], given[0]))[: len(turn)]
        by_group[turn] = least
        given[:, least] += values[turn], arcs[turn]
    return Grouped(by_group)


def _shares(weights: Lane, workers: int) -> Owners:
    """Things in an order, cut into pieces of equal weight: for each the number of its piece."""
    before = np.cumsum(weights) - weights
    pieces: Owners = np.minimum(before * workers // int(weights.sum()), workers - 1).astype(np.int32)
    return pieces


def _neighbours_together(origins: Ranks, targets: Ranks, count: int) -> Lane:
    """Returns all numbers breadth first, each component from its edge: pieces of that order have few arcs between them.
    It is the same in whichever order arcs come, so that a run that is tried again finds its facts where they were."""
    # What is met last lies at the edge: a second search that begins there makes thin layers.
    ranks = count - 1 - _breadth_first(origins, targets, count)
    order = np.empty(count, np.int64)
    order[_breadth_first(ranks[origins], ranks[targets], count)[ranks]] = np.arange(count)
    return order


def _breadth_first(origins: Ranks, targets: Ranks, count: int) -> Ranks:
    both = packed(np.concatenate((origins, targets)), np.concatenate((targets, origins)), count)
    # Turned round, arcs that go both ways are the same arcs, and those of each origin are in order.
    in_order = both.backward()
    return breadth_first_ranks(in_order.starts, in_order.targets)


_ROWS_OF_GROUPS = GROUPS_PER_WORKER // 4
"""Words that the groups of a worker take, two bytes each."""


def as_lanes(partitioning: Partitioning) -> Lanes:
    """Returns a partitioning as it travels to other workers."""
    match partitioning:
        case Hashed():
            return np.empty((0, 0), np.int64)
        case Ranged(bounds):
            return bounds[None]
        case Tabled(_, domain, by_number):
            return np.vstack((domain.values, by_number.astype(np.int64)[None]))
        case Grouped(by_group):
            return by_group.astype(np.uint16).view(np.int64).reshape(_ROWS_OF_GROUPS, -1)
        case _:
            assert_never(partitioning)


def from_lanes(lanes: Lanes, workers: int) -> Partitioning:
    match lanes.shape[0]:
        case 0:
            return Hashed(workers)
        case 1:
            return Ranged(lanes[0])
        case rows if rows == _ROWS_OF_GROUPS:
            return Grouped(np.ascontiguousarray(lanes).reshape(-1).view(np.uint16).astype(np.int32))
        case _:
            # Values travel in the order of their numbers, which is their own order.
            return Tabled(workers, domain_of([lanes[:1]], 1), lanes[1].astype(np.int32))
