"""Evaluates several windows of a program side by side: each moves at its own slides, and takes its tuples then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.streams.evaluate.evaluator import Changes, SlideEvaluator
from emberlog.streams.evaluate.incremental import PartitionEvaluator, Swap
from emberlog.streams.plan.slides import Schedule, Slide
from emberlog.streams.state.backlog import TIME


class SeveralWindows:
    """Is an evaluator whose slides are those of all windows together. At each of them it tells the answers of those
    windows that have a slide there."""

    def __init__(self, evaluators: Sequence[SlideEvaluator], schedule: Schedule) -> None:
        """`schedule` is what those of the windows have in common."""
        self._windows = [_Window(one, own) for one, own in zip(evaluators, schedule.each, strict=True)]
        self._longest = max(self._windows, key=lambda one: one.schedule.size or 0)
        self._moved: list[_Window] = []
        self._first: int | None = None

    def begin_at(self, first: int | None) -> None:
        """Says which slide was the first one, before `restore`."""
        self._first = first

    def connect(self, swap: Swap) -> None:
        """Sets how the partitions of each window exchange messages."""
        for window in self._windows:
            assert isinstance(window.evaluator, PartitionEvaluator)
            window.evaluator.connect(swap)

    def advance(self, slide: Slide, arrived: Mapping[str, pa.Table]) -> None:
        """`arrived` has all tuples that some window has not had."""
        self._moved = []
        for window in self._windows:
            if slide.at % window.schedule.distance == 0:
                window.move(slide.at, arrived)
                self._moved.append(window)

    def restore(self, slide: Slide, window: Mapping[str, pa.Table]) -> None:
        for one in self._windows:
            one.restore(slide.at, window, self._first)

    def answers(self) -> Mapping[str, pa.Table]:
        return {name: table for window in self._moved for name, table in window.evaluator.answers().items()}

    def changes(self) -> Mapping[str, Changes]:
        return {name: changes for window in self._moved for name, changes in window.evaluator.changes().items()}

    def expired(self) -> int:
        """Counts what left the longest window: until then a tuple is there."""
        return self._longest.evaluator.expired() if self._longest in self._moved else 0

    def state_bytes(self) -> int:
        return sum(window.evaluator.state_bytes() for window in self._windows)


class _Window:
    """Holds the evaluator of a window, and how far it has come."""

    def __init__(self, evaluator: SlideEvaluator, schedule: Schedule) -> None:
        self.evaluator = evaluator
        self.schedule = schedule
        self._had: int | None = None
        """The last time whose tuples it has had."""

    def move(self, at: int, arrived: Mapping[str, pa.Table]) -> None:
        slide = self.schedule.slide(at)
        self.evaluator.advance(slide, self._taken(slide, arrived))

    def restore(self, at: int, tuples: Mapping[str, pa.Table], first: int | None) -> None:
        """Goes back to the last slide of this window that is not after `at`, if there was one since the `first`."""
        slide = self.schedule.slide(at // self.schedule.distance * self.schedule.distance)
        if first is not None and slide.at >= first:
            self.evaluator.restore(slide, self._taken(slide, tuples))

    def _taken(self, slide: Slide, tuples: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Returns those of the window that it has not had."""
        bounds = [bound for bound in (slide.since, None if self._had is None else self._had + 1) if bound is not None]
        self._had = slide.until
        found = {}
        for stream, table in tuples.items():
            times = table.column(TIME)
            is_there = pc.less_equal(times, slide.until)
            for bound in bounds:
                is_there = pc.and_(is_there, pc.greater_equal(times, bound))
            found[stream] = table.filter(is_there)
        return found
