"""Evaluates streams of changes: says which copy of a row each change is about, and lets that copy come or go."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from emberlog.streams.evaluate.evaluator import Changes, DeletingEvaluator
from emberlog.streams.plan.slides import Slide
from emberlog.streams.state.copies import Copies, held_rows


class ChangingEvaluator:
    """Is an evaluator whose tuples of some streams have a last column that says whether they come or go."""

    def __init__(self, evaluator: DeletingEvaluator, changing: frozenset[str], size: int | None) -> None:
        self._evaluator = evaluator
        self._changing = changing
        self._copies = {name: Copies(size) for name in changing}
        self._resolved: dict[str, list[pa.Table]] = {name: [] for name in changing}

    def advance(self, slide: Slide, arrived: Mapping[str, pa.Table]) -> None:
        come, gone = dict(arrived), {}
        for name in self._changing.intersection(arrived):
            resolved = self._copies[name].resolve(arrived[name])
            self._copies[name].forget_before(slide.since)
            self._resolved[name].append(resolved.changes)
            come[name], gone[name] = resolved.come, resolved.gone
        self._evaluator.advance(slide, come, gone)

    def restore(self, slide: Slide, window: Mapping[str, pa.Table]) -> None:
        """Begins with changes that were resolved before, and have not left the window."""
        held = {name: held_rows(table) if name in self._changing else table for name, table in window.items()}
        for name in self._changing:
            self._copies[name].enter(held[name])
        self._evaluator.restore(slide, held)

    def take_resolved(self) -> dict[str, pa.Table]:
        """Takes out the changes that were resolved since this was asked last."""
        taken = {name: pa.concat_tables(tables) for name, tables in self._resolved.items() if tables}
        self._resolved = {name: [] for name in self._changing}
        return {name: table for name, table in taken.items() if table.num_rows}

    def answers(self) -> Mapping[str, pa.Table]:
        return self._evaluator.answers()

    def changes(self) -> Mapping[str, Changes]:
        return self._evaluator.changes()

    def expired(self) -> int:
        return self._evaluator.expired()

    def state_bytes(self) -> int:
        return self._evaluator.state_bytes()
