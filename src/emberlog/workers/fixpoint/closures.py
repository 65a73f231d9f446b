"""Runs recursions that hand their left side through, by closing each source by itself or many sources together.

Nothing is exchanged, and no fact has to be kept: they are listed while the closures are computed, source by source.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.bits import Words, count_bits, list_rows, words_for
from emberlog.workers.kernels.closures import close_sources, close_together, rows_of_sources, weigh
from emberlog.workers.kernels.indexes import pack
from emberlog.workers.kernels.lanes import Lane
from emberlog.workers.kernels.memory import claim
from emberlog.workers.kernels.steps import Numbers
from emberlog.workers.kernels.tuning import (
    BLOCK_MEMORY,
    COUNTED_AT_ONCE,
    MOST_SAMPLES,
    RESULT_BATCH,
    SAMPLE_VISITS,
    SOURCES_PER_SAMPLE,
    WORDS_OF_SOURCES,
)
from emberlog.workers.plan.factored import Factored
from emberlog.workers.plan.representation import ClosureSample
from emberlog.workers.recover.checkpoints import SavedState, Stale, StateToSave
from emberlog.workers.store.history import HistoryBatch, Iterations
from emberlog.workers.store.numbering import Domain, Steps
from emberlog.workers.wire.messages import Progress, Running

NO_LIMIT = 1 << 62

NO_ITERATIONS: Iterations = np.empty(0, np.int32)

_DOMAINS, _TOTAL, _ROUNDS = "domains", "total", "rounds"


Count = Callable[[int | None, int, int, float], None]
"""Told of a rule (None is all of them), an iteration, the facts that are new in it and the seconds that this took."""


def ignore_count(_rule: int | None, _iteration: int, _kept: int, _seconds: float) -> None:
    """Ignores what is counted, for runs without a profile."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Turns pairs of numbers into the columns of the relation."""

    factored: Factored
    left: Domain
    right: Domain

    @property
    def checksum(self) -> int:
        """Differs if the values have other numbers."""
        both = (np.ascontiguousarray(side.values).data.cast("B") for side in (self.left, self.right))
        return zlib.crc32(next(both), zlib.crc32(next(both)))

    def columns(self, left: Lane, right: Lane) -> list[Lane]:
        """Returns the columns of the relation, from lanes of what `shown` gives for the numbers of each side."""
        lanes: dict[int, Lane] = {}
        for side, domain, lane in ((self.factored.left, self.left, left), (self.factored.right, self.right, right)):
            if len(side) == 1:
                lanes[side[0]] = lane
            else:
                lanes |= {place: domain.values[number][lane] for number, place in enumerate(side)}
        return [lanes[column.lane] for column in self.factored.relation.columns]


def shown(domain: Domain) -> Lane:
    """Returns what kernels write for a number: its value if that is one lane, otherwise the number itself."""
    return domain.values[0] if domain.values.shape[0] == 1 else np.arange(domain.count)


@dataclass(frozen=True, slots=True)
class Sources:
    """Holds the left numbers of this worker with the right numbers that each begins with."""

    pivots: Lane
    seed_starts: npt.NDArray[np.int64]
    seeds: Numbers

    @property
    def count(self) -> int:
        return len(self.pivots)


def grouped(left: Lane, right: Lane, left_count: int) -> Sources:
    """Seeds by source, and sources by their least seed: neighbours reach much the same."""
    left = np.ascontiguousarray(left)  # for one variant of the kernels, not two
    starts, rows = pack(left, left_count)
    pivots = np.flatnonzero(np.diff(starts))
    least = np.minimum.reduceat(right[rows], starts[pivots]) if len(pivots) else pivots
    pivots = pivots[np.argsort(least, kind="stable")]
    ranks = np.full(left_count, -1, np.int64)
    ranks[pivots] = np.arange(len(pivots))
    starts, rows = pack(ranks[left], len(pivots))
    return Sources(pivots, starts, right[rows].astype(np.uint32))


@dataclass(slots=True)
class Listing:
    """Records how far a list of facts is, source by source."""

    sources: int | None
    """So many are done; None in the middle of one."""
    total: int
    rounds: int
    per_round: Lane


