"""Combines what several threads find for keys in a small range, each key at its own place of a shared array.

A minimum is lowered by one instruction that no other thread can come between; a sum is added up by who has its key.
Maxima are minima of values with all bits turned round. `HIGHEST` is where there is nothing yet.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numba.core import cgutils, types
from numba.extending import intrinsic

from emberlog.workers.kernels.fused import OVERFLOW
from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Floats, Lane, Lanes

HIGHEST = np.iinfo(np.int64).max
IS_HIGHEST = -2
"""Says that a value is met that stands for nothing: it cannot be combined here."""
FINE = 0

Marks: TypeAlias = npt.NDArray[np.uint8]
"""A byte for each place, those behind the last up to a multiple of eight."""


@intrinsic  # type: ignore[untyped-decorator]
def _lower(typing: Any, array: Any, place: Any, value: Any) -> Any:
    """Lowers a value of an array, if it is not as low already, whatever other threads do."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        there = context.make_array(kind)(context, builder, arguments[0])
        pointer = cgutils.get_item_pointer(context, builder, kind, there, [arguments[1]])
        return builder.atomic_rmw("min", pointer, arguments[2], "monotonic")

    return types.int64(array, types.intp, types.int64), generate


@jit
def lower_by_join(
    begin: int,
    end: int,
    numbers: Lane,
    starts: Lane,
    keys: Lane,
    base: Lane,
    values: Lane,
    has_base: bool,
    has_values: bool,
    low: int,
    is_max: bool,
    best: Lane,
    marks: Marks,
) -> int:
    """Lowers values by the pairs of the probes `[begin, end)`; see `join_extreme`. Marks the places that were
    lowered."""
    sign = np.int64(-1) if is_max else np.int64(0)
    for probe in range(begin, end):
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
                    return OVERFLOW
            position = keys[place] - low
            ordered = value ^ sign
            if ordered < best[position]:
                _lower(best, position, ordered)
                marks[position] = 1
            elif ordered == HIGHEST:
                return IS_HIGHEST
    return FINE


@jit
def lower_by_rows(begin: int, end: int, batch: Lanes, low: int, is_max: bool, best: Lane, marks: Marks) -> int:
    """Lowers values by the rows `[begin, end)` of a batch; see `upsert_dense_extreme`."""
    sign = np.int64(-1) if is_max else np.int64(0)
    for row in range(begin, end):
        position = batch[0, row] - low
        ordered = batch[1, row] ^ sign
        if ordered < best[position]:
            _lower(best, position, ordered)
            marks[position] = 1
        elif ordered == HIGHEST:
            return IS_HIGHEST
    return FINE


@jit
def put_at_places(store: Lanes, count: int, low: int, is_max: bool, best: Lane) -> bool:
    """Puts what a store has at its places; says False if a value stands for nothing there."""
    sign = np.int64(-1) if is_max else np.int64(0)
    for row in range(count):
        ordered = store[1, row] ^ sign
        if ordered == HIGHEST:
            return False
        best[store[0, row] - low] = ordered
    return True


@jit
def take_marked(
    marks: Marks,
    best: Lane,
    is_max: bool,
    rows_of: npt.NDArray[np.int32],
    low: int,
    store: Lanes,
    count: int,
    stamps: Lane,
    stamp: int,
    changed: Lane,
    changes: int,
) -> tuple[int, int]:
    """Enters the values at marked places into a store, in the order of their keys, and takes the marks away. Returns
    the number of rows and of changes."""
    sign = np.int64(-1) if is_max else np.int64(0)
    words = marks.view(np.uint64)
    for word in range(words.shape[0]):
        if words[word] == np.uint64(0):
            continue
        for position in range(8 * word, 8 * word + 8):
            if marks[position] == 0:
                continue
            known = int(rows_of[position]) - 1
            if known < 0:
                known = count
                count += 1
                rows_of[position] = count
                store[0, known] = position + low
            store[1, known] = best[position] ^ sign
            if stamps[known] != stamp:
                stamps[known] = stamp
                changed[changes] = known
                changes += 1
        words[word] = np.uint64(0)
    return count, changes


@jit
def put_by_group(numbers: Lane, base: Floats, by_group: Floats) -> bool:
    """Puts the value of each probe at its group, where there is -0.0; says False if a group has two."""
    bits = by_group.view(np.int64)
    nothing = np.iinfo(np.int64).min
    for probe in range(numbers.shape[0]):
        group = numbers[probe]
        if group < 0:
            continue
        if bits[group] != nothing:
            return False
        by_group[group] = base[probe]
    return True


@jit
def sum_by_place(
    begin: int, end: int, starts: Lane, groups: npt.NDArray[np.int32], by_group: Floats, totals: Floats
) -> None:
    """Adds up, for the places `[begin, end)`, the values of the groups that each has; see `join_sum`."""
    for position in range(begin, end):
        total = -0.0
        for place in range(starts[position], starts[position + 1]):
            total += by_group[groups[place]]
        totals[position] = total


@jit
def count_rows(begin: int, end: int, numbers: Lane, first: int, counts: npt.NDArray[np.int32]) -> None:
    """Counts the rows of each group among the rows `[begin, end)`."""
    for row in range(begin, end):
        counts[numbers[row] - first] += 1


@jit
def put_rows(
    begin: int, end: int, numbers: Lane, first: int, places: npt.NDArray[np.int32], lane: Lane, ordered: Lane
) -> None:
    """Puts each of the rows `[begin, end)` at the next place of its group; see `in_groups`."""
    for row in range(begin, end):
        group = numbers[row] - first
        ordered[places[group]] = lane[row]
        places[group] += 1
