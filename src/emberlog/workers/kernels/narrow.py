"""Lanes in fewer bytes, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane


@jit
def range_of(lane: Lane) -> tuple[int, int]:
    """The lowest and the highest value of a lane that has some."""
    low = high = lane[0]
    for value in lane:
        low = min(low, value)
        high = max(high, value)
    return low, high


@jit
def narrow(values: npt.NDArray[np.unsignedinteger[Any]], lane: Lane, low: int) -> None:
    for row in range(len(lane)):
        values[row] = lane[row] - low


@jit
def widen(lane: Lane, values: npt.NDArray[np.unsignedinteger[Any]], low: int) -> None:
    for row in range(len(lane)):
        lane[row] = np.int64(values[row]) + low
