"""Finding the dense numbers of values."""

from __future__ import annotations

import numpy as np

from emberlog.executors.cyclic.kernels.jit import jit
from emberlog.executors.cyclic.lanes import Lane


@jit
def numbers_in_range(lane: Lane, low: int, high: int, ranks: Lane) -> Lane:
    """The rank at each value's distance from `low`, or -1 outside of the range."""
    result = np.empty(lane.shape[0], np.int64)
    for row in range(lane.shape[0]):
        value = lane[row]
        result[row] = ranks[value - low] if low <= value <= high else -1
    return result


@jit
def ranks_of(places: Lane, ranks: Lane) -> Lane:
    """The rank at each place; -1 stays -1."""
    result = np.empty(places.shape[0], np.int64)
    for row in range(places.shape[0]):
        place = places[row]
        result[row] = ranks[place] if place >= 0 else -1
    return result
