"""Finding the dense numbers of values."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane

Ranks: TypeAlias = npt.NDArray[np.int32]
"""Numbers of a domain, -1 for none. A domain has fewer values than that, and short numbers stay in the cache."""


@jit
def numbers_in_range(lane: Lane, low: int, high: int, ranks: Ranks) -> Ranks:
    """The rank at each value's distance from `low`, or -1 outside of the range."""
    result = np.empty(lane.shape[0], np.int32)
    for row in range(lane.shape[0]):
        value = lane[row]
        result[row] = ranks[value - low] if low <= value <= high else -1
    return result


@jit
def ranks_of(places: Lane | Ranks, ranks: Ranks) -> Ranks:
    """The rank at each place; -1 stays -1."""
    result = np.empty(places.shape[0], np.int32)
    for row in range(places.shape[0]):
        place = places[row]
        result[row] = ranks[place] if place >= 0 else -1
    return result