class Closure(ABC):
    """Finds the facts of this worker's sources."""

    def __init__(
        self,
        steps: Steps,
        sources: Sources,
        pairs: Pairs,
        check: Callable[[Progress], None],
        report: Callable[[Progress], None],
        memory: int = BLOCK_MEMORY,
        count: Count = ignore_count,
    ) -> None:
        self.steps = steps
        self.tell_count = count
        self.memory = memory
        """Bytes for the bits of the numbers."""
        self.sources = sources
        self.pairs = pairs
        self.check = check
        self.report = report
        self.domain = pairs.right.count
        self.pivots = shown(pairs.left)[sources.pivots]
        self.values = shown(pairs.right)
        self.counted: int | None = None
        self.listing = Listing(0, 0, 0, self._no_rounds())
        """How far the list of facts is."""

    def run(self) -> Running:
        """Does nothing: everything is done when someone asks for the facts or their number."""
        yield from ()

    def batches(self) -> Iterator[list[Lane]]:
        """Yields the facts, listed while they are found; those of a source lie next to each other."""
        listing, seconds, since = self.listing, 0.0, perf_counter()
        for left, right in self._listed(listing):
            listing.total += len(left)
            if self.counted is None:  # else they were within the limits, and whoever reads them may do so when he likes
                self.check(Progress(listing.rounds, len(left), listing.total))
            seconds += perf_counter() - since
            if len(left):
                yield self.pairs.columns(left, right)
            since = perf_counter()
        self.listing = Listing(0, 0, 0, self._no_rounds())  # for those who want them again
        self._finish(listing.total, listing.per_round[: listing.rounds], seconds)

    def count(self) -> int:
        if self.counted is None:
            per_round = self._no_rounds()
            total, rounds, since = 0, 0, perf_counter()
            for rounds, found in self._found(per_round):
                total += found
                self.check(Progress(rounds, found, total))
            self._finish(total, per_round[:rounds], perf_counter() - since)
            return total
        return self.counted

    def _no_rounds(self) -> Lane:
        return np.zeros(self.domain + 1, np.int64)

    def _finish(self, total: int, per_round: Lane, seconds: float) -> None:
        """Tells of the rounds as if all sources had gone through them together; once, when all are through."""
        if self.counted is None:
            self.counted = total
            so_far = np.cumsum(per_round)
            for number, changed in enumerate(per_round):
                self.report(Progress(number + 1, int(changed), int(so_far[number])))
                self.tell_count(None, number, int(changed), seconds if number == 1 else 0.0)

    @abstractmethod
    def _listed(self, listing: Listing) -> Iterator[tuple[Lane, Lane]]:
        """Yields some facts, again and again, from where the listing is."""

    @abstractmethod
    def _found(self, per_round: Lane) -> Iterator[tuple[int, int]]:
        """Yields the rounds so far and the number of some facts, again and again; `per_round` counts those of each
        round."""

    def save(self, state: StateToSave) -> None:
        """Saves how far the list is, at the end of a source."""
        state.number(_DOMAINS, self.pairs.checksum)
        state.number(_TOTAL, self.listing.total)
        state.whole(_ROUNDS, self.listing.per_round[None, : self.listing.rounds])

    def take_up(self, saved: SavedState) -> None:
        """Lists only what comes behind the sources that were done."""
        if saved.number(_DOMAINS) != self.pairs.checksum:
            raise Stale("the values have other numbers than at the last checkpoint")
        rounds = saved.lanes(_ROUNDS)[0]
        self.listing = Listing(saved.iteration, saved.number(_TOTAL), len(rounds), self._no_rounds())
        self.listing.per_round[: len(rounds)] = rounds

    def _new_lanes(self) -> tuple[Lane, Lane]:
        room = RESULT_BATCH + self.domain
        return np.empty(room, np.int64), np.empty(room, np.int64)


class MarksClosure(Closure):
    """Closes one source at a time."""

    def history(self) -> Iterator[HistoryBatch]:
        """Yields the facts, each with its round."""
        per_round, total = self._no_rounds(), 0
        came_in = np.empty(RESULT_BATCH + self.domain, np.int32)
        since = perf_counter()
        for _, rounds, found, left, right in self._closed(0, RESULT_BATCH, per_round, self._new_lanes, came_in):
            total += found
            self.check(Progress(rounds, found, total))
            if found:
                yield HistoryBatch(self.pairs.columns(left[:found], right[:found]), came_in[:found].copy())
        self._finish(total, np.trim_zeros(per_round, "b"), perf_counter() - since)

    def _listed(self, listing: Listing) -> Iterator[tuple[Lane, Lane]]:
        begin, so_far = listing.sources or 0, listing.rounds
        for source, rounds, found, left, right in self._closed(begin, RESULT_BATCH, listing.per_round, self._new_lanes):
            listing.sources, listing.rounds = source, max(so_far, rounds)
            yield left[:found], right[:found]

    def _found(self, per_round: Lane) -> Iterator[tuple[int, int]]:
        nothing = np.empty(0, np.int64)
        for _, rounds, found, _, _ in self._closed(0, COUNTED_AT_ONCE, per_round, lambda: (nothing, nothing)):
            yield rounds, found

    def _closed(
        self,
        source: int,
        at_once: int,
        per_round: Lane,
        new_lanes: Callable[[], tuple[Lane, Lane]],
        came_in: Iterations = NO_ITERATIONS,
    ) -> Iterator[tuple[int, int, int, Lane, Lane]]:
        """Yields, from a source on, the next source, the rounds so far, and how many facts were found, and which;
        `came_in` gets the round of each, if it has room."""
        marks = np.zeros(self.domain, np.uint32)
        queue = np.empty(self.domain + 1, np.uint32)
        rounds = 0
        while source < self.sources.count:
            left, right = new_lanes()
            source, found, deepest = close_sources(
                self.steps.starts,
                self.steps.targets,
                self.sources.seed_starts,
                self.sources.seeds,
                source,
                marks,
                queue,
                at_once,
                per_round,
                self.pivots,
                self.values,
                left,
                right,
                came_in,
            )
            rounds = max(rounds, deepest)
            yield source, rounds, found, left, right


