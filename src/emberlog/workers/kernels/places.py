"""Rows as single numbers, a block of them at a time, and the rows that are chosen from a block.

Most relations have two columns. A loop over the lanes of each row takes three times as long as one that knows this.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane, Lanes

Places: TypeAlias = npt.NDArray[np.uint64]

BLOCK = 256
"""Rows that are looked at together: the processor fetches what they need from memory at the same time."""


@jit
def fill_places(places: Places, lanes: Lanes, first: int, size: int, lows: Lane, strides: Lane) -> None:
    """The number of each of so many rows: its values less the lowest ones, each times the stride of its lane."""
    if lanes.shape[0] == 2:
        one, other = lanes[0], lanes[1]
        for row in range(size):
            places[row] = np.uint64(
                (one[first + row] - lows[0]) * strides[0] + (other[first + row] - lows[1]) * strides[1]
            )
        return
    for row in range(size):
        places[row] = np.uint64(0)
    for number in range(lanes.shape[0]):
        lane = lanes[number]
        for row in range(size):
            places[row] += np.uint64((lane[first + row] - lows[number]) * strides[number])


@jit
def append_rows(store: Lanes, count: int, batch: Lanes, chosen: Lane, size: int) -> None:
    """Puts so many chosen rows of the batch behind those of the store."""
    if store.shape[0] == 2:
        one, other = store[0], store[1]
        for row in range(size):
            one[count + row] = batch[0, chosen[row]]
            other[count + row] = batch[1, chosen[row]]
        return
    for number in range(store.shape[0]):
        lane = store[number]
        for row in range(size):
            lane[count + row] = batch[number, chosen[row]]
