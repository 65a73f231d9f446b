"""Looks rows up in hash tables: sets, and keyed rows whose values improve.

A table is an open-addressed array of slots. A slot holds the number of a row plus one in its low 40 bits and 24
bits of the row's hash above them, so that most rows that differ are told apart without looking at them.
The rows themselves lie in the lanes of a store, in the order in which they came.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.hashing import hash_row
from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Floats, Lanes
from emberlog.workers.kernels.memory import claim, has_room
from emberlog.workers.kernels.tuning import AHEAD

NO_TABLE: npt.NDArray[np.uint64] = np.zeros(0, np.uint64)


def slots_for(rows: int) -> int:
    """Returns the slots of a table that is at most three quarters full with that many rows."""
    return 1 << max(4, int(4 * rows // 3).bit_length())


def table_for(rows: int) -> npt.NDArray[np.uint64]:
    """Returns an empty table; memory that is not touched costs no time."""
    slots = slots_for(rows)
    claim(8 * slots)
    return np.zeros(slots, np.uint64)


def is_full(table: npt.NDArray[np.uint64], rows: int) -> bool:
    """Tells whether so many rows are too many for a table."""
    return 4 * rows > 3 * len(table)


def more_places(rows: int) -> int:
    """Returns for how many rows a table is made that has to take so many now."""
    return 2 * rows if has_room(8 * 6 * rows) else rows


Table: TypeAlias = npt.NDArray[np.uint64]
Rows: TypeAlias = npt.NDArray[np.int64]
"""Numbers of rows, or one number per row."""

ROW_MASK = np.uint64((1 << 40) - 1)

MIN, MAX, ARG_MIN, ARG_MAX, CHOICE, SUM_INT, SUM_FLOAT, SUM_WIDE, CARRY = range(9)
"""What happens to a value lane when a key comes again. CHOICE is the lane behind ARG_MIN or ARG_MAX: it follows. CARRY
is the lane behind SUM_WIDE: how often 2⁶⁴ is to be added to the sum."""


@jit
def locate(table: Table, store: Lanes, width: int, batch: Lanes, row: int, code: np.uint64) -> tuple[np.uint64, int]:
    """Returns the slot of the row of the store that agrees in the first `width` lanes, and that row; the slot where it
    would be entered and -1 if there is none. `code` is the hash of these lanes."""
    mask = np.uint64(table.shape[0] - 1)
    tag = code & ~ROW_MASK
    slot = code & mask
    while True:
        entry = table[slot]
        if entry == np.uint64(0):
            return slot, -1
        if (entry & ~ROW_MASK) == tag:
            known = int(np.int64(entry & ROW_MASK)) - 1
            same = True
            for lane in range(width):
                if store[lane, known] != batch[lane, row]:
                    same = False
                    break
            if same:
                return slot, known
        slot = (slot + np.uint64(1)) & mask


@jit
def entry_of(row: int, code: np.uint64) -> np.uint64:
    """Returns what a slot holds of a row with this hash."""
    return (code & ~ROW_MASK) | np.uint64(row + 1)


@jit
def insert_new(table: Table, store: Lanes, count: int, batch: Lanes, begin: int, end: int) -> int:
    """Appends those rows `[begin, end)` of the batch that the set does not have; returns the new number of rows.

    The table needs more slots than rows, and the store room for all of the batch. Places are looked at
    some rows ahead: the processor then fetches many of them from memory at the same time.
    """
    width = store.shape[0]
    mask = np.uint64(table.shape[0] - 1)
    codes = np.empty(AHEAD, np.uint64)
    seen = np.empty(AHEAD, np.uint64)
    for first in range(begin, end, AHEAD):
        size = min(AHEAD, end - first)
        for number in range(size):
            codes[number] = hash_row(batch, width, first + number)
        for number in range(size):
            seen[number] = table[codes[number] & mask]
        for number in range(size):
            first_known = np.int64(seen[number] & ROW_MASK) - 1
            if first_known >= 0:
                seen[number] = np.uint64(store[0, first_known])
        for number in range(size):
            slot, known = locate(table, store, width, batch, first + number, codes[number])
            if known < 0:
                for lane in range(width):
                    store[lane, count] = batch[lane, first + number]
                table[slot] = entry_of(count, codes[number])
                count += 1
    return count


@jit
def refill(table: Table, store: Lanes, width: int, count: int) -> None:
    """Enters all rows of the store, which are different in their first `width` lanes, into an empty table, looking
    some rows ahead."""
    mask = np.uint64(table.shape[0] - 1)
    codes = np.empty(AHEAD, np.uint64)
    seen = np.empty(AHEAD, np.uint64)
    for first in range(0, count, AHEAD):
        size = min(AHEAD, count - first)
        for number in range(size):
            codes[number] = hash_row(store, width, first + number)
        for number in range(size):
            seen[number] = table[codes[number] & mask]
        for number in range(size):
            slot = codes[number] & mask
            while table[slot] != np.uint64(0):
                slot = (slot + np.uint64(1)) & mask
            table[slot] = entry_of(first + number, codes[number])


@jit
def find_all(table: Table, store: Lanes, width: int, batch: Lanes) -> Rows:
    """Returns for each row of the batch the row of the store that agrees in the first `width` lanes, or -1."""
    result = np.empty(batch.shape[1], np.int64)
    for row in range(batch.shape[1]):
        result[row] = locate(table, store, width, batch, row, hash_row(batch, width, row))[1]
    return result


@jit
def improve(
    store: Lanes,
    store_floats: Floats,
    known: int,
    batch: Lanes,
    batch_floats: Floats,
    row: int,
    keys: int,
    rules: Rows,
) -> int:
    """Combines a contribution with the row it belongs to: 1 when the row changed, -1 when an int sum overflowed."""
    changed = 0
    for position in range(rules.shape[0]):
        lane = keys + position
        old, new = store[lane, known], batch[lane, row]
        rule = rules[position]
        if rule == MIN:
            if new < old:
                store[lane, known] = new
                changed = 1
        elif rule == MAX:
            if new > old:
                store[lane, known] = new
                changed = 1
        elif rule in (ARG_MIN, ARG_MAX):
            better = new < old if rule == ARG_MIN else new > old
            if better or (new == old and batch[lane + 1, row] < store[lane + 1, known]):
                store[lane, known] = new
                store[lane + 1, known] = batch[lane + 1, row]
                changed = 1
        elif rule == SUM_INT:
            total = old + new
            if ((old ^ total) & (new ^ total)) < 0:
                return -1
            store[lane, known] = total
            changed = 1
        elif rule == SUM_FLOAT:
            store_floats[lane, known] += batch_floats[lane, row]
            changed = 1
        elif rule == SUM_WIDE:
            total = old + new
            if ((old ^ total) & (new ^ total)) < 0:
                store[lane + 1, known] += 1 if old >= 0 else -1
            store[lane, known] = total
            changed = 1
        elif rule == CARRY:
            store[lane, known] = old + new
    return changed


@jit
def upsert(
    table: Table,
    store: Lanes,
    count: int,
    keys: int,
    rules: Rows,
    batch: Lanes,
    begin: int,
    end: int,
    stamps: Rows,
    stamp: int,
    changed: Rows,
    changes: int,
) -> tuple[int, int]:
    """Combines contributions `[begin, end)` with the rows of their keys; a new key is a new row.

    `changed` collects each row that changed since `stamp` began, once. Returns the number of rows and of changes; the
    number of rows is negative when a sum overflowed.
    """
    width = store.shape[0]
    store_floats, batch_floats = store.view(np.float64), batch.view(np.float64)
    for row in range(begin, end):
        code = hash_row(batch, keys, row)
        slot, known = locate(table, store, keys, batch, row, code)
        if known < 0:
            for lane in range(width):
                store[lane, count] = batch[lane, row]
            table[slot] = entry_of(count, code)
            stamps[count] = stamp
            changed[changes] = count
            changes += 1
            count += 1
            continue
        outcome = improve(store, store_floats, known, batch, batch_floats, row, keys, rules)
        if outcome < 0:
            return -1, changes
        if outcome > 0 and stamps[known] != stamp:
            stamps[known] = stamp
            changed[changes] = known
            changes += 1
    return count, changes


@jit
def upsert_dense(
    rows_of: npt.NDArray[np.int32],
    low: int,
    store: Lanes,
    count: int,
    rules: Rows,
    batch: Lanes,
    begin: int,
    end: int,
    stamps: Rows,
    stamp: int,
    changed: Rows,
    changes: int,
) -> tuple[int, int]:
    """`upsert` for one key lane whose values lie in a small range: its row is looked up directly."""
    width = store.shape[0]
    store_floats, batch_floats = store.view(np.float64), batch.view(np.float64)
    for row in range(begin, end):
        place = batch[0, row] - low
        known = int(np.int64(rows_of[place])) - 1
        if known < 0:
            for lane in range(width):
                store[lane, count] = batch[lane, row]
            rows_of[place] = count + 1
            stamps[count] = stamp
            changed[changes] = count
            changes += 1
            count += 1
            continue
        outcome = improve(store, store_floats, known, batch, batch_floats, row, 1, rules)
        if outcome < 0:
            return -1, changes
        if outcome > 0 and stamps[known] != stamp:
            stamps[known] = stamp
            changed[changes] = known
            changes += 1
    return count, changes


@jit
def upsert_dense_extreme(
    rows_of: npt.NDArray[np.int32],
    low: int,
    store: Lanes,
    count: int,
    is_max: bool,
    batch: Lanes,
    begin: int,
    end: int,
    stamps: Rows,
    stamp: int,
    changed: Rows,
    changes: int,
) -> tuple[int, int]:
    """`upsert_dense` for a lone minimum or maximum, by far the most frequent case: three times as fast."""
    sign = np.int64(-1) if is_max else np.int64(0)  # turning all bits round turns the order round
    for row in range(begin, end):
        place = batch[0, row] - low
        known = int(np.int64(rows_of[place])) - 1
        if known < 0:
            store[0, count] = batch[0, row]
            store[1, count] = batch[1, row]
            rows_of[place] = count + 1
            stamps[count] = stamp
            changed[changes] = count
            changes += 1
            count += 1
        elif (batch[1, row] ^ sign) < (store[1, known] ^ sign):
            store[1, known] = batch[1, row]
            if stamps[known] != stamp:
                stamps[known] = stamp
                changed[changes] = known
                changes += 1
    return count, changes


@jit
def upsert_dense_sum(
    rows_of: npt.NDArray[np.int32],
    low: int,
    store: Lanes,
    count: int,
    batch: Lanes,
    begin: int,
    end: int,
    stamps: Rows,
    stamp: int,
    changed: Rows,
    changes: int,
    tracks: bool,
) -> tuple[int, int]:
    """`upsert_dense` for a lone sum of floats; changes are only collected if it `tracks` them."""
    sums, values = store[1].view(np.float64), batch[1].view(np.float64)
    for row in range(begin, end):
        place = batch[0, row] - low
        known = int(rows_of[place]) - 1
        if known < 0:
            known = count
            store[0, known] = batch[0, row]
            sums[known] = values[row]
            count += 1
            rows_of[place] = count
        else:
            sums[known] += values[row]
        if tracks and stamps[known] != stamp:
            stamps[known] = stamp
            changed[changes] = known
            changes += 1
    return count, changes
