"""Rows are found by their keys: all of them, each once, however heavy a key is."""

from __future__ import annotations

import random

import numpy as np
import pytest

from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.store import indexes
from emberlog.workers.store.indexes import ChainedIndex, PackedIndex, slices
from emberlog.workers.store.stores import SetStore, StaticStore


def random_rows(spread: int, count: int = 500) -> Lanes:
    chance = random.Random(spread)
    return np.array([[chance.randrange(40) * spread for _ in range(count)] for _ in range(3)], np.int64)


def by_hand(rows: Lanes, keys: tuple[int, ...], probes: Lanes) -> set[tuple[int, int]]:
    return {
        (probe, row)
        for probe in range(probes.shape[1])
        for row in range(rows.shape[1])
        if all(rows[key, row] == probes[place, probe] for place, key in enumerate(keys))
    }


@pytest.mark.parametrize("spread", [1, 10**13], ids=["dense", "hashed"])
@pytest.mark.parametrize("keys", [(0,), (2,), (0, 1), (2, 0, 1)])
def test_a_packed_index(spread: int, keys: tuple[int, ...]) -> None:
    rows = random_rows(spread)
    index = PackedIndex(StaticStore(rows), keys)
    probes = np.ascontiguousarray(np.concatenate([rows[list(keys), :60], rows[list(keys), :3] - 1], axis=1))
    expected = by_hand(rows, keys, probes)
    found = [
        (probe, *values)
        for match in index.matches(probes)
        for probe, *values in zip(
            match.probes.tolist(), *(index.column(column, match.rows).tolist() for column in range(3)), strict=True
        )
    ]
    assert sorted(found) == sorted((probe, *rows[:, row].tolist()) for probe, row in expected)
    has_match = {probe for probe, _ in expected}
    assert index.contains(probes).tolist() == [probe in has_match for probe in range(probes.shape[1])]


def test_a_packed_index_over_nothing() -> None:
    index = PackedIndex(StaticStore(np.empty((2, 0), np.int64)), (0,))
    probes = np.array([[1, 2]], np.int64)
    assert list(index.matches(probes)) == []
    assert index.contains(probes).tolist() == [False, False]


def test_a_chained_index_grows_and_can_look_at_the_past() -> None:
    store = SetStore(2)
    index = ChainedIndex(store, (1,))
    sizes = []
    for size in (3, 400, 2_000):
        chance = random.Random(size)
        store.add(np.array([[chance.randrange(10_000) for _ in range(size)], [i % 7 for i in range(size)]], np.int64))
        index.catch_up()
        sizes.append(store.count)
    probes = np.arange(8, dtype=np.int64)[None]
    for below in sizes:
        matches = [np.stack([match.probes, match.rows]) for match in index.matches(probes, below)]
        found = list(zip(*np.concatenate(matches, axis=1).tolist(), strict=True))
        assert len(found) == len(set(found))
        assert set(found) == by_hand(store.all[:, :below], (1,), probes)


def test_a_heavy_key_comes_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "MOST_PAIRS", 10)
    counts = np.array([3, 0, 25, 4, 4, 4, 0], np.int64)
    parts = list(slices(counts))
    assert [sum(counts[begin:end]) for begin, end, _ in parts] == [total for _, _, total in parts]
    assert sum(total for _, _, total in parts) == counts.sum()
    assert all(total <= 10 or end - begin == 1 for begin, end, total in parts)
    index = PackedIndex(StaticStore(np.zeros((1, 12), np.int64)), (0,))
    probes = np.zeros((1, 5), np.int64)
    assert [len(match.probes) for match in index.matches(probes)] == [12] * 5
