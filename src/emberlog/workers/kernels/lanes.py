"""Values as 64-bit lanes: an int, a bool or a timestamp as it is, a float as an int in the same order, text as a code.

With floats in the order of ints, `min`, `max`, comparisons, equality and hashes need no types.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.memory import claim

Lane: TypeAlias = npt.NDArray[np.int64]
"""One column of a batch."""
Lanes: TypeAlias = npt.NDArray[np.int64]
"""A batch of rows: lane by lane."""
Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
"""Which rows of a batch are meant."""


def no_rows(width: int) -> Lanes:
    return np.empty((width, 0), np.int64)


def joined(batches: list[Lanes], width: int) -> Lanes:
    """All rows of several batches."""
    if not batches:
        return no_rows(width)
    if len(batches) == 1:
        return batches[0]
    claim(sum(batch.nbytes for batch in batches))
    return np.concatenate(batches, axis=1)
