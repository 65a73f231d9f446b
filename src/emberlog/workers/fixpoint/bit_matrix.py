"""Runs recursions in which both sides take steps, with all facts as a matrix of bits: a row per left value.

Rows are dealt out to the workers by their numbers. In a round a worker gathers one row per left value of its
delta, and sends it to the workers that have a row which the left side's steps lead to: once to each, however many
rows that are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt

from emberlog.workers.fixpoint.closures import Count, Pairs, ignore_count, shown
from emberlog.workers.fixpoint.worker import gather
from emberlog.workers.kernels.bit_rows import (
    PLACE_BITS,
    DeltaRows,
    FullRows,
    RightSteps,
    add_rows,
    clear_rows,
    empty_delta,
    gather_rows,
    list_filled_rows,
)
from emberlog.workers.kernels.bits import Words, list_rows, words_for
from emberlog.workers.kernels.lanes import Lane, Lanes, joined
from emberlog.workers.kernels.memory import claim
from emberlog.workers.kernels.steps import Numbers
from emberlog.workers.kernels.tuning import ENTRIES_AT_ONCE, RESULT_BATCH
from emberlog.workers.recover.checkpoints import Checkpoints, SavedState, Stale
from emberlog.workers.store.history import HistoryBatch
from emberlog.workers.store.numbering import Steps, standing_still
from emberlog.workers.wire.messages import Mail, Message, Progress, Running, added

_DOMAINS, _CHANGED, _TOTAL, _FACTS, _FILLED, _DELTA, _EXTENTS = (
    "domains",
    "changed",
    "total",
    "facts",
    "filled",
    "delta",
    "extents",
)


@dataclass(frozen=True, slots=True)
class RuleSteps:
    """Holds the steps of a rule on each side."""

    left: Steps
    right: Steps


class BitMatrix:
    """Holds the rows of this worker, and closes them round by round."""

    def __init__(
        self,
        rules: Sequence[RuleSteps],
        pairs: Pairs,
        seeds: Lanes,
        worker: int,
        workers: int,
        watch: Callable[[Progress], None],
        *,
        tells_of_all: bool,
        checkpoints: Checkpoints | None = None,
        keeps_history: bool = False,
        count: Count = ignore_count,
    ) -> None:
        self.rules = rules
        self.tell_count = count
        self.pairs = pairs
        self.worker = worker
        self.workers = workers
        self.watch = watch
        self.checkpoints = checkpoints
        self.tells_of_all = tells_of_all
        """Or of this worker alone, which is what is expected of those of a decomposed plan."""
        self.rounds: list[tuple[Numbers, Numbers]] | None = [] if keeps_history else None
        """The facts that came in each iteration as pairs of numbers, if a history is asked for."""
        self.total = 0
        self.rows = np.arange(worker, pairs.left.count, workers)
        """The left numbers of the rows."""
        self.width = words_for(pairs.right.count)
        self.seeds = seeds
        self.right_steps = [_right_steps(rule) for rule in rules]
        self.readers = [_readers(rule.left, workers) for rule in rules]
        # What no step goes on from is no part of a delta, unless somebody wants to know when it came.
        from_left = [rule.left.has_steps() for rule in rules] if not keeps_history else [_every(pairs.left.count)]
        from_right = [rule.right.has_steps() for rule in rules] if not keeps_history else [_every(pairs.right.count)]
        goes_on = _any(from_left, pairs.left.count)[self.rows]
        self.delta_numbers = self.rows[goes_on]
        rows_of_delta = np.full(len(self.rows), -1, np.int64)
        rows_of_delta[goes_on] = np.arange(len(self.delta_numbers))
        right_origins = _as_words(_any(from_right, pairs.right.count), self.width)
        claim(8 * self.width * (len(self.rows) + 2 * len(self.delta_numbers)))
        words = np.zeros((len(self.rows), self.width), np.uint64)
        self.full = FullRows(words, rows_of_delta, right_origins, workers, worker)

    def run(self) -> Running:
        delta = empty_delta(len(self.delta_numbers), self.width)
        coming = empty_delta(len(self.delta_numbers), self.width)
        saved = None if self.checkpoints is None else self.checkpoints.resume_state()
        if saved is None:
            ends = _ends(standing_still(self.pairs.left.count))
            changed = self.total = add_rows(*_entries_of(self.seeds), *ends, self.full, coming)
            iteration = 0
            self.tell_count(None, 0, changed, 0.0)
        else:
            changed, iteration = self._take_up(saved, coming), saved.iteration
        while True:
            delta, coming = coming, delta
            if self.rounds is not None:
                self.rounds.append(self._listed(delta, changed))
            is_due = self.checkpoints is not None and self.checkpoints.is_due(iteration + 1)
            mail: Mail = [Message(sums=(changed, self.total, int(is_due))) for _ in range(self.workers)]
            new = 0
            for number, rule in enumerate(self.rules):
                since, before = perf_counter(), new
                outgoing: list[list[Lanes]] = [[] for _ in range(self.workers)]
                for places, words in self._gathered(delta, self.right_steps[number]):
                    new += add_rows(places, words, *_ends(rule.left), self.full, coming)
                    self._keep_for_others(outgoing, self.readers[number], places, words)
                for worker, kept in enumerate(outgoing):
                    if kept:
                        mail[worker].batches[number] = joined(kept, 2)
                self.tell_count(number, iteration + 1, new - before, perf_counter() - since)
            clear_rows(delta)
            received = yield mail
            everyone, total, due = added(received)
            if everyone == 0:
                return
            for number, rule in enumerate(self.rules):
                since, before = perf_counter(), new
                entries = np.ascontiguousarray(gather(received, number, 2))
                new += add_rows(entries[0], entries[1].view(np.uint64), *_ends(rule.left), self.full, coming)
                self.tell_count(number, iteration + 1, new - before, perf_counter() - since)
            iteration += 1
            if self.tells_of_all:
                self.watch(Progress(iteration, everyone, total))
            else:
                self.watch(Progress(iteration, changed, self.total))
            changed = new
            self.total += new
            if due == self.workers:
                self._save(iteration, changed, coming)

    def _save(self, iteration: int, changed: int, coming: DeltaRows) -> None:
        assert self.checkpoints is not None
        with self.checkpoints.saving(iteration, is_alone=False) as state:
            state.number(_DOMAINS, self.pairs.checksum)
            state.number(_CHANGED, changed)
            state.number(_TOTAL, self.total)
            state.whole(_FACTS, self.full.words.view(np.int64))
            filled = coming.filled[: coming.tally[0]]
            state.whole(_FILLED, filled[None])
            state.whole(_DELTA, coming.words[filled].view(np.int64))
            state.whole(_EXTENTS, coming.extents[filled])

    def _take_up(self, saved: SavedState, coming: DeltaRows) -> int:
        """Goes on from a checkpoint; returns the number of new facts."""
        if saved.number(_DOMAINS) != self.pairs.checksum:
            raise Stale("the values have other numbers than at the last checkpoint")
        self.total = saved.number(_TOTAL)
        self.full.words[:] = saved.lanes(_FACTS).view(np.uint64)
        filled = saved.lanes(_FILLED)[0]
        coming.tally[0] = len(filled)
        coming.filled[: len(filled)] = filled
        coming.words[filled] = saved.lanes(_DELTA).view(np.uint64)
        coming.extents[filled] = saved.lanes(_EXTENTS)
        return saved.number(_CHANGED)

    def _gathered(self, delta: DeltaRows, steps: RightSteps) -> Iterator[tuple[Lane, Words]]:
        """Yields what the right side's steps make of the delta, as entries."""
        room = max(ENTRIES_AT_ONCE, self.width)
        places, words = np.empty(room, np.int64), np.empty(room, np.uint64)
        row = np.zeros(self.width, np.uint64)
        first = 0
        while first < delta.tally[0]:
            first, entries = gather_rows(first, self.delta_numbers, delta, steps, row, places, words)
            if entries:
                yield places[:entries], words[:entries]

    def _keep_for_others(
        self, outgoing: list[list[Lanes]], readers: npt.NDArray[np.bool_], places: Lane, words: Words
    ) -> None:
        for worker, kept in enumerate(outgoing):
            if worker != self.worker:
                chosen = readers[worker][places >> PLACE_BITS]
                if chosen.any():
                    kept.append(np.stack([places[chosen], words[chosen].view(np.int64)]))

    def batches(self) -> Iterator[list[Lane]]:
        """Yields the facts, row by row: those of a left value lie next to each other."""
        pivots, values = shown(self.pairs.left)[self.rows], shown(self.pairs.right)
        room = RESULT_BATCH + self.pairs.right.count
        row = 0
        while row < len(self.rows):
            left, right = np.empty(room, np.int64), np.empty(room, np.int64)
            row, found = list_rows(self.full.words, row, len(self.rows), RESULT_BATCH, pivots, values, left, right)
            if found:
                yield self.pairs.columns(left[:found], right[:found])

    def count(self) -> int:
        return self.total

    def history(self) -> Iterator[HistoryBatch]:
        """Yields the facts, each with the iteration in which it came."""
        assert self.rounds is not None
        pivots, values = shown(self.pairs.left), shown(self.pairs.right)
        for iteration, (left, right) in enumerate(self.rounds):
            if len(left):
                yield HistoryBatch.of_iteration(self.pairs.columns(pivots[left], values[right]), iteration)

    def _listed(self, delta: DeltaRows, count: int) -> tuple[Numbers, Numbers]:
        claim(8 * count)
        left, right = np.empty(count, np.uint32), np.empty(count, np.uint32)
        found = list_filled_rows(delta, self.delta_numbers, left, right)
        assert found == count
        return left, right


