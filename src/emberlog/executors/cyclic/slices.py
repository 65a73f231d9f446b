"""A decomposed recursion that outgrows its memory, finished slice by slice.

What one key of such a recursion leads to has nothing to do with the other keys. So when memory is full, the keys are
divided: what is known of each slice waits on disk, and one slice after the other is gone on with alone. Its facts are
on disk when it is done, and a slice that is still too large is divided again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emberlog.executors.cyclic.kernels.hashing import owners, rows_of_owner
from emberlog.executors.cyclic.lanes import Lane, Lanes
from emberlog.executors.cyclic.resident import Resident
from emberlog.executors.cyclic.rules import ResidentRelation
from emberlog.executors.cyclic.spilled_rows import SpilledRows
from emberlog.executors.cyclic.worker import Progress

FANOUT = 4
"""Into so many slices one is divided."""

DEEPEST = 8
"""Divisions one within the other: a slice that is still too large has one heavy key, or what is read fills the memory
by itself."""

_SPREAD = np.int64(0x5851F42D4C957F2D)


@dataclass(frozen=True, slots=True)
class Slice:
    depth: int
    iteration: int
    """In which it was divided from the others."""
    known: Mapping[str, SpilledRows]
    """By relation. All of it counts as new: rules fill in what they make of it."""


class Slices:
    """Of one worker."""

    def __init__(self, relations: Sequence[ResidentRelation], homes: Mapping[str, int]) -> None:
        self.relations = relations
        self.homes = homes
        self.finished = {relation.name: SpilledRows(relation.width) for relation in relations}
        """Facts of slices that are done."""
        self.waiting: list[Slice] = []
        """The last one is at work."""
        self.closed = 0

    @property
    def total(self) -> int:
        """How many facts are finished."""
        return sum(rows.count for rows in self.finished.values())

    def divide(self, known: Mapping[str, Iterator[Lanes]], depth: int, iteration: int) -> None:
        """Lets what is known of some keys wait in slices."""
        new = [
            Slice(depth, iteration, {one.name: SpilledRows(one.width) for one in self.relations}) for _ in range(FANOUT)
        ]
        for relation in self.relations:
            home = relation.columns[self.homes[relation.name]].lane
            for lanes in known[relation.name]:
                part = _parts(lanes[home], depth)
                for number, one in enumerate(new):
                    one.known[relation.name].add(rows_of_owner(lanes, part, number))
        self.waiting += new

    def finish(self, residents: Mapping[str, Resident]) -> None:
        """The slice at work is done, and these are its facts."""
        for name, resident in residents.items():
            self.finished[name].add(resident.store.all)
        self.waiting.pop()
        self.closed += 1

    def known(self, relation: str) -> Iterator[Lanes]:
        """What is known of all slices, but for what the one at work has found."""
        yield from self.finished[relation].batches()
        for one in self.waiting:
            yield from one.known[relation].batches()


class SliceCounts:
    """How many facts changed and came in each iteration, as if all slices had gone through them together."""

    def __init__(self) -> None:
        self._changed: dict[int, int] = {}
        self._came: dict[int, int] = {}

    def add(self, iteration: int, changed: int, came: int) -> None:
        self._changed[iteration] = self._changed.get(iteration, 0) + changed
        self._came[iteration] = self._came.get(iteration, 0) + came

    def withdraw(self, iteration: int, facts: int) -> None:
        """After this iteration, so many facts are divided anew and will come once more."""
        self._came[iteration + 1] = self._came.get(iteration + 1, 0) - facts

    def told(self, total: int) -> Iterator[Progress]:
        """What there is to tell, with so many facts before."""
        for iteration in sorted(self._changed):
            total += self._came[iteration]
            yield Progress(iteration, self._changed[iteration], total)


def _parts(keys: Lane, depth: int) -> npt.NDArray[np.int32]:
    """Which part each key belongs to: by a hash that is another one at each depth, and among workers."""
    with np.errstate(over="ignore"):
        return owners((keys ^ np.int64(depth + 1)) * _SPREAD, FANOUT)
