"""Values as dense numbers, and steps between them."""

from __future__ import annotations

import numpy as np
import pytest

from emberlog.workers.store.numbering import domain_of, numbered, packed, standing_still

SPREADS = [
    [3, 1, 4, 1, 5],
    [-3, 0, -2],
    [2**63 - 1, -(2**63), 0],
    [10**15, 10**15 + 7, 10**15],
    [5],
]


@pytest.mark.parametrize("values", SPREADS)
def test_numbers_are_in_the_order_of_the_values(values: list[int]) -> None:
    domain = domain_of([np.array([values[:2]]), np.array([values[2:]], np.int64).reshape(1, -1)], 1)
    assert domain.values[0].tolist() == sorted(set(values))
    assert domain.numbers(np.array([values])).tolist() == [sorted(set(values)).index(value) for value in values]


@pytest.mark.parametrize("values", SPREADS)
def test_what_is_not_in_the_domain_has_no_number(values: list[int]) -> None:
    domain = domain_of([np.array([values])], 1)
    others = [value for value in (-(2**63), -1, 2, 6, 10**15 + 1, 2**62, 2**63 - 1) if value not in values]
    assert set(domain.numbers(np.array([others])).tolist()) == {-1}


def test_an_empty_domain() -> None:
    domain = domain_of([], 1)
    assert domain.count == 0
    assert domain.numbers(np.array([[1, 2]])).tolist() == [-1, -1]
    side = numbered(np.empty((1, 0), np.int64), [np.empty((2, 0), np.int64), None])
    assert side.with_neighbours_together().domain.count == 0
    assert side.all_steps().count == 0
    assert side.steps(1).count == 0


def test_values_of_several_lanes() -> None:
    domain = domain_of([np.array([[2, 1, 2, 1], [0, 9, 0, 3]])], 2)
    assert domain.values.tolist() == [[1, 1, 2], [3, 9, 0]]
    assert domain.numbers(np.array([[2, 1, 9], [0, 3, 2]])).tolist() == [2, 0, -1]


@pytest.mark.parametrize("far", [1, 10**12], ids=["dense", "sparse"])
def test_neighbours_come_together(far: int) -> None:
    """A path with its values in disorder."""
    path = [far * value for value in (50, 3, 41, 7, 22)]
    steps = np.array([path[:-1], path[1:]])
    plain = numbered(np.array([path[:1]]), [steps, None])
    assert plain.domain.values[0].tolist() == sorted(path)
    side = plain.with_neighbours_together()
    assert side.domain.values[0].tolist() == path
    assert side.domain.numbers(np.array([[*path, 5]])).tolist() == [0, 1, 2, 3, 4, -1]
    assert side.steps(0).origins().tolist() == [0, 1, 2, 3]
    assert side.steps(0).targets.tolist() == [1, 2, 3, 4]
    assert side.steps(1).targets.tolist() == [0, 1, 2, 3, 4]


def test_every_number_has_a_place_also_on_cycles() -> None:
    steps = np.array([[9, 8, 7, 3], [8, 7, 9, 3]])
    side = numbered(np.array([[5]]), [steps]).with_neighbours_together()
    assert sorted(side.domain.values[0].tolist()) == [3, 5, 7, 8, 9]
    assert side.domain.numbers(side.domain.values).tolist() == [0, 1, 2, 3, 4]


def test_steps_from_values_that_never_come_are_left_out() -> None:
    side = numbered(np.array([[1]]), [np.array([[1, 8], [2, 1]]), np.array([[1, 2], [2, 9]])])
    assert side.domain.values[0].tolist() == [1, 2, 9]
    assert side.steps(0).count == 1
    assert side.all_steps().count == 2


def test_packing_drops_doubles_and_ends_outside() -> None:
    steps = packed(np.array([2, 0, 2, -1, 2, 1]), np.array([1, 0, 1, 2, 0, -1]), 4)
    assert steps.starts.tolist() == [0, 1, 1, 3, 3]
    assert steps.targets.tolist() == [0, 1, 0]
    assert steps.has_steps().tolist() == [True, False, True, False]
    backward = steps.backward()
    assert sorted(zip(backward.targets.tolist(), backward.origins().tolist(), strict=True)) == [(0, 0), (2, 0), (2, 1)]


def test_standing_still() -> None:
    steps = standing_still(3)
    assert steps.origins().tolist() == steps.targets.tolist() == [0, 1, 2]
