"""How the facts of a recursion that factors are kept: the choice, from statistics, with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from emberlog.workers.kernels.bits import words_for
from emberlog.workers.kernels.tuning import (
    FEWEST_FOR_LANES,
    NS_PER_NUMBER_AND_WORD,
    NS_PER_SOURCE,
    NS_PER_STEP,
    NS_PER_VISIT,
)


class Representation(Enum):
    AUTO = "auto"
    HASH = "hash"
    """Rows in a hash table, joined round by round: serves every recursion."""
    MARKS = "marks"
    """One source at a time, with an array of marks over what it can reach."""
    LANES = "lanes"
    """Many sources at a time, a bit each."""
    ROWS = "rows"
    """A matrix of bits."""


@dataclass(frozen=True, slots=True)
class ClosureSample:
    """What closing a few sources cost, on one worker or on all together."""

    sources: int
    """All of them; the other figures are of those that were tried."""
    sampled: int
    facts: int
    steps: int
    """Steps that are looked at when each source is closed by itself."""
    visits: int
    """Steps that are looked at when 64 neighbouring sources are closed together."""


@dataclass(frozen=True, slots=True)
class MatrixSize:
    left: int
    right: int
    going_on: int
    """Left numbers from which a step goes on: only they have rows in the two deltas."""

    def bytes_on_each(self, workers: int) -> int:
        rows = -(-self.left // workers) + 2 * -(-self.going_on // workers)
        return 8 * rows * words_for(self.right)


@dataclass(frozen=True, slots=True)
class Choice:
    representation: Representation
    why: str


# Measured on graphs from trees to dense random ones, in nanoseconds; only their proportions matter.


def choose_closure(sample: ClosureSample, domain: int) -> Choice:
    """Marks or lanes, for a recursion that hands its left side through."""
    if not sample.sampled:
        shape = f"{sample.sources:,} source{'' if sample.sources == 1 else 's'} to close"
        if sample.sources < FEWEST_FOR_LANES:
            return Choice(Representation.MARKS, f"marks: {shape}")
        return Choice(Representation.LANES, f"bit lanes: {shape}, too few to try some first")
    size = sample.facts / sample.sampled
    shape = f"{sample.sources:,} sources, about {size:,.0f} of {domain:,} values each"
    alone = sample.steps * NS_PER_STEP + sample.sampled * NS_PER_SOURCE
    together = sample.visits * NS_PER_VISIT + sample.sampled / 64 * domain * NS_PER_NUMBER_AND_WORD
    if together < alone:
        return Choice(Representation.LANES, f"bit lanes: {shape}, {alone / together:,.1f} times cheaper together")
    return Choice(Representation.MARKS, f"marks: {shape}, {together / alone:,.1f} times cheaper one by one")


def choose_matrix(size: MatrixSize, workers: int, memory: int) -> Choice:
    """Chooses a bit matrix or hashed rows, for a recursion in which both sides move."""
    needed = size.bytes_on_each(workers)
    shape = f"{size.left:,} x {size.right:,} values, {_megabytes(needed)} on each worker"
    if needed <= memory:
        return Choice(Representation.ROWS, f"bit rows: {shape}")
    return Choice(Representation.HASH, f"hash: a bit matrix of {shape} is more than {_megabytes(memory)}")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
