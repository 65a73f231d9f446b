"""Finds the rows that have some values in some lanes.

A packed index is built once, over relations that do not change: the rows of a key lie next to each other. A
chained index grows with its relation: each row points to the one before it with the same key, so the newest come first.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.hashing import hash_row
from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.memory import claim
from emberlog.workers.kernels.places import count_rows, put_rows
from emberlog.workers.kernels.tables import Rows, Table, entry_of, locate
from emberlog.workers.kernels.threads import in_threads, ranges, threads_here
from emberlog.workers.kernels.tuning import MANY_ROWS


@jit
def number_keys(table: Table, distinct: Lanes, keys: Lanes) -> tuple[int, Rows]:
    """Numbers the different keys in the order of their first row; returns their count and each row's number."""
    width = keys.shape[0]
    numbers = np.empty(keys.shape[1], np.int64)
    count = 0
    for row in range(keys.shape[1]):
        code = hash_row(keys, width, row)
        slot, known = locate(table, distinct, width, keys, row, code)
        if known < 0:
            for lane in range(width):
                distinct[lane, count] = keys[lane, row]
            table[slot] = entry_of(count, code)
            known = count
            count += 1
        numbers[row] = known
    return count, numbers


def group_starts(numbers: Rows, first: int, groups: int) -> Rows:
    """Returns where each group begins if the rows are put in the order of their groups, which are numbered from `first`
    on."""
    starts = np.zeros(groups + 1, np.int64)
    counts = _counts(numbers, first, groups)
    if counts is None:
        _count_groups(numbers, first, starts)
    else:
        counts.sum(axis=0, out=starts[1:])
    return np.cumsum(starts, out=starts)


