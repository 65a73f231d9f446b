"""One row per key that expires: the best one that holds now, and a slide until which it surely does.

Lanes are as in `frontiers`. A row with the same rank that holds longer only moves that slide.
"""

from __future__ import annotations

from emberlog.workers.kernels.frontiers import NO_ROW, Directions, compared
from emberlog.workers.kernels.hashing import hash_row
from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.kernels.tables import Rows, Table, entry_of, locate


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
    does not; gives the new numbers of rows and of changed rows. The table needs at least twice as many slots as rows,
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
