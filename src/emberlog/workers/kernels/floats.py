"""Floats as ints in the same order, and back, in one pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit

_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_NAN = np.float64(np.nan).view(np.int64)


@jit
def floats_to_lane(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """-0.0 becomes 0.0, and every NaN the same NaN."""
    result = np.empty(values.shape[0], np.int64)
    floats = result.view(np.float64)
    for place in range(values.shape[0]):
        value = values[place]
        if value != value:
            result[place] = _NAN
        else:
            floats[place] = value + 0.0
            if result[place] < 0:
                result[place] ^= _SIGN
    return result


@jit
def lane_to_floats(lane: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    result = np.empty(lane.shape[0], np.int64)
    for place in range(lane.shape[0]):
        bits = lane[place]
        result[place] = bits ^ _SIGN if bits < 0 else bits
    return result.view(np.float64)