def _pieces(numbers: Rows, groups: int) -> list[tuple[int, int]]:
    """Divides rows among threads, where that pays: each needs a place for each group."""
    is_large = len(numbers) >= MANY_ROWS and len(numbers) < 1 << 31 and groups * threads_here() <= len(numbers)
    return ranges(len(numbers), MANY_ROWS // 2) if is_large else [(0, len(numbers))]


def _counts(numbers: Rows, first: int, groups: int) -> npt.NDArray[np.int32] | None:
    """Returns how many rows each group has in the piece of each thread; None where one thread has all of them."""
    pieces = _pieces(numbers, groups)
    if len(pieces) == 1:
        return None
    claim(4 * len(pieces) * groups)
    counts = np.zeros((len(pieces), groups), np.int32)
    calls = [partial(count_rows, *piece, numbers, first, own) for piece, own in zip(pieces, counts, strict=True)]
    in_threads(calls)
    return counts


@jit
def _count_groups(numbers: Rows, first: int, counts: Rows) -> None:
    for row in range(numbers.shape[0]):
        counts[numbers[row] - first + 1] += 1


def in_groups(numbers: Rows, first: int, starts: Rows, lane: Lane) -> Lane:
    """Returns a lane in the order of groups that begin so; rows of a group stay in theirs."""
    ordered = np.empty(len(numbers), np.int64)
    counts = _counts(numbers, first, len(starts) - 1)
    if counts is None:
        _put_in_groups(numbers, first, starts.copy(), lane, ordered)
        return ordered
    # Each thread puts its rows behind those of the threads before it.
    places = np.empty_like(counts)
    places[0] = starts[:-1]
    for number in range(1, len(counts)):
        np.add(places[number - 1], counts[number - 1], out=places[number])
    pieces = _pieces(numbers, len(starts) - 1)
    in_threads(
        [
            partial(put_rows, *piece, numbers, first, own, lane, ordered)
            for piece, own in zip(pieces, places, strict=True)
        ]
    )
    return ordered


@jit
def _put_in_groups(numbers: Rows, first: int, places: Rows, lane: Lane, ordered: Lane) -> None:
    """Puts each row at the next place of its group."""
    for row in range(numbers.shape[0]):
        group = numbers[row] - first
        ordered[places[group]] = lane[row]
        places[group] += 1


def pack(numbers: Rows, groups: int) -> tuple[Rows, Rows]:
    """Returns where each group begins, and rows ordered by group number."""
    starts = group_starts(numbers, 0, groups)
    return starts, in_groups(numbers, 0, starts, np.arange(len(numbers)))


@jit
def has_repeats(starts: Rows, values: Lane, low: int, last: Rows) -> bool:
    """Tells whether a value is in a group twice. `last` has a place for each value from `low` on, and -1 there."""
    for group in range(starts.shape[0] - 1):
        for place in range(starts[group], starts[group + 1]):
            if last[values[place] - low] == group:
                return True
            last[values[place] - low] = group
    return False


@jit
def look_up_dense(low: int, groups: int, lane: Lane) -> Rows:
    result = np.empty(lane.shape[0], np.int64)
    for row in range(lane.shape[0]):
        place = lane[row] - low
        result[row] = place if 0 <= place < groups else -1
    return result


@jit
def count_matches(numbers: Rows, starts: Rows) -> Rows:
    """Returns how many rows each probe finds."""
    result = np.zeros(numbers.shape[0], np.int64)
    for row in range(numbers.shape[0]):
        group = numbers[row]
        if group >= 0:
            result[row] = starts[group + 1] - starts[group]
    return result


@jit
def expand(numbers: Rows, starts: Rows, begin: int, end: int, total: int) -> tuple[Rows, Rows]:
    """Returns the pairs (probe, place in the packing) of the probes `[begin, end)`, which find `total` rows."""
    probes = np.empty(total, np.int64)
    found = np.empty(total, np.int64)
    place = 0
    for probe in range(begin, end):
        group = numbers[probe]
        if group < 0:
            continue
        for position in range(starts[group], starts[group + 1]):
            probes[place] = probe
            found[place] = position
            place += 1
    return probes, found


NEW_PROBE = -1
"""In place of a row: the probe has to begin with the head of its chain."""


@jit
def chain_direct(heads: Rows, low: int, following: Rows, keys: Rows, begin: int, end: int) -> None:
    """Puts the rows `[begin, end)` in front of the chains of their keys."""
    for row in range(begin, end):
        place = keys[row] - low
        following[row] = heads[place] - 1
        heads[place] = row + 1


@jit
def expand_direct(
    heads: Rows,
    low: int,
    following: Rows,
    keys: Rows,
    below: int,
    probe: int,
    row: int,
    probes: Rows,
    found: Rows,
) -> tuple[int, int, int]:
    """Fills the pairs (probe, row) for rows with a number under `below`, from a probe and a row of its chain on; gives
    the probe and the row to go on with, and the number of pairs."""
    count, room = 0, probes.shape[0]
    while probe < keys.shape[0]:
        if row == NEW_PROBE:
            place = keys[probe] - low
            row = heads[place] - 1 if 0 <= place < heads.shape[0] else -1
        while row >= 0:
            if row < below:
                if count == room:
                    return probe, row, count
                probes[count] = probe
                found[count] = row
                count += 1
            row = following[row]
        probe += 1
        row = NEW_PROBE
    return probe, row, count


@jit
def chain(heads: Rows, following: Rows, store: Lanes, lanes: Rows, begin: int, end: int) -> None:
    """Puts the rows `[begin, end)` in front of their chains. The chain of a bucket may hold several keys."""
    mask = np.uint64(heads.shape[0] - 1)
    for row in range(begin, end):
        code = np.uint64(0)
        for position in range(lanes.shape[0]):
            code = bucket_step(code, store[lanes[position], row])
        slot = code & mask
        following[row] = heads[slot] - 1
        heads[slot] = row + 1


@jit
def bucket_step(code: np.uint64, value: int) -> np.uint64:
    z = (np.uint64(value) ^ code) * np.uint64(0x9E3779B97F4A7C15)
    return z ^ (z >> np.uint64(29))


@jit
def expand_chained(
    heads: Rows,
    following: Rows,
    store: Lanes,
    lanes: Rows,
    keys: Lanes,
    below: int,
    probe: int,
    row: int,
    probes: Rows,
    found: Rows,
) -> tuple[int, int, int]:
    """`expand_direct` for chains of buckets, where every row has to be compared with the probe."""
    count, room = 0, probes.shape[0]
    mask = np.uint64(heads.shape[0] - 1)
    while probe < keys.shape[1]:
        if row == NEW_PROBE:
            code = np.uint64(0)
            for position in range(lanes.shape[0]):
                code = bucket_step(code, keys[position, probe])
            row = heads[code & mask] - 1
        while row >= 0:
            if row < below:
                same = True
                for position in range(lanes.shape[0]):
                    if store[lanes[position], row] != keys[position, probe]:
                        same = False
                        break
                if same:
                    if count == room:
                        return probe, row, count
                    probes[count] = probe
                    found[count] = row
                    count += 1
            row = following[row]
        probe += 1
        row = NEW_PROBE
    return probe, row, count
