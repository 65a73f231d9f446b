"""Follows arcs through a matrix of levels, as they come and go.

`levels[y, x]` is positive where row `x` has column `y`. A fact has level 1 if it is a seed; otherwise an arc leads to
it from a fact of the same row that has a lower level. So a circle of arcs does not keep itself. While a transaction is
under way, a fact that went has its old level with a minus sign.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.jit import jit

Levels: TypeAlias = npt.NDArray[np.int32]
Codes: TypeAlias = npt.NDArray[np.int64]
"""Places in the matrix: the column times the length of a row of it, plus the row."""


class Arcs(NamedTuple):
    """Holds arcs by number, in a list of those that leave a column and a list of those that enter it."""

    sources: Levels
    targets: Levels
    first_out: Levels
    first_in: Levels
    next_out: Levels
    next_in: Levels
    previous_out: Levels
    previous_in: Levels


class Journal(NamedTuple):
    """Holds what a transaction did: the facts that went, and those that came, came back or became seeds, with what the
    matrix had there before."""

    gone: Codes
    gone_levels: Levels
    come: Codes
    come_levels: Levels


@jit
def relink(arcs: Arcs, lost: Levels, new: Levels) -> None:
    """Takes arcs out of the lists, and puts others in."""
    sources, targets, first_out, first_in, next_out, next_in, previous_out, previous_in = arcs
    for arc in lost:
        before, after = previous_out[arc], next_out[arc]
        if before >= 0:
            next_out[before] = after
        else:
            first_out[sources[arc]] = after
        if after >= 0:
            previous_out[after] = before
        before, after = previous_in[arc], next_in[arc]
        if before >= 0:
            next_in[before] = after
        else:
            first_in[targets[arc]] = after
        if after >= 0:
            previous_in[after] = before
    for arc in new:
        after = first_out[sources[arc]]
        previous_out[arc], next_out[arc] = -1, after
        if after >= 0:
            previous_out[after] = arc
        first_out[sources[arc]] = arc
        after = first_in[targets[arc]]
        previous_in[arc], next_in[arc] = -1, after
        if after >= 0:
            previous_in[after] = arc
        first_in[targets[arc]] = arc


@jit
def settle(
    levels: Levels, arcs: Arcs, lost: Levels, new: Levels, lost_seeds: Codes, new_seeds: Codes, first: int, end: int
) -> tuple[Journal, int, int, int]:
    """Lets rows from `first` to `end` follow arcs and seeds, which are linked already. Returns the journal, how many
    facts there are less and more than before, and the highest level of those that came."""
    sources, targets, first_out, first_in, next_out, next_in = arcs[:6]
    width = levels.shape[1]
    cells = levels.reshape(-1)
    gone, gone_levels, gone_count = np.empty(256, np.int64), np.empty(256, np.int32), 0
    come, come_levels, come_count = np.empty(256, np.int64), np.empty(256, np.int32), 0
    highest = 0

    for code in new_seeds:
        if come_count == len(come):
            come, come_levels = np.append(come, come), np.append(come_levels, come_levels)
        come[come_count], come_levels[come_count] = code, cells[code]
        come_count += 1
        cells[code] = 1
        highest = max(highest, 1)

    # What has lost a seed, or an arc from a lower level, and has no other support.
    for code in lost_seeds:
        if gone_count == len(gone):
            gone, gone_levels = np.append(gone, gone), np.append(gone_levels, gone_levels)
        gone[gone_count], gone_levels[gone_count] = code, cells[code]
        gone_count += 1
        cells[code] = -cells[code]
    is_doubted = np.empty(end - first, np.bool_)
    for arc in lost:
        came_from, column = levels[sources[arc], first:end], levels[targets[arc], first:end]
        for row in range(end - first):
            level = column[row]
            is_doubted[row] = (level > 1) & (came_from[row] != 0) & (abs(came_from[row]) < level)
        other = first_in[targets[arc]]
        while other >= 0:
            support = levels[sources[other], first:end]
            for row in range(end - first):
                is_doubted[row] &= (support[row] <= 0) | (support[row] >= column[row])
            other = next_in[other]
        for row in range(end - first):
            if is_doubted[row]:
                if gone_count == len(gone):
                    gone, gone_levels = np.append(gone, gone), np.append(gone_levels, gone_levels)
                gone[gone_count], gone_levels[gone_count] = targets[arc] * np.int64(width) + first + row, column[row]
                gone_count += 1
                column[row] = -column[row]

    # What these have supported.
    place = 0
    while place < gone_count:
        y, row = gone[place] // width, gone[place] % width
        level = gone_levels[place]
        place += 1
        arc = first_out[y]
        while arc >= 0:
            target = targets[arc]
            own = levels[target, row]
            if own > level:
                other = first_in[target]
                while other >= 0 and not 0 < levels[sources[other], row] < own:
                    other = next_in[other]
                if other < 0:
                    if gone_count == len(gone):
                        gone, gone_levels = np.append(gone, gone), np.append(gone_levels, gone_levels)
                    gone[gone_count], gone_levels[gone_count] = target * np.int64(width) + row, own
                    gone_count += 1
                    levels[target, row] = -own
            arc = next_out[arc]

    # What went and can be reached from what is left, what new arcs lead to, and what follows.
    for place in range(gone_count):
        y, row = gone[place] // width, gone[place] % width
        if levels[y, row] > 0:
            continue
        lowest = 0
        arc = first_in[y]
        while arc >= 0:
            level = levels[sources[arc], row]
            if level > 0 and (lowest == 0 or level < lowest):
                lowest = level
            arc = next_in[arc]
        if lowest > 0:
            if come_count == len(come):
                come, come_levels = np.append(come, come), np.append(come_levels, come_levels)
            come[come_count], come_levels[come_count] = gone[place], levels[y, row]
            come_count += 1
            levels[y, row] = lowest + 1
            highest = max(highest, lowest + 1)
    for arc in new:
        came_from, column = levels[sources[arc]], levels[targets[arc]]
        for row in range(first, end):
            if came_from[row] > 0 and column[row] <= 0:
                if come_count == len(come):
                    come, come_levels = np.append(come, come), np.append(come_levels, come_levels)
                come[come_count], come_levels[come_count] = targets[arc] * np.int64(width) + row, column[row]
                come_count += 1
                column[row] = came_from[row] + 1
                highest = max(highest, column[row])
    place = 0
    while place < come_count:
        y, row = come[place] // width, come[place] % width
        level = levels[y, row] + 1
        place += 1
        arc = first_out[y]
        while arc >= 0:
            target = targets[arc]
            own = levels[target, row]
            if own <= 0:
                if come_count == len(come):
                    come, come_levels = np.append(come, come), np.append(come_levels, come_levels)
                come[come_count], come_levels[come_count] = target * np.int64(width) + row, own
                come_count += 1
                levels[target, row] = level
                highest = max(highest, level)
            arc = next_out[arc]

    less = more = 0
    for place in range(gone_count):
        less += int(cells[gone[place]] < 0)
    for place in range(come_count):
        more += int(come_levels[place] == 0)
    journal = Journal(gone[:gone_count], gone_levels[:gone_count], come[:come_count], come_levels[:come_count])
    return journal, less, more, highest
