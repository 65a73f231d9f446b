"""Closures one source at a time: everything that a source reaches is marked in one dense array.

A mark is the number of the source, so that nothing has to be wiped between two sources.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane
from emberlog.workers.kernels.steps import Numbers


@jit
def close_sources(
    starts: Numbers,
    targets: Numbers,
    seed_starts: npt.NDArray[np.int64],
    seeds: Numbers,
    first: int,
    marks: Numbers,
    queue: Numbers,
    rows: int,
    per_round: npt.NDArray[np.int64],
    pivots: Lane,
    values: Lane,
    pivot_lane: Lane,
    value_lane: Lane,
    round_lane: npt.NDArray[np.int32],
) -> tuple[int, int, int]:
    """Closes sources from `first` on until about `rows` facts are found.

    Gives the number of the next source, the facts and the largest number of rounds; `per_round` counts the facts that
    come in each. The lanes get the facts, if they
    have room for them; they need room for one source more than `rows`. So does `round_lane`, which gets the round that
    each fact came in. `queue` needs one place more than the domain.
    """
    source_count = seed_starts.shape[0] - 1
    is_kept = pivot_lane.shape[0] > 0
    has_rounds = round_lane.shape[0] > 0
    source = first
    found = 0
    rounds = 0
    while source < source_count and found < rows:
        mark = np.uint32(source + 1)
        # Without a branch on what was marked before, which is as good as random: the place is written either way.
        tail = 0
        for place in range(seed_starts[source], seed_starts[source + 1]):
            number = seeds[place]
            queue[tail] = number
            tail += int(marks[number] != mark)
            marks[number] = mark
        head = 0
        depth = 0
        while head < tail:
            end_of_round = tail
            per_round[depth] += end_of_round - head
            if has_rounds:
                round_lane[found + head : found + end_of_round] = depth
            depth += 1
            for position in range(head, end_of_round):
                number = queue[position]
                for place in range(starts[number], starts[np.uint64(number) + np.uint64(1)]):
                    target = targets[place]
                    queue[tail] = target
                    tail += int(marks[target] != mark)
                    marks[target] = mark
            head = end_of_round
        if is_kept:
            pivot_lane[found : found + tail] = pivots[source]
            for position in range(tail):
                value_lane[found + position] = values[queue[position]]
        found += tail
        rounds = max(rounds, depth)
        source += 1
    return source, found, rounds