class BitsClosure(Closure):
    """Closes as many sources at a time as a line of the cache has bits."""

    def _listed(self, listing: Listing) -> Iterator[tuple[Lane, Lane]]:
        first, so_far = listing.sources or 0, listing.rounds
        for rounds, begin, end, reached in self._closed(first, listing.per_round):
            listing.sources, listing.rounds = None, max(so_far, rounds)
            rows = np.empty((64 * reached.shape[1], words_for(self.domain)), np.uint64)
            rows_of_sources(reached, rows)
            row = 0
            while row < end - begin:
                left, right = self._new_lanes()
                row, found = list_rows(
                    rows, row, end - begin, RESULT_BATCH, self.pivots[begin:end], self.values, left, right
                )
                if row == end - begin:
                    listing.sources = end
                yield left[:found], right[:found]

    def _found(self, per_round: Lane) -> Iterator[tuple[int, int]]:
        for rounds, _, _, reached in self._closed(0, per_round):
            yield rounds, count_bits(reached)

    def _closed(self, first: int, per_round: Lane) -> Iterator[tuple[int, int, int, Words]]:
        """Yields, from a source on, the rounds so far, a range of sources, and what they reach."""
        width = words_at_once(self.sources.count, self.domain, self.memory)
        claim(24 * self.domain * width)
        reached, fresh, coming = (np.zeros((self.domain, width), np.uint64) for _ in range(3))
        rounds = 0
        for begin in range(first, self.sources.count, 64 * width):
            end = min(begin + 64 * width, self.sources.count)
            reached[:] = 0
            chosen = np.arange(begin, end)
            deepest, _ = _close(self.steps, self.sources, chosen, reached, fresh, coming, per_round, NO_LIMIT)
            rounds = max(rounds, deepest)
            yield rounds, begin, end, reached


def words_at_once(sources: int, domain: int, memory: int = BLOCK_MEMORY) -> int:
    """Returns how many words of sources are closed at once, in so much memory."""
    fitting = max(min(memory, BLOCK_MEMORY) // (24 * max(domain, 1)), 1)
    return max(min(WORDS_OF_SOURCES, words_for(sources), fitting), 1)


def _close(
    steps: Steps,
    sources: Sources,
    chosen: Lane,
    reached: Words,
    fresh: Words,
    coming: Words,
    per_round: Lane,
    most_visits: int,
) -> tuple[int, int]:
    return close_together(
        steps.starts,
        steps.targets,
        sources.seed_starts,
        sources.seeds,
        chosen,
        reached,
        fresh,
        coming,
        per_round,
        most_visits,
    )


def sampled(steps: Steps, sources: Sources) -> ClosureSample:
    """Closes a few blocks of neighbouring sources and counts what that takes, and what it would take one by one.

    A block costs almost as much as several, so that with few sources it is better not to try.
    """
    domain = len(steps.starts) - 1
    total = facts = alone = together = 0
    per_round = np.zeros(domain + 1, np.int64)
    blocks = min(MOST_SAMPLES, sources.count // SOURCES_PER_SAMPLE)
    for block in range(blocks):
        begin = (2 * block + 1) * sources.count // (2 * blocks)
        chosen = np.arange(begin, begin + 64)
        reached, fresh, coming = (np.zeros((domain, 1), np.uint64) for _ in range(3))
        _, visits = _close(steps, sources, chosen, reached, fresh, coming, per_round, SAMPLE_VISITS)
        found, looked_at = weigh(reached, steps.starts)
        total += len(chosen)
        facts += found
        alone += looked_at
        together += visits
    return ClosureSample(sources.count, total, facts, alone, together)
