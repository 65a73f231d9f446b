"""A memory that is short at odd moments, by a seed: recursions in this process divide their keys, or spill facts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

from emberlog.executors.cyclic import memory, resident, sectioned_store, slices, spilled_rows
from emberlog.executors.cyclic.memory import TooLarge
from emberlog.executors.cyclic.rounds import RoundsWorker
from emberlog.executors.cyclic.sectioned_store import _Section
from emberlog.executors.cyclic.worker import Worker

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
    keep, loaded, spill = Worker.keep, _Section.loaded, resident.Resident._spill

    def kept(worker: RoundsWorker, *arguments: Any) -> None:
        if worker._goes_by_slices and found.divided < MOST_DIVISIONS and random.random() < likely:
            found.divided += 1
            raise TooLarge("by chance")
        keep(worker, *arguments)

    def brought_in(section: _Section) -> Any:
        if section not in second_try and random.random() < likely:
            found.reloaded += 1
            second_try.add(section)
            raise TooLarge("by chance")
        second_try.discard(section)
        return loaded(section)

    def spills(one: resident.Resident) -> None:
        found.spilled += 1
        spill(one)

    block = random.choice((1, 3, 1000))
    with (
        patch.object(memory, "used_memory", lambda: 0),
        patch.object(RoundsWorker, "keep", kept),
        patch.object(resident, "is_short", lambda: random.random() < likely),
        patch.object(resident.Resident, "_spill", spills),
        patch.object(sectioned_store, "is_short", lambda: random.random() < likely),
        patch.object(_Section, "loaded", brought_in),
        patch.object(sectioned_store, "SECTIONS", random.choice((1, 3))),
        patch.object(sectioned_store, "BLOCK", block),
        patch.object(spilled_rows, "BLOCK", block),
        patch.object(spilled_rows, "WORTH_WRITING", random.choice((1, 100))),
        patch.object(slices, "FANOUT", random.choice((2, 4))),
    ):
        yield found
