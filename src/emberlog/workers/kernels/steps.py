"""Numbers the values of a domain, and packs the steps between them: the targets of each origin lie next to each other.

Origins and targets are numbers of a domain, so 32 bits hold them and more of a graph fits into the cache.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane

Ranks: TypeAlias = npt.NDArray[np.int32]
"""Numbers of a domain, -1 for none. A domain has fewer values than that, and short numbers stay in the cache."""


@jit
def numbers_in_range(lane: Lane, low: int, high: int, ranks: Ranks) -> Ranks:
    """Returns the rank at each value's distance from `low`, or -1 outside of the range."""
    result = np.empty(lane.shape[0], np.int32)
    for row in range(lane.shape[0]):
        value = lane[row]
        result[row] = ranks[value - low] if low <= value <= high else -1
    return result


@jit
def ranks_of(places: Lane | Ranks, ranks: Ranks) -> Ranks:
    """Returns the rank at each place; -1 stays -1."""
    result = np.empty(places.shape[0], np.int32)
    for row in range(places.shape[0]):
        place = places[row]
        result[row] = ranks[place] if place >= 0 else -1
    return result


Numbers: TypeAlias = npt.NDArray[np.uint32]
"""Numbers of a domain, or positions in an array of them. Unsigned, as a negative index would cost a test each."""


def pack_steps(origins: Ranks, targets: Ranks, origin_count: int, target_count: int) -> tuple[Numbers, Numbers]:
    """Returns where each origin's targets begin, and the targets, each once. Steps with a negative end are left out.

    Arrays are made here and not in the kernels: to compile a call of numpy takes longer than to compile a loop."""
    starts = np.zeros(origin_count + 1, np.uint32)
    _count_steps(origins, targets, starts)
    packed = np.empty(int(starts[origin_count]), np.uint32)
    _place_steps(origins, targets, starts[:-1].copy(), packed)
    kept = _drop_doubles(starts, packed, np.full(target_count, -1, np.int64))
    return starts, packed[:kept].copy()


@jit
def _count_steps(origins: Ranks, targets: Ranks, starts: Numbers) -> None:
    for row in range(origins.shape[0]):
        if origins[row] >= 0 and targets[row] >= 0:
            starts[origins[row] + 1] += np.uint32(1)
    for origin in range(starts.shape[0] - 1):
        starts[origin + 1] += starts[origin]


@jit
def _place_steps(origins: Ranks, targets: Ranks, places: Numbers, packed: Numbers) -> None:
    for row in range(origins.shape[0]):
        if origins[row] >= 0 and targets[row] >= 0:
            packed[places[origins[row]]] = targets[row]
            places[origins[row]] += np.uint32(1)


@jit
def _drop_doubles(starts: Numbers, packed: Numbers, last_origin: Lane) -> int:
    """Moves the targets together that an origin has not had yet, and returns how many there are."""
    kept = 0
    begin = np.int64(0)
    for origin in range(starts.shape[0] - 1):
        end = np.int64(starts[origin + 1])
        for place in range(begin, end):
            target = packed[place]
            if last_origin[target] != origin:
                last_origin[target] = origin
                packed[kept] = target
                kept += 1
        begin = end
        starts[origin + 1] = kept
    return kept


def breadth_first_ranks(starts: Numbers, targets: Numbers) -> Ranks:
    """Returns the place of each number in an order that puts neighbours near each other: breadth first, from those that
    no step leads to, then from whatever is left."""
    count = starts.shape[0] - 1
    is_target = np.zeros(count, np.bool_)
    is_target[targets] = True
    ranks = np.full(count, -1, np.int32)
    _rank_breadth_first(starts, targets, is_target, ranks, np.empty(count, np.uint32))
    return ranks


@jit
def _rank_breadth_first(
    starts: Numbers, targets: Numbers, is_target: npt.NDArray[np.bool_], ranks: Ranks, queue: Numbers
) -> None:
    count = ranks.shape[0]
    head, tail = 0, 0
    for number in range(count):
        if not is_target[number]:
            ranks[number] = tail
            queue[tail] = number
            tail += 1
    following = 0
    while tail < count or head < tail:
        if head == tail:
            while ranks[following] >= 0:
                following += 1
            ranks[following] = tail
            queue[tail] = following
            tail += 1
        number = queue[head]
        head += 1
        for place in range(starts[number], starts[np.int64(number) + 1]):
            target = targets[place]
            if ranks[target] < 0:
                ranks[target] = tail
                queue[tail] = target
                tail += 1
