"""Writes lanes in as few bytes as the range of their values needs, which takes a fraction of the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane
from emberlog.workers.kernels.tuning import NARROW_BLOCK


@jit
def range_of(lane: Lane) -> tuple[int, int]:
    """Returns the lowest and the highest value of a lane that has some."""
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


WHOLE = 8
_SIZES = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Says how the values of a lane are written: less the lowest, in so many bytes each."""

    low: int
    size: int

    def blocks(self, lane: Lane) -> Iterator[memoryview]:
        """Yields the lane as bytes. A block holds until the next one is asked for."""
        room = np.empty(min(NARROW_BLOCK, len(lane)), f"u{self.size}")
        for begin in range(0, len(lane), NARROW_BLOCK):
            part = lane[begin : begin + NARROW_BLOCK]
            narrow(room, part, self.low)
            yield room[: len(part)].data.cast("B")

    def filled(self, lane: Lane) -> Iterator[memoryview]:
        """Fills a lane: gives room for the bytes of one block after the other, and takes what is there then."""
        room = np.empty(min(NARROW_BLOCK, len(lane)), f"u{self.size}")
        for begin in range(0, len(lane), NARROW_BLOCK):
            part = lane[begin : begin + NARROW_BLOCK]
            yield room[: len(part)].data.cast("B")
            widen(part, room, self.low)


def narrowest(lane: Lane) -> Narrowed:
    if not len(lane):
        return Narrowed(0, _SIZES[0])
    low, high = range_of(lane)
    size = next((size for size in _SIZES if high - low < 1 << 8 * size), WHOLE)
    return Narrowed(low if size < WHOLE else 0, size)
