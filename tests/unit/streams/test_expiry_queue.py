"""The queue by slide: what expires is found without looking at what does not."""

from __future__ import annotations

import numpy as np

from emberlog.streams.plan.expiring_program import NEVER
from emberlog.streams.state.frontier_store import ExpiryQueue


def test_rows_come_out_with_the_slide_after_their_last() -> None:
    queue = ExpiryQueue()
    queue.enter(np.array([1, 2, 3]), np.array([5, 4, 5]))
    queue.enter(np.array([4]), np.array([4]))
    assert queue.take(4).tolist() == []
    assert queue.take(5).tolist() == [2, 4]
    assert queue.take(6).tolist() == [1, 3]
    assert queue.entries == 0


def test_what_never_expires_is_not_entered() -> None:
    queue = ExpiryQueue()
    queue.enter(np.array([1, 2]), np.array([NEVER, 3]))
    assert queue.entries == 1


def test_slides_that_are_left_out_are_made_up_for() -> None:
    queue = ExpiryQueue()
    queue.enter(np.array([1, 2, 3]), np.array([0, 1_000, 10**9]))
    assert sorted(queue.take(10**9).tolist()) == [1, 2]
    assert queue.take(10**9 + 1).tolist() == [3]