def _ends(steps: Steps) -> tuple[Numbers, Numbers]:
    return steps.starts, steps.targets


def _right_steps(rule: RuleSteps) -> RightSteps:
    backward = rule.right.backward()
    return RightSteps(rule.right.starts, rule.right.targets, backward.starts, backward.targets, rule.left.has_steps())


def _readers(steps: Steps, workers: int) -> npt.NDArray[np.bool_]:
    """Returns for each worker the left numbers whose steps lead to one of its rows."""
    result = np.zeros((workers, len(steps.starts) - 1), np.bool_)
    result[steps.targets % workers, steps.origins()] = True
    return result


def _every(count: int) -> npt.NDArray[np.bool_]:
    return np.ones(count, np.bool_)


def _any(masks: Sequence[npt.NDArray[np.bool_]], count: int) -> npt.NDArray[np.bool_]:
    result = np.zeros(count, np.bool_)
    for mask in masks:
        result |= mask
    return result


def _as_words(mask: npt.NDArray[np.bool_], width: int) -> Words:
    padded = np.zeros(64 * width, np.bool_)
    padded[: len(mask)] = mask
    return np.packbits(padded, bitorder="little").view(np.dtype("<u8")).astype(np.uint64)


def _entries_of(pairs: Lanes) -> tuple[Lane, Words]:
    """Pairs of numbers as entries of one bit each; pairs with the same left number together."""
    left, right = pairs[:, np.argsort(pairs[0], kind="stable")]
    return left << PLACE_BITS | right >> 6, np.uint64(1) << (right & 63).astype(np.uint64)
