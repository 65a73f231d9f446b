"""Finds until when a fact holds if no more tuples come.

At a later slide the window has fewer of the tuples that it has now. Where more tuples can only mean more facts, a fact
that is gone does not come back, so its last slide is found by halving; elsewhere slide by slide.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from emberlog.semantics.model import CheckedProgram
from emberlog.streams.evaluate.window_facts import WindowFacts
from emberlog.streams.plan.maintenance import read_by, reasons_against

MOST_SLIDES = 64
"""That are looked at one by one."""


class Certainty(Enum):
    HOLDS = "holds"
    """Whatever comes, it holds as long as it says."""
    UNLESS_BETTER = "unless better"
    """The same, unless a tuple that comes gives a better value to its `min` or `max`."""
    MAY_CHANGE = "may change"
    """Any tuple that comes can change it."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Says how certain it is that a fact holds as long as its expiry says."""

    certainty: Certainty
    why: str = ""
    """Why it may change, where it may."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """Says until when a fact holds if no more tuples come."""

    until: int | None
    """The last slide at which the fact holds; None if it does not expire."""
    is_sure: bool = True
    """False if it may hold longer: later slides were not looked at."""


def promise_of(checked: CheckedProgram, relation: str, changing: frozenset[str]) -> Promise:
    """Returns the promise for the facts of a relation. `changing` are the relations that a stream is below."""
    needed = {relation}
    for stratum in reversed(checked.strata):
        if not needed.intersection(stratum.relations):
            continue
        needed |= read_by(stratum)
        if changing.intersection(stratum.relations):
            reason = next(reasons_against(checked, stratum, changing), None)
            if reason is not None:
                return Promise(Certainty.MAY_CHANGE, reason)
    is_value = relation in changing and checked.relations[relation].is_aggregated
    return Promise(Certainty.UNLESS_BETTER if is_value else Certainty.HOLDS)


def expiry_of(window: WindowFacts, promise: Promise, holds: Callable[[int], bool]) -> Expiry:
    """Looks for the last slide at which a fact holds; `holds` tells whether it does at a later slide."""
    last_slides = window.last_slides()
    after = [slide + window.schedule.distance for slide in last_slides]
    if promise.certainty is Certainty.MAY_CHANGE:
        looked_at = after[:MOST_SLIDES]
        gone = next((place for place, slide in enumerate(looked_at) if not holds(slide)), None)
        if gone is None and len(looked_at) < len(after):
            return Expiry(looked_at[-1], is_sure=False)
    else:
        gone = bisect_left(after, True, key=lambda slide: not holds(slide))
    return Expiry(None if gone is None or gone == len(after) else last_slides[gone])
