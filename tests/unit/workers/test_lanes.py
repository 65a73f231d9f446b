"""Values as lanes: order, equality and back."""

from __future__ import annotations

import math

import numpy as np

from emberlog.workers.kernels.lanes import floats_to_lane, joined, lane_to_floats, no_rows

FLOATS = [-math.inf, -1e308, -2.5, -5e-324, 0.0, 5e-324, 0.5, 1.0, 1e308, math.inf]


def test_floats_keep_their_order_as_ints() -> None:
    lane = floats_to_lane(np.array(FLOATS))
    assert lane.dtype == np.int64
    assert bool((np.diff(lane) > 0).all())


def test_floats_come_back() -> None:
    assert lane_to_floats(floats_to_lane(np.array(FLOATS))).tolist() == FLOATS


def test_equal_floats_are_one_int() -> None:
    zeros = floats_to_lane(np.array([0.0, -0.0]))
    other_nan = np.array([0x7FF8000000000001], np.int64).view(np.float64)[0]
    nans = floats_to_lane(np.array([math.nan, -math.nan, other_nan]))
    assert len(set(zeros.tolist())) == 1
    assert len(set(nans.tolist())) == 1


def test_batches_are_joined_by_rows() -> None:
    one, other = np.array([[1], [2]], np.int64), np.array([[3, 5], [4, 6]], np.int64)
    assert joined([one, other], 2).tolist() == [[1, 3, 5], [2, 4, 6]]
    assert joined([], 3).shape == no_rows(3).shape == (3, 0)
