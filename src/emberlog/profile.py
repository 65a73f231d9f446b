"""Collects what a run tells, stratum by stratum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from emberlog.events import (
    Event,
    ExecutorChosen,
    IterationFinished,
    RecursionCutOff,
    RecursionRetried,
    RuleRound,
    RulesProfiled,
    RunFinished,
    RunStarted,
    StratumFinished,
    StratumStarted,
    TimeSpent,
    WorkerEffort,
)
from emberlog.shown import Shown


@dataclass(frozen=True, slots=True)
class RuleTotal:
    """Holds the totals of one rule over all iterations."""

    rule: str
    relation: str
    derived: int | None
    """None where nobody can tell."""
    kept: int
    seconds: float


@dataclass(slots=True)
class StratumProfile:
    relations: tuple[str, ...]
    is_recursive: bool
    how: str = ""
    """Which executor, and in which way."""
    why: str = ""
    iterations: list[IterationFinished] = field(default_factory=list)
    rounds: tuple[RuleRound, ...] = ()
    """None if the executor does not count by rule."""
    workers: tuple[WorkerEffort, ...] = ()
    rows: int | None = None
    seconds: float = 0.0

    @property
    def name(self) -> str:
        return ", ".join(self.relations)

    @property
    def imbalance(self) -> str:
        """Tells in a line how evenly the work was spread; nothing where it is one worker's."""
        busy = [one.busy for one in self.workers]
        if len(busy) < 2 or not sum(busy):
            return ""
        return f"the busiest worker computed {max(busy) * len(busy) / sum(busy):,.1f} times as long as the mean"

    def rules(self) -> list[RuleTotal]:
        """Returns the rules, those that took longest first."""
        totals: dict[tuple[str, str], RuleTotal] = {}
        for one in self.rounds:
            known = totals.get((one.rule, one.relation), RuleTotal(one.rule, one.relation, 0, 0, 0.0))
            totals[one.rule, one.relation] = RuleTotal(
                one.rule,
                one.relation,
                None if known.derived is None or one.derived is None else known.derived + one.derived,
                known.kept + one.kept,
                known.seconds + one.seconds,
            )
        return sorted(totals.values(), key=lambda total: -total.seconds)


class RunProfile(Shown):
    """Listens to a run and keeps what it hears."""

    def __init__(self) -> None:
        self.strata: list[StratumProfile] = []
        self.seconds = 0.0
        self.spent: Mapping[str, float] = {}
        """Where the time went, planning included."""

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self.strata)
        return f"RunProfile({self.seconds:,.2f} s; {names})"

    def __call__(self, event: Event, /) -> None:
        match event:
            case RunStarted():
                self.strata = []
            case StratumStarted(_, relations, is_recursive):
                self.strata.append(StratumProfile(relations, is_recursive))
            case ExecutorChosen():
                self.strata[-1].how, self.strata[-1].why = event.how, event.why
                self.strata[-1].iterations = []  # of an executor that gave up
            case RecursionRetried() | RecursionCutOff():
                pass
            case IterationFinished():
                # A second attempt tells some of them again.
                known = self.strata[-1].iterations
                while known and known[-1].iteration >= event.iteration:
                    known.pop()
                known.append(event)
            case RulesProfiled():
                self.strata[-1].rounds = event.rounds
            case StratumFinished():
                self.strata[-1].rows, self.strata[-1].seconds = event.rows, event.seconds
                self.strata[-1].workers = event.workers
            case RunFinished(seconds):
                self.seconds = seconds
            case TimeSpent(seconds):
                self.spent = seconds
            case _:
                assert_never(event)
