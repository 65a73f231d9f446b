"""Closes a relation of pairs, as a matrix of bits, round by round.

A row is the set of partners of a left number. A round takes each row of the delta, gathers what the steps of the right
side make of its partners into one row, and adds that to the rows that the steps of the left side lead to. So the work
per round is one gathering per row, not one per pair of targets.

What was gathered is a list of entries: a place (the left number above, the place of the word in 32 bits below) and the
word. Entries of one left number lie next to each other, and only words with a bit are listed.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.bits import ONE, Words, bit_count, lowest_bit
from emberlog.workers.kernels.jit import jit
from emberlog.workers.kernels.lanes import Lane
from emberlog.workers.kernels.steps import Numbers

WORD_BITS = np.uint64(6)
BIT_MASK = np.uint64(63)
PLACE_BITS = 32
PLACE_MASK = (1 << 32) - 1

Extents: TypeAlias = npt.NDArray[np.int64]
"""For each row of a delta the first word that may have bits and the end of those words: the rest is never looked at."""


class DeltaRows(NamedTuple):
    """Holds the rows of a delta. Only left numbers from which a step goes on have one."""

    words: Words
    extents: Extents
    filled: Lane
    """The rows that have bits, in the order in which they got the first."""
    tally: Lane
    """A single number: how many of them there are."""


def empty_delta(rows: int, width: int) -> DeltaRows:
    extents = np.zeros((rows, 2), np.int64)
    extents[:, 0] = width
    return DeltaRows(np.zeros((rows, width), np.uint64), extents, np.empty(rows, np.int64), np.zeros(1, np.int64))


class FullRows(NamedTuple):
    """Holds all facts whose left number this worker has: a row lives at its number divided by the workers, on the
    worker that is the remainder."""

    words: Words
    rows_of_delta: Lane
    """For each row its row of the delta, or -1."""
    right_origins: Words
    """The right numbers from which a step goes on: only they come into the delta."""
    workers: int
    worker: int


class RightSteps(NamedTuple):
    """Holds the steps of a rule's right side in both directions, and the left numbers that its left side goes on
    from."""

    starts: Numbers
    targets: Numbers
    backward_starts: Numbers
    origins: Numbers
    is_left_origin: npt.NDArray[np.bool_]


@jit
def gather_rows(
    first: int, numbers: Lane, delta: DeltaRows, steps: RightSteps, row: Words, places: Lane, words: Words
) -> tuple[int, int]:
    """Gathers the filled rows of the delta from `first` on while the entries have room for one more row.

    Returns the next row and the number of entries. `numbers` are the left numbers of the rows. `row` is empty before
    and after.
    """
    # Taken out of their tuples once: inside the loop that would cost more than the work.
    delta_words, extents, filled, filled_count = delta.words, delta.extents, delta.filled, delta.tally[0]
    starts, targets, backward_starts, origins = steps.starts, steps.targets, steps.backward_starts, steps.origins
    is_left_origin = steps.is_left_origin
    width = row.shape[0]
    target_count = backward_starts.shape[0] - 1
    entries = 0
    position = first
    while position < filled_count and entries + width <= places.shape[0]:
        index = filled[position]
        position += 1
        if not is_left_origin[numbers[index]]:
            continue
        partly = delta_words[index]
        low, high = extents[index, 0], extents[index, 1]
        partners = 0
        for place in range(low, high):
            partners += bit_count(partly[place])
        # Looking for one partner per target is cheaper than handing on each partner once they are many: with p of n
        # numbers in the set, a target finds one after about n / p tries.
        pulled = target_count * (target_count / (partners + 1.0) + 2.0)
        pushed = partners * (origins.shape[0] / (target_count + 1.0))
        if pulled < pushed:
            _pull(partly, backward_starts, origins, row)
            begin, end = 0, width
        else:
            begin, end = _push(partly, low, high, starts, targets, row)
        above = numbers[index] << PLACE_BITS
        for place in range(begin, end):
            if row[place] != np.uint64(0):
                places[entries] = above | place
                words[entries] = row[place]
                entries += 1
                row[place] = np.uint64(0)
    return position, entries


@jit
def _push(delta: Words, low: int, high: int, starts: Numbers, targets: Numbers, row: Words) -> tuple[int, int]:
    """Hands on each partner; returns the extent of what came."""
    begin, end = row.shape[0], 0
    for place in range(low, high):
        word = delta[place]
        while word != np.uint64(0):
            number = np.uint64(64 * place + lowest_bit(word))
            word &= word - ONE
            for position in range(starts[number], starts[number + ONE]):
                target = np.uint64(targets[position])
                where = int(target >> WORD_BITS)
                row[where] |= ONE << (target & BIT_MASK)
                begin = min(begin, where)
                end = max(end, where + 1)
    return begin, end


@jit
def _pull(delta: Words, starts: Numbers, origins: Numbers, row: Words) -> None:
    """Looks, for each target, for the first of its origins that is a partner."""
    for target in range(starts.shape[0] - 1):
        for position in range(starts[target], starts[target + 1]):
            origin = np.uint64(origins[position])
            if (delta[origin >> WORD_BITS] >> (origin & BIT_MASK)) & ONE:
                row[target >> 6] |= ONE << np.uint64(target & 63)
                break


@jit
def add_rows(places: Lane, words: Words, starts: Numbers, targets: Numbers, full: FullRows, coming: DeltaRows) -> int:
    """Adds the entries to the rows that the left side's steps lead to, as far as this worker has them.

    What is new comes into the next delta, unless no step goes on from it. Returns the number of new facts.
    """
    # Taken out of their tuples once: inside the loops that would cost more than the work.
    full_words, rows_of_delta, right_origins = full.words, full.rows_of_delta, full.right_origins
    coming_words, extents, filled = coming.words, coming.extents, coming.filled
    filled_count = coming.tally[0]
    nowhere = np.zeros(right_origins.shape[0], np.uint64)
    added = 0
    begin = 0
    while begin < places.shape[0]:
        number = places[begin] >> PLACE_BITS
        end = begin + 1
        while end < places.shape[0] and places[end] >> PLACE_BITS == number:
            end += 1
        for position in range(starts[number], starts[number + 1]):
            target = np.int64(targets[position])
            if target % full.workers != full.worker:
                continue
            row = target // full.workers
            index = rows_of_delta[row]
            if index < 0:
                added += _add_row(places, words, begin, end, full_words[row], nowhere, nowhere)[0]
                continue
            gained, low, high = _add_row(places, words, begin, end, full_words[row], coming_words[index], right_origins)
            added += gained
            if low < high:
                if extents[index, 1] == 0:
                    filled[filled_count] = index
                    filled_count += 1
                extents[index, 0] = min(extents[index, 0], low)
                extents[index, 1] = max(extents[index, 1], high)
        begin = end
    coming.tally[0] = filled_count
    return added


@jit
def _add_row(
    places: Lane, words: Words, begin: int, end: int, known: Words, coming: Words, going_on: Words
) -> tuple[int, int, int]:
    """Adds the entries `[begin, end)` to one row; returns the number of new facts, and the extent of those that come
    into the next delta."""
    added = 0
    low, high = known.shape[0], 0
    for entry in range(begin, end):
        place = places[entry] & PLACE_MASK
        gained = words[entry] & ~known[place]
        if gained != np.uint64(0):
            known[place] |= gained
            added += bit_count(gained)
            gained &= going_on[place]
            if gained != np.uint64(0):
                coming[place] |= gained
                low = min(low, place)
                high = max(high, place + 1)
    return added, low, high


@jit
def list_filled_rows(delta: DeltaRows, numbers: Lane, left: Numbers, right: Numbers) -> int:
    """Lists the facts of the delta as pairs of numbers, and gives how many there are; `numbers` are the left numbers
    of the rows."""
    words, extents, filled = delta.words, delta.extents, delta.filled
    found = 0
    for position in range(delta.tally[0]):
        index = filled[position]
        for place in range(extents[index, 0], extents[index, 1]):
            word = words[index, place]
            while word != np.uint64(0):
                left[found] = numbers[index]
                right[found] = 64 * place + lowest_bit(word)
                found += 1
                word &= word - ONE
    return found


@jit
def clear_rows(delta: DeltaRows) -> None:
    """Empties the rows."""
    for position in range(delta.tally[0]):
        index = delta.filled[position]
        for place in range(delta.extents[index, 0], delta.extents[index, 1]):
            delta.words[index, place] = np.uint64(0)
        delta.extents[index, 0] = delta.words.shape[1]
        delta.extents[index, 1] = 0
    delta.tally[0] = 0
