"""A memory that is short at odd moments, by a seed: recursions in this process divide their keys, or spill facts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

from emberlog.workers.fixpoint import slices
from emberlog.workers.fixpoint.rounds import RoundsWorker
from emberlog.workers.fixpoint.worker import Worker
from emberlog.workers.kernels import memory
from emberlog.workers.kernels.memory import TooLarge
from emberlog.workers.store import relations, sectioned_store, spilled_rows
from emberlog.workers.store.sectioned_store import _Section
from emberlog.workers.wire.messages import Progress

MOST_DIVISIONS = 7
"""One more, each within the last one, is more than is done."""


@dataclass
class Shortage:
    divided: int = 0
    """How often keys were divided into slices."""
    spilled: int = 0
    """How many relations went into sections."""
    reloaded: int = 0
    """How often a section was too large, and all others were dropped for it."""


@contextmanager
def short_memory(seed: int, likely: float = 0.1) -> Iterator[Shortage]:
    """Sections, slices and blocks are tiny. Only what has a way out is told that memory is short."""
    random, found = Random(seed), Shortage()
    second_try: set[_Section] = set()
    keep, check_limits = Worker.keep, Worker.check_limits
    loaded, spill = _Section.loaded, relations.WorkerRelation._spill

    def may_divide(worker: RoundsWorker) -> None:
        if worker.goes_by_slices and found.divided < MOST_DIVISIONS and random.random() < likely:
            found.divided += 1
            raise TooLarge("by chance")

    def kept(worker: RoundsWorker, *arguments: Any) -> None:
        may_divide(worker)
        keep(worker, *arguments)
        may_divide(worker)

    def limits_checked(worker: RoundsWorker, progress: Progress) -> None:
        may_divide(worker)
        check_limits(worker, progress)

    def advanced(worker: RoundsWorker) -> int:
        """Some relations are in the next round already, and others are not."""
        changed = 0
        for one in worker.relations.values():
            changed += one.advance()
            may_divide(worker)
        return changed

    def brought_in(section: _Section) -> Any:
        if section not in second_try and random.random() < likely:
            found.reloaded += 1
            second_try.add(section)
            raise TooLarge("by chance")
        second_try.discard(section)
        return loaded(section)

    def spills(one: relations.WorkerRelation) -> None:
        found.spilled += 1
        spill(one)

    block = random.choice((1, 3, 1000))
    with (
        patch.object(memory, "used_memory", lambda: 0),
        patch.object(RoundsWorker, "keep", kept),
        patch.object(RoundsWorker, "check_limits", limits_checked),
        patch.object(RoundsWorker, "advance", advanced),
        patch.object(relations, "is_short", lambda: random.random() < likely),
        patch.object(relations.WorkerRelation, "_spill", spills),
        patch.object(sectioned_store, "is_short", lambda: random.random() < likely),
        patch.object(_Section, "loaded", brought_in),
        patch.object(sectioned_store, "SECTIONS", random.choice((1, 3))),
        patch.object(sectioned_store, "SPILL_BLOCK", block),
        patch.object(spilled_rows, "SPILL_BLOCK", block),
        patch.object(spilled_rows, "WORTH_WRITING", random.choice((1, 100))),
        patch.object(slices, "FANOUT", random.choice((2, 4))),
    ):
        yield found
