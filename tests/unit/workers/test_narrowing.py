"""Lanes as bytes and back."""

from __future__ import annotations

import numpy as np
import pytest

from emberlog.workers.kernels.narrow import narrowest
from emberlog.workers.kernels.tuning import NARROW_BLOCK

_LOWEST, _HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@pytest.mark.parametrize(
    ("low", "high", "size"),
    [
        (7, 7, 1),
        (-3, 252, 1),
        (-3, 253, 2),
        (_LOWEST, _LOWEST + 65_535, 2),
        (_HIGHEST - 65_536, _HIGHEST, 4),
        (0, 2**32 - 1, 4),
        (0, 2**32, 8),
        (_LOWEST, _HIGHEST, 8),
    ],
)
@pytest.mark.parametrize("rows", [2, NARROW_BLOCK, 2 * NARROW_BLOCK + 3])
def test_there_and_back(low: int, high: int, size: int, rows: int) -> None:
    lane = np.full(rows, low, np.int64)
    lane[-1], lane[rows // 2] = low, high
    narrowed = narrowest(lane)
    written = b"".join(bytes(block) for block in narrowed.blocks(lane))
    assert (narrowed.size, len(written)) == (size, size * rows)
    again, place = np.zeros_like(lane), 0
    for room in narrowed.filled(again):
        room[:] = written[place : place + len(room)]
        place += len(room)
    assert np.array_equal(again, lane)


def test_every_second_value_of_an_array() -> None:
    """As in lanes that are no block of memory."""
    lane = np.arange(10, dtype=np.int64)[::2]
    assert b"".join(bytes(block) for block in narrowest(lane).blocks(lane)) == bytes([0, 2, 4, 6, 8])
