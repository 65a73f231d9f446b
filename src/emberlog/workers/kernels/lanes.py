"""Holds values as 64-bit lanes: an int, bool or timestamp as it is, a float as an int in the same order, text as a
code, null as the smallest int.

With floats in the order of ints, `min`, `max`, comparisons, equality and hashes need no types.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.datatypes import INT_MIN
from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.memory import claim

Lane: TypeAlias = npt.NDArray[np.int64]
"""One column of a batch."""
Lanes: TypeAlias = npt.NDArray[np.int64]
"""A batch of rows: lane by lane."""
Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
"""Which rows of a batch are meant."""


NULL = INT_MIN
"""What a null is in a lane. No float and no code is that; an int that is, is not kept where there may be nulls."""


def no_rows(width: int) -> Lanes:
    return np.empty((width, 0), np.int64)


def joined(batches: list[Lanes], width: int) -> Lanes:
    """Returns all rows of several batches."""
    if not batches:
        return no_rows(width)
    if len(batches) == 1:
        return batches[0]
    claim(sum(batch.nbytes for batch in batches))
    return np.concatenate(batches, axis=1)


def chosen(lanes: Lanes, rows: Lane | Mask) -> Lanes:
    """Returns some rows, by their numbers or by a mask: what `lanes[:, rows]` is, in an order of memory that numpy
    fills several times as fast."""
    found: Lanes = lanes.compress(rows, axis=1) if rows.dtype == np.bool_ else lanes.take(rows, axis=1)
    return found


_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_NAN = np.float64(np.nan).view(np.int64)


@jit
def floats_to_lane(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Returns floats as ints in the same order. -0.0 becomes 0.0, and every NaN the same NaN."""
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
