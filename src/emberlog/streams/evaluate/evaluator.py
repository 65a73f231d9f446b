"""The contract of what evaluates a stream program, slide by slide, in one process.

Whoever feeds it (micro-batches of Spark, or a test) decides which tuples belong to a window and in which order slides
come. Whoever evaluates only has to keep one promise: after `advance`, the answers are those of the batch program on
the tuples of the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from emberlog.streams.plan.slides import Slide


@dataclass(frozen=True, slots=True)
class Changes:
    """Says how the answer of one relation differs from that of the slide before."""

    added: pa.Table
    removed: pa.Table


class SlideEvaluator(Protocol):
    """Tables have a column per column of the relation, in its order; times are int64, whatever they are outside."""

    def advance(self, slide: Slide, arrived: Mapping[str, pa.Table]) -> None:
        """Moves to the next slide. `arrived` has, per stream, the tuples with times up to `slide.at` that no call had
        before; in any order, and with repeats. Those before `slide.since` are ignored."""

    def answers(self) -> Mapping[str, pa.Table]:
        """Returns the complete answer of every output, each fact once."""

    def changes(self) -> Mapping[str, Changes]:
        """Returns what the last `advance` added to and removed from the answer of every output. A fact whose aggregate
        or time is another now is removed and added. To be called after each slide, or never."""

    def restore(self, slide: Slide, window: Mapping[str, pa.Table]) -> None:
        """Begins with the tuples that a window had at a slide: the next `advance` goes on from there."""

    def expired(self) -> int:
        """Counts the tuples of streams that the last `advance` let go, without repeats."""

    def state_bytes(self) -> int:
        """Returns the memory of everything that is kept from slide to slide."""


class DeletingEvaluator(SlideEvaluator, Protocol):
    """Is an evaluator from which tuples go before they expire."""

    def advance(
        self, slide: Slide, arrived: Mapping[str, pa.Table], gone: Mapping[str, pa.Table] | None = None
    ) -> None:
        """Does the same, and lets tuples go that arrived earlier, or with this slide: one for each that is given."""
