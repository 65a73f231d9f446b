"""Closing sources one at a time."""

from __future__ import annotations

import numpy as np

from emberlog.workers.kernels.closures import close_sources
from emberlog.workers.store.numbering import packed

NOTHING = np.empty(0, np.int64)
NO_ROUNDS = np.empty(0, np.int32)


def closed(
    steps: list[tuple[int, int]], seeds: list[list[int]], count: int, rows: int = 1000, first: int = 0
) -> tuple[int, int, int, list[tuple[int, int]], list[int]]:
    """The next source, the facts, the rounds, the facts themselves and how many came in each round."""
    ends = np.array(steps, np.int32).reshape(-1, 2)
    one = packed(ends[:, 0], ends[:, 1], count)
    seed_starts = np.cumsum([0, *map(len, seeds)])
    flat = np.array([seed for group in seeds for seed in group], np.uint32)
    left, right, came_in = np.empty(2000, np.int64), np.empty(2000, np.int64), np.empty(2000, np.int32)
    per_round = np.zeros(count + 1, np.int64)
    marks, queue = np.zeros(count, np.uint32), np.empty(count + 1, np.uint32)
    pivots, values = np.arange(len(seeds)) + 100, -np.arange(count)
    source, found, rounds = close_sources(
        one.starts,
        one.targets,
        seed_starts,
        flat,
        first,
        marks,
        queue,
        rows,
        per_round,
        pivots,
        values,
        left,
        right,
        came_in,
    )
    assert np.bincount(came_in[:found], minlength=rounds).tolist() == per_round[:rounds].tolist()
    facts = list(zip(left[:found].tolist(), right[:found].tolist(), strict=True))
    return source, found, rounds, facts, per_round[:rounds].tolist()


def test_facts_come_with_their_values_and_rounds() -> None:
    source, found, rounds, facts, per_round = closed([(0, 1), (1, 2), (2, 0)], [[0], [2, 2]], 4)
    assert (source, found, rounds) == (2, 6, 3)
    assert facts == [(100, 0), (100, -1), (100, -2), (101, -2), (101, 0), (101, -1)]
    assert per_round == [2, 2, 2]


def test_a_source_without_seeds_has_no_facts() -> None:
    assert closed([(0, 1)], [[], [1], []], 2)[:3] == (3, 1, 1)


def test_it_stops_behind_the_source_that_fills_the_batch() -> None:
    source, found, _, facts, _ = closed([(0, 1)], [[0], [0], [0], [0]], 2, rows=3)
    assert (source, found) == (2, 4)
    assert facts == [(100, 0), (100, -1), (101, 0), (101, -1)]
    assert closed([(0, 1)], [[0], [0], [0], [0]], 2, first=source)[3] == [(102, 0), (102, -1), (103, 0), (103, -1)]


def test_counting_needs_no_room() -> None:
    steps = packed(np.array([0, 1]), np.array([1, 2]), 3)
    seeds = np.array([0, 1], np.uint32)
    marks, queue, per_round = np.zeros(3, np.uint32), np.empty(4, np.uint32), np.zeros(4, np.int64)
    inputs = (steps.starts, steps.targets, np.array([0, 1, 2]), seeds, 0, marks, queue, 99, per_round)
    assert close_sources(*inputs, NOTHING, NOTHING, NOTHING, NOTHING, NO_ROUNDS) == (2, 5, 3)
    assert per_round.tolist() == [2, 2, 1, 0]
