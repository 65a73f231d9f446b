"""Sets of bits: the kernels, each against plain Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

from emberlog.workers.kernels.bit_rows import (
    PLACE_BITS,
    FullRows,
    RightSteps,
    add_rows,
    clear_rows,
    empty_delta,
    gather_rows,
)
from emberlog.workers.kernels.bits import bit_count, count_bits, list_rows, lowest_bit, turn, words_for
from emberlog.workers.kernels.closures import close_together, rows_of_sources, weigh
from emberlog.workers.store.numbering import Steps, packed, standing_still

WORDS = [0, 1, 2**63, 2**64 - 1, 0b1011000, 2**40 + 2**3]


@pytest.mark.parametrize("word", WORDS)
def test_bits_of_a_word(word: int) -> None:
    assert bit_count(np.uint64(word)) == word.bit_count()
    if word:
        assert lowest_bit(np.uint64(word)) == (word & -word).bit_length() - 1


def test_words_for() -> None:
    assert [words_for(count) for count in (0, 1, 64, 65, 128)] == [0, 1, 1, 2, 2]


def test_turning_a_block_turns_every_bit() -> None:
    chance = random.Random(1)
    block = np.array([chance.getrandbits(64) for _ in range(64)], np.uint64)
    turned = block.copy()
    turn(turned)
    for row in range(64):
        for bit in range(64):
            assert (int(turned[row]) >> bit) & 1 == (int(block[bit]) >> row) & 1


def rows_of(sets: list[set[int]], count: int) -> np.ndarray:
    rows = np.zeros((len(sets), words_for(count)), np.uint64)
    for row, numbers in enumerate(sets):
        for number in numbers:
            rows[row, number >> 6] |= np.uint64(1 << (number & 63))
    return rows


def sets_of(rows: np.ndarray) -> list[set[int]]:
    return [{64 * w + b for w in range(rows.shape[1]) for b in range(64) if int(row[w]) >> b & 1} for row in rows]


def test_listing_rows() -> None:
    sets = [{0, 63, 64, 129}, set(), set(range(130)), {5}]
    rows = rows_of(sets, 130)
    values, pivots = 1000 + np.arange(130), np.array([7, 8, 9, 10])
    left, right = np.empty(300, np.int64), np.empty(300, np.int64)
    row, found = list_rows(rows, 0, 4, 5, pivots, values, left, right)
    assert (row, found) == (3, 134)
    expected = [(7, 1000 + n) for n in sorted(sets[0])] + [(9, 1000 + n) for n in range(130)]
    assert list(zip(left[:found].tolist(), right[:found].tolist(), strict=True)) == expected
    assert list_rows(rows, 3, 4, 5, pivots, values, left, right) == (4, 1)
    assert (left[0], right[0]) == (10, 1005)
    assert count_bits(rows) == 135


def random_steps(seed: int, count: int, steps: int) -> Steps:
    chance = random.Random(seed)
    ends = np.array([[chance.randrange(count), chance.randrange(count)] for _ in range(steps)], np.int32)
    return packed(ends[:, 0], ends[:, 1], count)


def targets_of(steps: Steps, number: int) -> set[int]:
    return set(steps.targets[steps.starts[number] : steps.starts[number + 1]].tolist())


def closure(steps: Steps, seeds: set[int]) -> list[set[int]]:
    """What comes in each round."""
    rounds, known = [], set[int]()
    while seeds - known:
        rounds.append(seeds - known)
        known |= seeds
        seeds = {target for number in rounds[-1] for target in targets_of(steps, number)}
    return rounds


@pytest.mark.parametrize("words", [1, 2, 8])
def test_closing_lanes(words: int) -> None:
    count, steps = 90, random_steps(words, 90, 120)
    chance = random.Random(words)
    seeds = [{chance.randrange(count) for _ in range(chance.randrange(3))} for _ in range(200)]
    chosen = np.array(chance.sample(range(200), 60 * min(words, 3)), np.int64)
    seed_starts = np.cumsum([0, *map(len, seeds)])
    flat = np.array([seed for group in seeds for seed in group], np.uint32)
    reached, fresh, coming = (np.zeros((count, words), np.uint64) for _ in range(3))
    per_round = np.zeros(count + 1, np.int64)
    rounds, visits = close_together(
        steps.starts, steps.targets, seed_starts, flat, chosen, reached, fresh, coming, per_round, 1 << 40
    )
    expected = [closure(steps, seeds[source]) for source in chosen]
    rows = np.empty((64 * words, words_for(count)), np.uint64)
    rows_of_sources(reached, rows)
    found = sets_of(rows)
    assert found[: len(chosen)] == [set().union(*one) for one in expected]
    assert not any(found[len(chosen) :])
    assert rounds == max(map(len, expected))
    counted = [sum(len(one[place]) for one in expected if len(one) > place) for place in range(rounds)]
    assert per_round[:rounds].tolist() == counted
    assert not per_round[rounds:].any()
    assert not fresh.any()
    assert not coming.any()
    facts, alone = weigh(reached, steps.starts)
    degrees = [len(targets_of(steps, number)) for number in range(count)]
    assert facts == sum(counted)
    assert alone == sum(degrees[number] for one in expected for some in one for number in some)
    assert 0 < visits <= alone


@pytest.mark.parametrize("density", [0.02, 0.9], ids=["pushed", "pulled"])
def test_gathering_and_adding_rows(density: float) -> None:
    """One round, with few partners, which are handed on, and with many, which are looked for."""
    count, workers, worker = 150, 2, 1
    left_steps, right_steps = random_steps(1, count, 200), random_steps(2, count, 1500)
    chance = random.Random(3)
    own = list(range(worker, count, workers))
    going_on = [number for number in own if targets_of(left_steps, number)]
    partners = {number: {b for b in range(count) if chance.random() < density} for number in going_on}
    rows_of_delta = np.full(len(own), -1, np.int64)
    rows_of_delta[[own.index(number) for number in going_on]] = np.arange(len(going_on))
    everything = np.full(words_for(count), 2**64 - 1, np.uint64)
    full = FullRows(np.zeros((len(own), words_for(count)), np.uint64), rows_of_delta, everything, workers, worker)
    delta, coming = empty_delta(len(going_on), words_for(count)), empty_delta(len(going_on), words_for(count))
    pairs = [(a, b) for a, some in partners.items() for b in sorted(some)]
    places = np.array([a << PLACE_BITS | b >> 6 for a, b in pairs])
    bits = np.array([1 << (b & 63) for _, b in pairs], np.uint64)
    still = standing_still(count)
    assert add_rows(places, bits, still.starts, still.targets, full, delta) == len(pairs)
    assert sets_of(full.words) == [partners.get(number, set()) for number in own]
    assert add_rows(places, bits, still.starts, still.targets, full, coming) == 0
    assert coming.tally[0] == 0

    backward = right_steps.backward()
    steps = RightSteps(
        right_steps.starts, right_steps.targets, backward.starts, backward.targets, left_steps.has_steps()
    )
    row = np.zeros(words_for(count), np.uint64)
    places, bits = np.empty(10, np.int64), np.empty(10, np.uint64)
    gathered: dict[int, set[int]] = {}
    first = added = 0
    while first < delta.tally[0]:
        first, entries = gather_rows(first, np.array(going_on), delta, steps, row, places, bits)
        added += add_rows(places[:entries], bits[:entries], left_steps.starts, left_steps.targets, full, coming)
        for place, word in zip(places[:entries].tolist(), bits[:entries].tolist(), strict=True):
            found = {64 * (place & 0xFFFFFFFF) + bit for bit in range(64) if word >> bit & 1}
            gathered.setdefault(place >> PLACE_BITS, set()).update(found)
    expected = {a: {t for b in some for t in targets_of(right_steps, b)} for a, some in partners.items()}
    assert gathered == {a: some for a, some in expected.items() if some}
    after = {a: set(partners.get(a, set())) for a in own}
    for a, some in expected.items():
        for target in targets_of(left_steps, a):
            if target % workers == worker:
                after[target] |= some
    assert sets_of(full.words) == [after[number] for number in own]
    assert added == sum(map(len, after.values())) - len(pairs)
    new = {a: after[a] - partners[a] for a in going_on}
    assert sets_of(coming.words) == [new[number] for number in going_on]
    assert sorted(coming.filled[: coming.tally[0]].tolist()) == [i for i, a in enumerate(going_on) if new[a]]
    clear_rows(coming)
    assert not coming.words.any()
    assert coming.tally[0] == 0
