"""Keeps facts that expire: per key the contributions that no other one outlives and beats.

A row has the lanes of its key, then those that it is ranked by, in order of weight, and at the end the number of the
last slide at which it holds. With ranks, the lane before the last has the last slide at which a better row of its key
holds. The rows of a key are chained; the table of keys has the first of them, which leads the
chain for good. Rows that have expired, or that a better one made needless, stay in their chain until they are used
again.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.hashing import hash_row
from emberlog.workers.kernels.indexes import NEW_PROBE, bucket_step
from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.kernels.tables import Rows, Table, entry_of, locate

GONE = -(1 << 62)
"""The last slide of a row that is not needed any more."""
NO_ROW = -1
NO_LOW = -(1 << 63)
"""In place of the lowest key of an index: its keys are not looked up directly."""

Directions: TypeAlias = npt.NDArray[np.int64]
"""Per rank lane 1 where the smaller value is better, -1 where the larger one is."""


@jit
def compared(one: Lanes, row: int, other: Lanes, known: int, keys: int, directions: Directions) -> int:
    """Compares two rows: negative if the first row ranks better, positive if the second one does, 0 if they are
    equal."""
    for place in range(directions.shape[0]):
        left, right = one[keys + place, row], other[keys + place, known]
        if left != right:
            return int(directions[place]) if left > right else -int(directions[place])
    return 0


@jit
def upsert_frontier(
    table: Table,
    rows: Lanes,
    following: Rows,
    leaders: Rows,
    count: int,
    keys: int,
    directions: Directions,
    slide: int,
    batch: Lanes,
    begin: int,
    end: int,
    stamps: Rows,
    round_: int,
    changed: Rows,
    changes: int,
    is_only_longer: npt.NDArray[np.bool_],
) -> tuple[int, int]:
    """Enters those rows `[begin, end)` of the batch that no row of their key outlives and beats; returns the new
    numbers of rows and of changed rows. Of a changed row, `is_only_longer` says whether a row that was seen before the
    round had the same ranks. The table needs at least twice as many slots as rows, the lanes room for all."""
    last = rows.shape[0] - 1
    for row in range(begin, end):
        expires = batch[last, row]
        if expires < slide:
            continue
        code = hash_row(batch, keys, row)
        slot, leader = locate(table, rows, keys, batch, row, code)
        place = NO_ROW
        is_beaten = goes_on = False
        other = leader
        while other != NO_ROW:
            until = rows[last, other]
            if until < slide:
                if place == NO_ROW:
                    place = other
            else:
                order = compared(batch, row, rows, other, keys, directions)
                if until >= expires and order >= 0:
                    is_beaten = True
                    break
                if until <= expires and order <= 0:
                    is_seen = directions.shape[0] == 0 or rows[last - 1, other] < slide
                    goes_on |= order == 0 and is_seen and (stamps[other] != round_ or is_only_longer[other])
                    rows[last, other] = GONE
                    if place == NO_ROW:
                        place = other
            other = following[other]
        if is_beaten:
            continue
        if place == NO_ROW:
            place = count
            count += 1
            for lane in range(keys):
                rows[lane, place] = batch[lane, row]
            stamps[place] = -1
            if leader == NO_ROW:
                leader = place
                following[place] = NO_ROW
                table[slot] = entry_of(place, code)
            else:
                following[place] = following[leader]
                following[leader] = place
            leaders[place] = leader
        for lane in range(keys, last + 1):
            rows[lane, place] = batch[lane, row]
        is_only_longer[place] = goes_on
        if stamps[place] != round_:
            stamps[place] = round_
            changed[changes] = place
            changes += 1
    return count, changes


@jit
def settle_chains(rows: Lanes, following: Rows, leaders: Rows, changed: Rows, slide: int) -> None:
    """Says of all rows in the chains of changed ones until when they are beaten. The longer a row of a frontier holds,
    the worse it ranks: it is beaten as long as any of the others that go before it holds."""
    last = rows.shape[0] - 1
    for number in range(changed.shape[0]):
        leader = leaders[changed[number]]
        row = leader
        while row != NO_ROW:
            until = rows[last, row]
            if until >= slide:
                beaten = np.int64(GONE)
                other = leader
                while other != NO_ROW:
                    if slide <= rows[last, other] < until and rows[last, other] > beaten:
                        beaten = rows[last, other]
                    other = following[other]
                rows[last - 1, row] = beaten
            row = following[row]


@jit
def expand_seen(
    heads: Rows,
    low: int,
    following: Rows,
    rows: Lanes,
    lanes: Rows,
    keys: Lanes,
    has_ranks: bool,
    slide: int,
    until: Rows,
    beaten: Rows,
    probe: int,
    row: int,
    probes: Rows,
    found: Rows,
) -> tuple[int, int, int]:
    """Returns the pairs of probes and rows of an index that hold at the same time, and are the best of their keys at
    the same time: each probe holds `until` a slide, and is `beaten` until one. From a probe and a row of its chain on;
    returns the probe and the row to go on with, and the number of pairs. With `low` at NO_LOW the chains are those of
    buckets."""
    count, room = 0, probes.shape[0]
    last = rows.shape[0] - 1
    mask = np.uint64(heads.shape[0] - 1)
    while probe < keys.shape[1]:
        if row == NEW_PROBE:
            if low == NO_LOW:
                code = np.uint64(0)
                for position in range(lanes.shape[0]):
                    code = bucket_step(code, keys[position, probe])
                row = heads[code & mask] - 1
            else:
                place = keys[0, probe] - low
                row = heads[place] - 1 if 0 <= place < heads.shape[0] else -1
        while row >= 0:
            holds = rows[last, row]
            is_seen = holds >= slide and holds > beaten[probe]
            if is_seen and has_ranks:
                is_seen = rows[last - 1, row] < until[probe]
            if is_seen and low == NO_LOW:
                for position in range(lanes.shape[0]):
                    if rows[lanes[position], row] != keys[position, probe]:
                        is_seen = False
                        break
            if is_seen:
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
def refill_leaders(table: Table, rows: Lanes, leaders: Rows, keys: int, count: int) -> None:
    """Enters the first row of each key into an empty table."""
    mask = np.uint64(table.shape[0] - 1)
    for row in range(count):
        if leaders[row] == row:
            code = hash_row(rows, keys, row)
            slot = code & mask
            while table[slot] != np.uint64(0):
                slot = (slot + np.uint64(1)) & mask
            table[slot] = entry_of(row, code)


@jit
def best_of(rows: Lanes, following: Rows, leader: int, keys: int, directions: Directions, slide: int) -> int:
    """Returns the row of a chain that ranks best among those that hold, or NO_ROW."""
    last = rows.shape[0] - 1
    best = NO_ROW
    row = leader
    while row != NO_ROW:
        if rows[last, row] >= slide and (best == NO_ROW or compared(rows, row, rows, best, keys, directions) < 0):
            best = row
        row = following[row]
    return best


@jit
def held_keys(rows: Lanes, following: Rows, keys: int, directions: Directions, slide: int, leaders: Rows) -> int:
    """Returns how many of the keys with these first rows have a row that holds."""
    held = 0
    for number in range(leaders.shape[0]):
        held += best_of(rows, following, leaders[number], keys, directions, slide) != NO_ROW
    return held


@jit
def visible_rows(
    rows: Lanes, following: Rows, leaders: Rows, count: int, keys: int, directions: Directions, slide: int
) -> Rows:
    """Returns the best row of each key."""
    result = np.empty(count, np.int64)
    found = 0
    for row in range(count):
        if leaders[row] == row:
            best = best_of(rows, following, row, keys, directions, slide)
            if best != NO_ROW:
                result[found] = best
                found += 1
    return result[:found]


@jit
def publish(
    rows: Lanes,
    following: Rows,
    leaders: Rows,
    keys: int,
    directions: Directions,
    slide: int,
    touched: Rows,
    published: Lanes,
    is_published: npt.NDArray[np.bool_],
) -> tuple[Lanes, Lanes]:
    """Returns what became visible and what is not visible any more, among the keys of the rows touched; each with the
    lanes of key and rank alone. `published` has, at the leader of each key, what was visible before, and then what is
    now."""
    width = keys + directions.shape[0]
    added = np.empty((width, touched.shape[0]), np.int64)
    removed = np.empty((width, touched.shape[0]), np.int64)
    come = gone = 0
    for number in range(touched.shape[0]):
        leader = leaders[touched[number]]
        best = best_of(rows, following, leader, keys, directions, slide)
        was = is_published[leader]
        if best != NO_ROW and was:
            same = True
            for lane in range(keys, width):
                if rows[lane, best] != published[lane - keys, leader]:
                    same = False
                    break
            if same:
                continue
        if was:
            for lane in range(keys):
                removed[lane, gone] = rows[lane, leader]
            for lane in range(keys, width):
                removed[lane, gone] = published[lane - keys, leader]
            gone += 1
        if best != NO_ROW:
            for lane in range(width):
                added[lane, come] = rows[lane, best]
            for lane in range(keys, width):
                published[lane - keys, leader] = rows[lane, best]
            come += 1
        is_published[leader] = best != NO_ROW
    return added[:, :come].copy(), removed[:, :gone].copy()


@jit
def sort_out_due(rows: Lanes, due: Rows, slide: int, marks: Rows, mark: int) -> tuple[Rows, Rows]:
    """Of rows that were to expire before a slide, each once: those that do, which are gone from now on, and those that
    hold longer by now."""
    last = rows.shape[0] - 1
    gone = np.empty(due.shape[0], np.int64)
    longer = np.empty(due.shape[0], np.int64)
    gone_count = longer_count = 0
    for number in range(due.shape[0]):
        row = due[number]
        until = rows[last, row]
        if until == GONE or marks[row] == mark:
            continue
        marks[row] = mark
        if until < slide:
            rows[last, row] = GONE
            gone[gone_count] = row
            gone_count += 1
        else:
            longer[longer_count] = row
            longer_count += 1
    return gone[:gone_count], longer[:longer_count]


@jit
def distinct(given: Rows, marks: Rows, mark: int) -> Rows:
    """Returns each row once. The marks are kept from call to call, each with another mark."""
    result = np.empty(given.shape[0], np.int64)
    count = 0
    for number in range(given.shape[0]):
        row = given[number]
        if marks[row] != mark:
            marks[row] = mark
            result[count] = row
            count += 1
    return result[:count]


# One row per key that expires: the best one that holds now, and a slide until which it surely does.
#
# Lanes are as in `frontiers`. A row with the same rank that holds longer only moves that slide.


@jit
def upsert_best(
    table: Table,
    rows: Lanes,
    count: int,
    keys: int,
    directions: Directions,
    slide: int,
    batch: Lanes,
    begin: int,
    end: int,
    is_longer_a_change: bool,
    stamps: Rows,
    round_: int,
    changed: Rows,
    changes: int,
) -> tuple[int, int]:
    """Enters those rows `[begin, end)` of the batch that are better than the row of their key, or hold where that one
    does not; returns the new numbers of rows and of changed rows. The table needs at least twice as many slots as rows,
    the lanes room for all."""
    last = rows.shape[0] - 1
    for row in range(begin, end):
        expires = batch[last, row]
        if expires < slide:
            continue
        code = hash_row(batch, keys, row)
        slot, place = locate(table, rows, keys, batch, row, code)
        if place == NO_ROW:
            place = count
            count += 1
            for lane in range(keys):
                rows[lane, place] = batch[lane, row]
            stamps[place] = -1
            table[slot] = entry_of(place, code)
        elif rows[last, place] >= slide:
            order = compared(batch, row, rows, place, keys, directions)
            if order > 0 or (order == 0 and expires <= rows[last, place]):
                continue
            if order == 0 and not is_longer_a_change:
                rows[last, place] = expires
                continue
        for lane in range(keys, last + 1):
            rows[lane, place] = batch[lane, row]
        if stamps[place] != round_:
            stamps[place] = round_
            changed[changes] = place
            changes += 1
    return count, changes
