"""Finds the closures of sources: everything that each of them reaches, by one source at a time or by many together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.bits import ONE, Words, bit_count, turn
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
    """Closes sources one at a time, from `first` on, until about `rows` facts are found. A mark is the number of its
    source, so that nothing has to be wiped between two sources.

    Returns the number of the next source, the facts and the largest number of rounds; `per_round` counts the facts that
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


@jit
def close_together(
    starts: Numbers,
    targets: Numbers,
    seed_starts: npt.NDArray[np.int64],
    seeds: Numbers,
    chosen: npt.NDArray[np.int64],
    reached: Words,
    fresh: Words,
    coming: Words,
    per_round: npt.NDArray[np.int64],
    most_visits: int,
) -> tuple[int, int]:
    """Closes the chosen sources together, at most one per bit of a row; returns the rounds and the steps that were
    looked at. Every number of the domain has a bit per source, so one step over one word serves 64 sources. A bit is
    handed on in the round after it came.

    `reached` gets the closures. It must be empty, and so must `fresh` and `coming`, which are left empty if the
    closure comes to its end before `most_visits`. `per_round` counts the facts that come in each round.
    """
    words = reached.shape[1]
    count = reached.shape[0]
    active = np.empty(count, np.uint32)
    following = np.empty(count, np.uint32)
    listed = np.zeros(count, np.bool_)
    actives = 0
    for column in range(chosen.shape[0]):
        source = chosen[column]
        word, bit = column >> 6, ONE << np.uint64(column & 63)
        for place in range(seed_starts[source], seed_starts[source + 1]):
            number = seeds[place]
            if fresh[number, word] & bit == np.uint64(0):
                per_round[0] += 1
            fresh[number, word] |= bit
            reached[number, word] |= bit
            if not listed[number]:
                listed[number] = True
                active[actives] = number
                actives += 1
    for position in range(actives):
        listed[active[position]] = False
    rounds = 0
    visits = 0
    while actives > 0:
        rounds += 1
        touched = 0
        for position in range(actives):
            number = active[position]
            begin, end = starts[number], starts[np.uint64(number) + np.uint64(1)]
            visits += end - begin
            for place in range(begin, end):
                target = targets[place]
                for word in range(words):
                    coming[target, word] |= fresh[number, word]
                if not listed[target]:
                    listed[target] = True
                    following[touched] = target
                    touched += 1
        for position in range(actives):
            for word in range(words):
                fresh[active[position], word] = np.uint64(0)
        actives = 0
        gains = 0
        for position in range(touched):
            number = following[position]
            listed[number] = False
            some = np.uint64(0)
            for word in range(words):
                gained = coming[number, word] & ~reached[number, word]
                coming[number, word] = np.uint64(0)
                reached[number, word] |= gained
                fresh[number, word] = gained
                some |= gained
                gains += bit_count(gained)
            if some != np.uint64(0):
                active[actives] = number
                actives += 1
        if actives > 0:
            per_round[rounds] += gains
        if visits > most_visits:
            break
    return rounds, visits


@jit
def weigh(reached: Words, starts: Numbers) -> tuple[int, int]:
    """Counts the facts, and the steps that closing each source by itself looks at."""
    facts, steps = 0, 0
    for number in range(reached.shape[0]):
        sources = 0
        for word in range(reached.shape[1]):
            sources += bit_count(reached[number, word])
        facts += sources
        steps += sources * (int(starts[number + 1]) - int(starts[number]))
    return facts, steps


@jit
def rows_of_sources(reached: Words, rows: Words) -> None:
    """Turns a row per number with a bit per source into a row per source with a bit per number."""
    block = np.empty(64, np.uint64)
    count = reached.shape[0]
    for base in range(0, count, 64):
        height = min(64, count - base)
        for word in range(reached.shape[1]):
            for offset in range(height):
                block[offset] = reached[base + offset, word]
            for offset in range(height, 64):
                block[offset] = np.uint64(0)
            turn(block)
            for bit in range(64):
                rows[64 * word + bit, base >> 6] = block[bit]
