"""Counts what each rule did in each iteration of a recursion, on one worker, and adds it up over all of them.

It costs a look at the clock for each batch of rows, and is off unless someone asks for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

from emberlog.events import RuleRound, RuleStep, WorkerEffort

Item = TypeVar("Item")


@dataclass(slots=True)
class Counts:
    derived: int | None = 0
    """None where nobody can tell: bits are combined, and not counted one by one."""
    kept: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Profile:
    """Holds what was counted as plain data, so that workers in other processes can send theirs."""

    counts: dict[tuple[str, str, int], Counts] = field(default_factory=dict)
    """By rule, relation and iteration; what needs no recursion is iteration 0."""
    handed_on: dict[tuple[str, str, int, str], int] = field(default_factory=dict)
    """By rule, relation, place and text of a step, the rows behind it."""

    def at(self, rule: str, relation: str, iteration: int) -> Counts:
        return self.counts.setdefault((rule, relation, iteration), Counts())

    def add(self, other: Profile) -> None:
        """Adds what another worker counted; seconds add up as a person's working hours do."""
        for (rule, relation, iteration), counts in other.counts.items():
            own = self.at(rule, relation, iteration)
            own.derived = None if own.derived is None or counts.derived is None else own.derived + counts.derived
            own.kept += counts.kept
            own.seconds += counts.seconds
        for step, rows in other.handed_on.items():
            self.handed_on[step] = self.handed_on.get(step, 0) + rows

    def steps(self) -> tuple[RuleStep, ...]:
        return tuple(RuleStep(*step, rows) for step, rows in sorted(self.handed_on.items()))

    def rounds(self) -> tuple[RuleRound, ...]:
        """Returns the counts iteration by iteration, rules in the order in which they were met."""
        return tuple(
            RuleRound(rule, relation, iteration, counts.derived, counts.kept, counts.seconds)
            for (rule, relation, iteration), counts in sorted(self.counts.items(), key=lambda item: item[0][2])
        )


class Recorder:
    """Counts for one worker, which is always busy with one batch of one rule."""

    def __init__(self) -> None:
        self.profile = Profile()
        self.iteration = 0
        self.current = Counts()
        """Of the rule that what is stored comes from."""

    def enter(self, rule: str, relation: str) -> Counts:
        """Attributes what is stored from now on to this rule; returns its counts."""
        self.current = self.profile.at(rule, relation, self.iteration)
        return self.current

    def gave(self, rule: str, relation: str, rows: int) -> None:
        """Counts the rows that a rule gave, which are stored next."""
        counts = self.enter(rule, relation)
        assert counts.derived is not None
        counts.derived += rows

    def bits(self, rule: str, relation: str, iteration: int, kept: int, seconds: float = 0.0) -> None:
        """Counts the bits of a rule, or of several that are done together, that were not set before."""
        counts = self.profile.at(rule, relation, iteration)
        counts.derived = counts.derived or None  # what rows were counted stays
        counts.kept += kept
        counts.seconds += seconds

    def handed_on(self, rule: str, relation: str, place: int, step: str, rows: int) -> None:
        known = self.profile.handed_on
        known[rule, relation, place, step] = known.get((rule, relation, place, step), 0) + rows

    def kept(self, rows: int) -> None:
        """Counts the rows of the batch that were not there before."""
        self.current.kept += rows

    def timed(self, rule: str, relation: str, batches: Iterable[Item]) -> Iterator[Item]:
        """Yields the same batches. Making them and storing them counts as the rule's time."""
        counts = self.enter(rule, relation)
        since = perf_counter()
        for batch in batches:
            yield batch
            now = perf_counter()
            counts.seconds += now - since
            since = now
        counts.seconds += perf_counter() - since


@dataclass(slots=True)
class Effort:
    """Measures how long a worker computed and how long it waited: each call says what the time since the last one
    was."""

    busy: float = 0.0
    waiting: float = 0.0
    exchanges: int = 0
    _since: float = field(default_factory=time.monotonic)

    def began(self) -> None:
        self._since = time.monotonic()

    def worked(self) -> None:
        self.busy += self._lap()

    def waited(self) -> None:
        self.waiting += self._lap()

    def _lap(self) -> float:
        since, self._since = self._since, time.monotonic()
        return self._since - since

    def of_worker(self, number: int) -> WorkerEffort:
        return WorkerEffort(number + 1, self.busy, self.waiting, self.exchanges)
