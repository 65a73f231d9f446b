"""How a set knows its rows: which way is chosen, and that it may change while rows come."""

from __future__ import annotations

import random

import numpy as np
import pytest

from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.store.memberships import BitPerRow, Membership, PackedRows, RowNumbers, membership_for
from emberlog.workers.store.stores import SetStore

LARGEST = 2**63 - 1


def lanes(*rows: tuple[int, ...]) -> Lanes:
    return np.array(rows, np.int64).T.copy()


@pytest.mark.parametrize(
    ("ends", "rows", "kind"),
    [
        ([(0, 0), (99, 99)], 1_000, BitPerRow),
        ([(-50, -50), (49, 49)], 1_000, BitPerRow),
        ([(LARGEST - 99, -LARGEST - 1), (LARGEST, -LARGEST + 98)], 1_000, BitPerRow),
        ([(0, 0), (9_999, 9_999)], 1_000, PackedRows),
        ([(0, 0), (9_999, 9_999)], 2_000_000, BitPerRow),
        ([(0, 5), (LARGEST, 5)], 1_000, PackedRows),
        ([(0, 0), (LARGEST, 1)], 1_000, RowNumbers),
        ([(-LARGEST, 0), (LARGEST, 0)], 1_000, RowNumbers),
    ],
    ids=["few values", "negative", "at the ends", "many values", "many values and rows", "all bits", "wide", "widest"],
)
def test_bits_are_for_ranges_that_are_small_beside_the_rows(
    ends: list[tuple[int, ...]], rows: int, kind: type[Membership]
) -> None:
    assert type(membership_for((lanes(*ends),), rows)) is kind


def test_rows_without_values_have_numbers() -> None:
    assert isinstance(membership_for((np.empty((0, 3), np.int64),), 16), RowNumbers)
    assert isinstance(membership_for((np.empty((2, 0), np.int64),), 16), RowNumbers)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_set_knows_its_rows_while_their_ranges_widen(width: int) -> None:
    chance = random.Random(width)
    store, known, kinds = SetStore(width), dict[tuple[int, ...], None](), set[type[Membership]]()
    for values in (2, 3, 5, 8, 30, 1_000, 10**6, 2**62):
        batch = [tuple(chance.randrange(-values, values) for _ in range(width)) for _ in range(500)]
        store.add(lanes(*batch))
        known.update(dict.fromkeys(batch))
        kinds.add(type(store.membership))
        assert list(zip(*store.all.tolist(), strict=True)) == list(known)
        assert store.contains_all(lanes(*batch))
        assert not store.contains_all(lanes(tuple(values for _ in range(width))))
    assert kinds == ({BitPerRow, PackedRows} if width == 1 else {BitPerRow, PackedRows, RowNumbers})


def test_a_lane_of_one_value_beside_one_of_all() -> None:
    store = SetStore(2)
    for _ in range(2):
        store.add(lanes(*((value, 5) for value in (0, 7, LARGEST, LARGEST - 1, *range(20, 40)))))
    assert isinstance(store.membership, PackedRows)
    assert store.count == 24


@pytest.mark.parametrize("values", [10, 10**6, 2**62], ids=["bits", "words", "numbers"])
def test_rows_that_are_taken_over_are_known(values: int) -> None:
    chance = random.Random(values)
    rows = lanes(*dict.fromkeys((chance.randrange(values), chance.randrange(values)) for _ in range(60)))
    store = SetStore(2)
    store.take_over(rows, rows.shape[1])
    count = store.count
    store.add(rows)
    assert store.count == count
