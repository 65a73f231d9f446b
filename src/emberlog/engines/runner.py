"""Runs the strata of a plan one after the other, on any engine: what is the same wherever the facts are.

An engine brings a `Backend`, which computes one stratum at a time, by workers or without them. Which of the two it is
for a stratum, what is told of it, and what happens if workers cannot do it after all, is decided here.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar, assert_never

from emberlog.config import DEFAULT_EXECUTION
from emberlog.diagnostics import fail
from emberlog.events import (
    ExecutorChosen,
    Listener,
    RulesProfiled,
    RunFinished,
    RunStarted,
    StratumFinished,
    StratumStarted,
    WorkerEffort,
    ignore,
)
from emberlog.language.faults import Fault
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.nodes import Definition, Fixpoint, LogicalPlan, PlannedStratum
from emberlog.logical.statistics import Statistics
from emberlog.optimize.derived_statistics import scaled, with_relations_of
from emberlog.optimize.reorder_joins import reordered
from emberlog.source import Span
from emberlog.timing import Part, timed
from emberlog.workers.fixpoint.profile import Profile
from emberlog.workers.plan.faults import SUSPICION, HasNulls, Refused, Suspicious, told
from emberlog.workers.plan.worker_plan import WorkerPlan, WorkerPlanner

COUNTED = "counted"


class Refinement:
    """Plans each stratum anew in its turn, by what the strata before it gave."""

    def __init__(self, plan: LogicalPlan) -> None:
        self.statistics: Statistics = plan.statistics

    def planned(self, stratum: PlannedStratum) -> PlannedStratum:
        """Returns the stratum with its joins in the order that is best by now; as it is if nothing is known of the
        inputs."""
        if not self.statistics:
            return stratum
        self.statistics = with_relations_of(stratum, self.statistics)
        return reordered(stratum, self.statistics)

    def tell(self, relation: str, rows: int) -> None:
        """Takes note that a relation is complete and has so many rows."""
        if relation in self.statistics:
            self.statistics = {**self.statistics, relation: scaled(self.statistics[relation], rows, COUNTED)}


Frame = TypeVar("Frame")

_log = logging.getLogger("emberlog")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Frame]):
    """Holds what computing one stratum gave."""

    relations: Mapping[str, Frame]
    """Those of the stratum, or those that fold it."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """The number of facts of each relation, where it is known; also of one that is folded and never listed."""
    iterations: int = 0
    histories: Mapping[str, Frame] = field(default_factory=dict)
    """With provenance: in which iteration each fact came."""
    kept: tuple[Any, ...] = ()
    """What has to stay for the relations to be read."""
    bytes_sent: int = 0
    """Between workers."""
    representation: str = ""
    """How workers kept the facts, and why, if there was a choice."""
    efforts: tuple[WorkerEffort, ...] = ()
    spilled: str = ""
    """What workers did about a memory that was too short."""
    profile: Profile | None = None
    """What each rule did, if somebody counted it."""


class Backend(ABC, Generic[Frame]):
    """Computes strata. The relations that are complete are its own: the runner never looks at facts."""

    without_workers: ClassVar[tuple[str, str]]
    """The name of the executor that does without workers, and how it runs a recursion, in words."""

    @abstractmethod
    def has(self, relation: str) -> bool:
        """Tells whether a relation is complete already, as one is that was computed together with what it folds."""

    def begin(self, stratum: PlannedStratum) -> None:
        """Prepares for a stratum."""
        return

    def compute_elsewhere(self, stratum: PlannedStratum, statistics: Statistics) -> Outcome[Frame] | None:
        """Has another backend compute a stratum that is better off there; returns None if it is not."""
        return None

    def why_workers(self, stratum: PlannedStratum, planner: WorkerPlanner, statistics: Statistics) -> str | None:
        """Says why workers should compute a relation without recursion; None if they need not."""
        return None

    def obstacles(self, stratum: PlannedStratum, planner: WorkerPlanner) -> tuple[str, ...]:
        """Says what keeps workers from a recursion besides its rules: its data, or what was asked for. The planner is
        told where there are nulls, if that is known."""
        return ()

    def compute_small(self, stratum: PlannedStratum) -> Outcome[Frame] | None:
        """Computes a recursion for which it is not worth while to call workers; returns None if it is not small."""
        return None

    def compute_classes(self, stratum: PlannedStratum) -> Outcome[Frame] | None:
        """Computes a recursion that finds the classes that links make by uniting sets; returns None if it is another
        one, or they are not here."""
        return None

    @abstractmethod
    def compute(self, stratum: PlannedStratum, refused: Refused | None) -> Outcome[Frame]:
        """Computes a stratum without workers. `refused` says why workers could not, and may have what they found."""

    def compute_by_workers(self, stratum: PlannedStratum, plan: WorkerPlan, why: str) -> Outcome[Frame]:
        """Computes a stratum by workers; raises Refused if they cannot after all."""
        raise Refused("there are no workers")

    @abstractmethod
    def take(self, stratum: PlannedStratum, outcome: Outcome[Frame]) -> None:
        """Keeps the relations of a stratum, which are complete, for those that read them."""

    @abstractmethod
    def answer(self, relation: str) -> Frame:
        """Returns those facts of an output that the queries ask for."""


class Runner(Generic[Frame]):
    """Runs the strata of one plan."""

    def __init__(
        self,
        plan: LogicalPlan,
        backend: Backend[Frame],
        planner: WorkerPlanner | None,
        listener: Listener = ignore,
        places: Mapping[str, Span] | None = None,
    ) -> None:
        """`planner` is None where there are no workers. `places` say where the rules stand, for errors."""
        self.plan = plan
        self.backend = backend
        self.planner = planner
        self.execution = DEFAULT_EXECUTION if planner is None else planner.execution
        self.listener = listener
        self.places = places or {}
        self.refinement = Refinement(plan)
        self.strata: Sequence[PlannedStratum] = needed_strata(plan)[0]
        """What is run: joins may be in another order than in the plan, by what was counted on the way."""
        self.rows: dict[str, int] = {}
        """The number of facts of each relation, where it is known."""

    def run(self) -> dict[str, Frame]:
        """Runs all strata that the outputs need, and returns the answers."""
        since = time.monotonic()
        self.listener(RunStarted(len(self.strata)))
        with timed(Part.COMPUTING):
            self.run_strata()
        answers = {name: self.backend.answer(name) for name in self.plan.answers}
        self.listener(RunFinished(time.monotonic() - since))
        return answers

    def run_strata(self) -> None:
        """Computes all strata that the outputs need."""
        strata = list(self.strata)
        for place, stratum in enumerate(strata):
            strata[place] = self.refinement.planned(stratum)
            self._stratum(strata[place])
        self.strata = strata

    def _stratum(self, stratum: PlannedStratum) -> None:
        since = time.monotonic()
        self.listener(StratumStarted(stratum.index, stratum.relations, isinstance(stratum.root, Fixpoint)))
        is_there = isinstance(stratum.root, Definition) and self.backend.has(stratum.root.relation)
        outcome: Outcome[Frame] = Outcome({}) if is_there else self.computed(stratum)
        self.backend.take(stratum, outcome)
        self.rows.update(outcome.rows)
        for name, rows in outcome.rows.items():
            self.refinement.tell(name, rows)
        counted = [self.rows.get(name) for name in stratum.relations]
        self.listener(
            StratumFinished(
                stratum.index,
                stratum.relations,
                outcome.iterations,
                None if None in counted else sum(rows or 0 for rows in counted),
                time.monotonic() - since,
                outcome.bytes_sent,
                outcome.representation,
                outcome.efforts,
                outcome.spilled,
            )
        )

    def computed(self, stratum: PlannedStratum) -> Outcome[Frame]:
        """Computes a stratum, by whoever suits it."""
        self.backend.begin(stratum)
        elsewhere = self.backend.compute_elsewhere(stratum, self.refinement.statistics)
        if elsewhere is not None:
            return elsewhere
        match stratum.root:
            case Definition():
                return self._definition(stratum)
            case Fixpoint():
                return self._fixpoint(stratum)
        assert_never(stratum.root)

    def _definition(self, stratum: PlannedStratum) -> Outcome[Frame]:
        if self.planner is not None and self.execution.executor != "dataframe":
            why = self.backend.why_workers(stratum, self.planner, self.refinement.statistics)
            if why is not None:
                try:
                    return self._by_workers(stratum, why)
                except Refused as refused:
                    self._tell(stratum, str(refused))
        return self._counted(stratum, self.backend.compute(stratum, None))

    def _fixpoint(self, stratum: PlannedStratum) -> Outcome[Frame]:
        if self.planner is None:
            return self._counted(stratum, self.backend.compute(stratum, None))
        refused: Refused | None = None
        reasons = self.backend.obstacles(stratum, self.planner)
        is_forced = self.execution.executor == "cyclic"
        if not reasons:
            small = self.backend.compute_small(stratum)
            if small is not None:
                return self._counted(stratum, small)
            classes = self.backend.compute_classes(stratum)
            if classes is not None:
                return classes
        if self.execution.executor == "dataframe":
            reasons = ("asked for",)
        elif not reasons or is_forced:
            reasons = self.planner.compiled(stratum, self.refinement.statistics).obstacles or reasons
        if not reasons:
            try:
                return self._by_workers(stratum, "")
            except Refused as problem:
                refused, reasons = problem, (str(problem),)
        if is_forced and not isinstance(refused, Suspicious):
            raise fail("DL333", f"the cyclic executor cannot run {', '.join(stratum.relations)}: {'; '.join(reasons)}")
        self._tell(stratum, "; ".join(reasons))
        return self._counted(stratum, self.backend.compute(stratum, refused))

    def _by_workers(self, stratum: PlannedStratum, why: str) -> Outcome[Frame]:
        assert self.planner is not None
        with timed(Part.PLANNING):
            plan = self.planner.plan(stratum, self.refinement.statistics)
        try:
            outcome = self.backend.compute_by_workers(stratum, plan, why or plan.main.placement.why)
        except HasNulls as met:
            if not self.planner.tell_nulls(met.columns):
                raise
            obstacles = self.planner.compiled(stratum, self.refinement.statistics).obstacles
            if obstacles:
                raise Refused("; ".join((str(met), *obstacles))) from None
            _log.info("%s: planned anew: %s", ", ".join(stratum.relations), met)
            return self._by_workers(stratum, f"planned anew, because {met}")
        except Fault as fault:
            if fault.code == SUSPICION:
                raise Suspicious(fault.message) from None
            raise told(fault, self.places) from None
        return self._counted(stratum, outcome)

    def _counted(self, stratum: PlannedStratum, outcome: Outcome[Frame]) -> Outcome[Frame]:
        """Tells what the rules of a stratum did, if it was counted and somebody wants to know."""
        if self.execution.profile and outcome.profile is not None:
            profile = outcome.profile
            self.listener(RulesProfiled(stratum.index, stratum.relations, profile.rounds(), profile.steps()))
        return outcome

    def _tell(self, stratum: PlannedStratum, why: str) -> None:
        """Tells that a stratum is computed without workers, and why."""
        name, how = self.backend.without_workers
        _log.info("%s: computed by %s: %s", ", ".join(stratum.relations), how, why)
        self.listener(ExecutorChosen(stratum.index, stratum.relations, name, how, why))
