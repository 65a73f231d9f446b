"""The resident relations and the hash tables under them, against dicts and sets of Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

from emberlog.workers.kernels import tables
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.kernels.tuning import CHUNK
from emberlog.workers.store.stores import KeyedStore, SetStore


def lanes(*rows: tuple[int, ...]) -> Lanes:
    return np.array(rows, np.int64).T.copy()


def rows(batch: Lanes) -> list[tuple[int, ...]]:
    return list(zip(*batch.tolist(), strict=True))


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("values", [7, 10**12], ids=["many repeats", "few repeats"])
def test_a_set_keeps_each_row_once_in_the_order_of_its_coming(width: int, values: int) -> None:
    chance = random.Random(width)
    store, known = SetStore(width), dict[tuple[int, ...], None]()
    for size in (0, 1, 50, 3_000):
        batch = [tuple(chance.randrange(-values, values) for _ in range(width)) for _ in range(size)]
        store.add(lanes(*batch) if batch else np.empty((width, 0), np.int64))
        known.update(dict.fromkeys(batch))
        assert rows(store.all) == list(known)


def test_a_set_takes_more_than_a_chunk() -> None:
    store = SetStore(1)
    store.add(np.arange(2 * CHUNK + 5, dtype=np.int64)[None] // 2)
    assert store.count == CHUNK + 3


def test_the_delta_of_a_set_is_what_came_since() -> None:
    store = SetStore(1)
    store.add(lanes((1,), (2,)))
    assert (store.fresh, store.advance()) == (2, 2)
    store.add(lanes((2,), (3,)))
    assert rows(store.delta) == [(1,), (2,)]  # until the round is over
    assert (store.fresh, store.advance()) == (1, 1)
    assert rows(store.delta) == [(3,)]
    assert store.advance() == 0


@pytest.mark.parametrize(
    ("rules", "batch", "expected"),
    [
        ((tables.MIN,), [(1, 5), (1, 3), (1, 4), (2, 9)], [(1, 3), (2, 9)]),
        ((tables.MAX,), [(1, 5), (1, 7), (1, 4)], [(1, 7)]),
        ((tables.SUM_INT,), [(1, 5), (1, -7), (2, 1)], [(1, -2), (2, 1)]),
        ((tables.ARG_MIN, tables.CHOICE), [(1, 5, 8), (1, 3, 9), (1, 3, 7), (1, 4, 0)], [(1, 3, 7)]),
        ((tables.ARG_MAX, tables.CHOICE), [(1, 5, 8), (1, 5, 9), (1, 6, 7), (1, 6, 8)], [(1, 6, 7)]),
        ((tables.MIN, tables.MAX), [(1, 5, 5), (1, 3, 3), (1, 9, 9)], [(1, 3, 9)]),
    ],
)
def test_contributions_improve_the_row_of_their_key(
    rules: tuple[int, ...], batch: list[tuple[int, ...]], expected: list[tuple[int, ...]]
) -> None:
    store = KeyedStore(1, rules)
    assert store.add(lanes(*batch))
    assert rows(store.all) == expected


def test_floats_are_added_as_floats() -> None:
    store = KeyedStore(1, (tables.SUM_FLOAT,))
    values = np.array([0.5, 0.25]).view(np.int64)
    assert store.add(np.stack([np.array([1, 1], np.int64), values]))
    assert store.all[1].view(np.float64).tolist() == [0.75]


def test_only_rows_that_changed_are_in_the_delta() -> None:
    store = KeyedStore(1, (tables.MIN,))
    store.add(lanes((1, 5), (2, 5)))
    assert store.advance() == 2
    store.add(lanes((1, 6), (2, 4), (2, 3), (3, 1)))
    assert (store.fresh, store.advance()) == (2, 2)
    assert sorted(rows(store.delta)) == [(2, 3), (3, 1)]
    store.add(lanes((2, 3)))
    assert store.advance() == 0


def test_a_sum_that_does_not_fit_is_told() -> None:
    store = KeyedStore(1, (tables.SUM_INT,))
    assert store.add(lanes((1, 2**62)))
    assert not store.add(lanes((1, 2**62)))


@pytest.mark.parametrize("spread", [1, 10**12], ids=["looked up directly", "hashed"])
def test_many_keys_against_a_dict(spread: int) -> None:
    chance = random.Random(spread)
    store, best = KeyedStore(1, (tables.MIN,)), dict[int, int]()
    for _ in range(5):
        batch = [(chance.randrange(2_000) * spread, chance.randrange(1_000)) for _ in range(3_000)]
        store.add(lanes(*batch))
        store.advance()
        for key, value in batch:
            best[key] = min(value, best.get(key, value))
    assert dict(rows(store.all)) == best  # type: ignore[arg-type]
