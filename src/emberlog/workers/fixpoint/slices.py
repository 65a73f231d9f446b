"""Finishes a decomposed recursion that outgrows its memory, slice by slice.

What one key of such a recursion leads to has nothing to do with the other keys. So when memory is full, the keys are
divided: what is known of each slice waits on disk, and one slice after the other is gone on with alone. Its facts are
on disk when it is done, and a slice that is still too large is divided again.

A slice goes on with the round that memory was too short for, from the delta that the round began with. So all slices
together have the rounds that a larger memory would have seen, and no fact is derived from more than once but the delta
of that round.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.hashing import owners, rows_of_owner
from emberlog.workers.kernels.lanes import Lane, Lanes, Mask
from emberlog.workers.kernels.memory import TooLarge
from emberlog.workers.kernels.tuning import DEEPEST, FANOUT, KNOWN_BATCH
from emberlog.workers.plan.rules import RelationLayout
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.spilled_rows import SpilledRows
from emberlog.workers.store.stores import KeyedStore, SetStore
from emberlog.workers.wire.messages import Mail, Progress, Running

_SPREAD = np.int64(0x5851F42D4C957F2D)


class Age(Enum):
    """Says what a row is to the round that its slice goes on with; in the order in which rows are entered."""

    BEFORE = "before"
    DELTA = "delta"
    IMPROVED = "improved"
    """It was known before, and has a better value since the round began. What it was is not known any more, and the
    round would not find it better once again."""


Aged: TypeAlias = Mapping[Age, Iterator[Lanes]]


@dataclass(frozen=True, slots=True)
class Slice:
    depth: int
    iteration: int
    """The last one that was over when it was divided from the others."""
    known: Mapping[str, Mapping[Age, SpilledRows]]
    """By relation."""

    def rows(self, relation: str) -> Aged:
        return {age: rows.batches() for age, rows in self.known[relation].items()}


class SlicedWorker(Protocol):
    """Lists what slices need of the worker whose keys they divide."""

    begun: int
    """The iteration whose delta the rules read, or have read last."""

    @property
    def relations(self) -> Mapping[str, WorkerRelation]: ...

    def run_round(self, iteration: int) -> Running:
        """Runs the rules over the delta, and enters what they derive."""

    def advance(self) -> int:
        """Ends a round; returns the number of rows that came or changed."""

    def total(self) -> int: ...

    def forget(self) -> None:
        """Empties the relations."""

    def check_limits(self, progress: Progress) -> None: ...


class Slices:
    """Holds the slices of one worker, and brings them to their end."""

    def __init__(self, relations: Sequence[RelationLayout], homes: Mapping[str, int]) -> None:
        self.relations = relations
        self.homes = homes
        self.finished = {relation.name: SpilledRows(relation.width) for relation in relations}
        """Facts of slices that are done."""
        self.waiting: list[Slice] = []
        """The last one is at work."""

    def run(self, worker: SlicedWorker, iteration: int, total: int) -> Generator[Mail, Mail, list[Progress]]:
        """Goes on after an iteration, with so many facts; returns what there is to tell of the iterations since."""
        counts = SliceCounts()
        counts.withdraw(iteration, total)
        self._divide_relations(worker, 0, iteration)
        worker.forget()
        while self.waiting:
            yield from self._close_next(worker, counts)
            worker.forget()
        return list(counts.told(total))

    def _close_next(self, worker: SlicedWorker, counts: SliceCounts) -> Running:
        """Brings the next slice to its end, or divides it."""
        one = self.waiting[-1]
        iteration, total, is_entered = one.iteration, 0, False
        try:
            changed = _enter(one, worker)
            is_entered = True
            if not changed:
                counts.add(iteration + 1, 0, worker.total())
            while changed:
                now = worker.total()
                yield from worker.run_round(iteration + 1)
                iteration += 1
                counts.add(iteration, changed, now - total)
                total = now
                worker.check_limits(Progress(iteration, changed, self.total + total))
                changed = worker.advance()
            self.finish(worker.relations)
            return
        except (TooLarge, MemoryError):
            if one.depth == DEEPEST:
                raise
        self.waiting.pop()
        counts.withdraw(iteration, total)
        if is_entered:
            self._divide_relations(worker, one.depth + 1, iteration)
        else:
            self.divide({name: one.rows(name) for name in worker.relations}, one.depth + 1, iteration)

    def _divide_relations(self, worker: SlicedWorker, depth: int, iteration: int) -> None:
        """Lets what the worker knows after an iteration wait in slices."""
        for relation in worker.relations.values():
            if relation.began_with is not None and worker.begun == iteration:
                relation.end_round()  # the iteration is told, but the next one was not come to
        self.divide({name: aged(relation) for name, relation in worker.relations.items()}, depth, iteration)

    @property
    def total(self) -> int:
        """Returns how many facts are finished."""
        return sum(rows.count for rows in self.finished.values())

    def divide(self, known: Mapping[str, Aged], depth: int, iteration: int) -> None:
        """Lets what is known of some keys after an iteration wait in slices."""
        new = [
            Slice(depth, iteration, {one.name: {age: SpilledRows(one.width) for age in Age} for one in self.relations})
            for _ in range(FANOUT)
        ]
        for relation in self.relations:
            home = relation.columns[self.homes[relation.name]].lane
            for age, batches in known[relation.name].items():
                for lanes in batches:
                    part = _parts(lanes[home], depth)
                    for number, one in enumerate(new):
                        one.known[relation.name][age].add(rows_of_owner(lanes, part, number))
        self.waiting += new

    def finish(self, relations: Mapping[str, WorkerRelation]) -> None:
        """Ends the slice at work, which has these facts."""
        for name, relation in relations.items():
            self.finished[name].add(relation.store.all)
        self.waiting.pop()

    def known(self, relation: str) -> Iterator[Lanes]:
        """Yields what is known of all slices, but for what the one at work has found."""
        yield from self.finished[relation].batches()
        for one in self.waiting:
            for batches in one.rows(relation).values():
                yield from batches


class SliceCounts:
    """Counts the facts that changed and came in each iteration, as if all slices had gone through them together."""

    def __init__(self) -> None:
        self._changed: dict[int, int] = {}
        self._came: dict[int, int] = {}

    def add(self, iteration: int, changed: int, came: int) -> None:
        self._changed[iteration] = self._changed.get(iteration, 0) + changed
        self._came[iteration] = self._came.get(iteration, 0) + came

    def withdraw(self, iteration: int, facts: int) -> None:
        """Takes back the facts that there were after this iteration: they are divided anew, and come once more in the
        next."""
        self._came[iteration + 1] = self._came.get(iteration + 1, 0) - facts

    def told(self, total: int) -> Iterator[Progress]:
        """Yields what there is to tell, with so many facts before."""
        for iteration in sorted(self._changed):
            total += self._came[iteration]
            if self._changed[iteration]:
                yield Progress(iteration, self._changed[iteration], total)


def _enter(one: Slice, worker: SlicedWorker) -> int:
    """Brings the round back that the slice goes on with; returns the number of rows of the delta."""
    changed = 0
    for age in Age:
        for name, relation in worker.relations.items():
            for lanes in one.known[name][age].batches():
                relation.add(lanes)
        if age is not Age.IMPROVED:
            changed = worker.advance()
    return changed


def aged(relation: WorkerRelation) -> Aged:
    """Returns the rows as they were when the round began, as far as that is known, without more memory than for a few
    of them; the indexes are given up. What came since will come again."""
    relation.indexes.clear()
    store = relation.store
    match store:
        case SetStore():
            return {
                Age.BEFORE: _in_batches(store.rows[:, : store.delta_begin]),
                Age.DELTA: _in_batches(store.delta),
            }
        case KeyedStore():
            began = relation.began_with
            count, delta = (began.count, began.delta) if began is not None else (store.count, store.delta)
            assert delta is not None
            is_delta, is_improved = store.rows_of_delta(), store.new_rows()
            return {
                Age.BEFORE: _chosen(store.rows[:, :count], ~(is_delta | is_improved)),
                Age.DELTA: _in_batches(delta),
                Age.IMPROVED: _chosen(store.rows[:, :count], is_improved & ~is_delta),
            }
        case _:
            raise AssertionError(f"DL901: there are no slices of a {type(store).__name__}")


def _in_batches(lanes: Lanes) -> Iterator[Lanes]:
    for begin in range(0, lanes.shape[1], KNOWN_BATCH):
        yield lanes[:, begin : begin + KNOWN_BATCH]


def _chosen(lanes: Lanes, chosen: Mask) -> Iterator[Lanes]:
    for begin in range(0, lanes.shape[1], KNOWN_BATCH):
        end = min(begin + KNOWN_BATCH, lanes.shape[1])
        yield lanes[:, begin:end][:, chosen[begin:end]]


def _parts(keys: Lane, depth: int) -> npt.NDArray[np.int32]:
    """Returns which part each key belongs to: by a hash that is another one at each depth, and among workers."""
    with np.errstate(over="ignore"):
        return owners((keys ^ np.int64(depth + 1)) * _SPREAD, FANOUT)
