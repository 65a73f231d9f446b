"""Combines the result of a join at once, pair by pair, without writing it out.

`numbers` has the group of each probe, `starts` where the groups begin in a packed index; `keys` and `values` are
columns in its order. The value of a pair is that of the probe (`base`), that of the row, or their sum.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Floats, Lane, Lanes

OVERFLOW = -1


@jit
def join_extreme(
    numbers: Lane,
    starts: Lane,
    keys: Lane,
    base: Lane,
    values: Lane,
    has_base: bool,
    has_values: bool,
    rows_of: npt.NDArray[np.int32],
    low: int,
    store: Lanes,
    count: int,
    is_max: bool,
    stamps: Lane,
    stamp: int,
    changed: Lane,
    changes: int,
) -> tuple[int, int]:
    """Joins into a lone minimum or maximum by a key that is looked up directly; see `upsert_dense_extreme`."""
    sign = np.int64(-1) if is_max else np.int64(0)
    for probe in range(numbers.shape[0]):
        group = numbers[probe]
        if group < 0:
            continue
        own = base[probe] if has_base else np.int64(0)
        for place in range(starts[group], starts[group + 1]):
            value = own
            if has_values:
                other = values[place]
                value = own + other
                if ((own ^ value) & (other ^ value)) < 0:
                    return OVERFLOW, changes
            position = keys[place] - low
            known = np.int64(rows_of[position]) - 1
            if known < 0:
                store[0, count] = keys[place]
                store[1, count] = value
                rows_of[position] = count + 1
                stamps[count] = stamp
                changed[changes] = count
                changes += 1
                count += 1
            elif (value ^ sign) < (store[1, known] ^ sign):
                store[1, known] = value
                if stamps[known] != stamp:
                    stamps[known] = stamp
                    changed[changes] = known
                    changes += 1
    return count, changes


@jit
def add_pairs(numbers: Lane, starts: Lane, keys: Lane, base: Floats, low: int, totals: Floats) -> None:
    """Adds the pairs of a join to the totals of their keys."""
    for probe in range(numbers.shape[0]):
        group = numbers[probe]
        if group < 0:
            continue
        own = base[probe]
        for place in range(starts[group], starts[group + 1]):
            totals[keys[place] - low] += own


@jit
def take_totals(totals: Floats, rows_of: npt.NDArray[np.int32], low: int, store: Lanes, count: int) -> int:
    """Adds totals to a lone sum of floats whose changes nobody asks for; see `upsert_dense_sum`. Where there is
    nothing yet, there is a -0.0, which no value is and which changes none. Returns the number of rows."""
    nothing = np.iinfo(np.int64).min
    bits = totals.view(np.int64)
    sums = store[1].view(np.float64)
    for position in range(totals.shape[0]):
        if bits[position] == nothing:
            continue
        known = int(rows_of[position]) - 1
        if known < 0:
            store[0, count] = position + low
            sums[count] = totals[position]
            count += 1
            rows_of[position] = count
        else:
            sums[known] += totals[position]
    return count
