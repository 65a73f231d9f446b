"""Finds the values that sorted lists have in common, list by list from the shortest: a cyclic join is made of this.

The lists of one valuation are ranges of one long array. Each value of the shortest is looked for in the others, from
where the last one was found and in steps that double: a short list and a long one cost the short one times a
logarithm, two of a length cost about a merge. So a vertex with very many neighbours costs what its partner has.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit

Lane = npt.NDArray[np.int64]
Lanes = npt.NDArray[np.int64]


@jit
def first_from(values: Lane, begin: int, end: int, wanted: int) -> int:
    """Returns the first place in `[begin, end)` whose value is not below the one wanted, or `end`."""
    step = 1
    low, high = begin, begin
    while high < end and values[high] < wanted:
        low = high + 1
        high += step
        step *= 2
    high = min(high, end)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def intersect(
    values: Lane,
    begins: Lanes,
    ends: Lanes,
    probe: int,
    probes: Lane,
    found: Lane,
    writes: bool,
) -> tuple[int, int]:
    """Fills the pairs (valuation, value), from a valuation on, while there is room for all that one can have; returns
    the valuation to go on with, and the number of pairs. `begins` and `ends` have a row per list and a column per
    valuation, and are used up. Without `writes` the pairs are only counted."""
    count, lists = 0, begins.shape[0]
    while probe < begins.shape[1]:
        shortest, length = 0, ends[0, probe] - begins[0, probe]
        for one in range(1, lists):
            if ends[one, probe] - begins[one, probe] < length:
                shortest, length = one, ends[one, probe] - begins[one, probe]
        if length <= 0:
            probe += 1
            continue
        if writes and count + length > probes.shape[0]:
            return probe, count
        for place in range(begins[shortest, probe], ends[shortest, probe]):
            value = values[place]
            is_common = True
            for one in range(lists):
                if one == shortest:
                    continue
                at = first_from(values, begins[one, probe], ends[one, probe], value)
                begins[one, probe] = at
                if at == ends[one, probe] or values[at] != value:
                    is_common = False
                    break
            if is_common:
                if writes:
                    probes[count] = probe
                    found[count] = value
                count += 1
        probe += 1
    return probe, count


@jit
def narrow(values: Lane, begins: Lanes, ends: Lanes, lows: Lane, highs: Lane) -> None:
    """Leaves of each list the values from the low one to the high one of its valuation, both included."""
    for one in range(begins.shape[0]):
        for probe in range(begins.shape[1]):
            begin, end = begins[one, probe], ends[one, probe]
            if begin >= end:
                continue
            if lows[probe] > highs[probe]:
                ends[one, probe] = begin
                continue
            begin = first_from(values, begin, end, lows[probe])
            begins[one, probe] = begin
            if highs[probe] < np.iinfo(np.int64).max:
                ends[one, probe] = first_from(values, begin, end, highs[probe] + 1)


@jit
def sort_groups(values: Lane, starts: Lane) -> None:
    """Sorts the values of each group in place."""
    for group in range(starts.shape[0] - 1):
        if starts[group + 1] - starts[group] > 1:
            values[starts[group] : starts[group + 1]].sort()
