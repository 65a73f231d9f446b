"""Open-addressed tables of words: how large they are for so many rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.memory import claim, has_room

NO_TABLE: npt.NDArray[np.uint64] = np.zeros(0, np.uint64)


def slots_for(rows: int) -> int:
    """A table is at most three quarters full with that many rows."""
    return 1 << max(4, int(4 * rows // 3).bit_length())


def table_for(rows: int) -> npt.NDArray[np.uint64]:
    """An empty one; memory that is not touched costs no time."""
    slots = slots_for(rows)
    claim(8 * slots)
    return np.zeros(slots, np.uint64)


def is_full(table: npt.NDArray[np.uint64], rows: int) -> bool:
    """Whether so many rows are too many for a table."""
    return 4 * rows > 3 * len(table)


def more_places(rows: int) -> int:
    """For how many rows a table is made that has to take so many now."""
    return 2 * rows if has_room(8 * 6 * rows) else rows
