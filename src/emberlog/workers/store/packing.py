"""Several lanes in one word: each gets as many bits as the range of its values needs, and a share of those left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emberlog.workers.kernels.lanes import Lane, Lanes

BITS = 63
LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    lows: Lane
    highs: Lane
    strides: Lane
    """What a value is worth in the word, less the lowest."""

    def holds(self, rows: Lanes) -> bool:
        return within(rows, self.lows, self.highs)


def within(rows: Lanes, lows: Lane, highs: Lane) -> bool:
    """Whether every value lies in the range of its lane."""
    return bool((rows.min(axis=1) >= lows).all() and (rows.max(axis=1) <= highs).all())


def ranges_of(parts: Sequence[Lanes]) -> tuple[list[int], list[int]] | None:
    """The lowest and the highest value of each lane; None if there are no values."""
    known = [part for part in parts if part.shape[1]]
    if not known or not known[0].shape[0]:
        return None
    lows = np.min([part.min(axis=1) for part in known], axis=0).tolist()
    return lows, np.max([part.max(axis=1) for part in known], axis=0).tolist()


def packing_for(lows: Sequence[int], highs: Sequence[int]) -> Packing | None:
    """A packing for rows in these ranges, with some room around them; None if they do not fit into a word."""
    widths = _widths(lows, highs)
    if sum(widths) > BITS:
        return None
    # Most numbers begin at 0, and those that come later may be smaller than those that came first.
    from_zero = [min(low, 0) for low in lows]
    if sum(_widths(from_zero, highs)) <= BITS:
        lows, widths = from_zero, _widths(from_zero, highs)
    spare = (BITS - sum(widths)) // len(widths)
    widths = [width + spare for width in widths]
    # A lane behind the last bit has one value only, which counts as 0 whatever its stride is.
    strides = [1 << min(sum(widths[:lane]), BITS - 1) for lane in range(len(widths))]
    reach = [min(low + (1 << width) - 1, LARGEST) for low, width in zip(lows, widths, strict=True)]
    return Packing(np.array(lows, np.int64), np.array(reach, np.int64), np.array(strides, np.int64))


def _widths(lows: Sequence[int], highs: Sequence[int]) -> list[int]:
    return [(high - low).bit_length() for low, high in zip(lows, highs, strict=True)]
