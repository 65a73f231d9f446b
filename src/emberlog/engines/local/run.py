"""Runs a logical plan in this process: by the cyclic workers, or by the plan interpreter.

A stratum goes to the interpreter where the workers cannot run it. So does a small one,
a recursive one as long as it stays small: loading the kernels takes about a second, which is most of its time.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from emberlog.config import DEFAULT_EXECUTION, DEFAULT_LIMITS, Execution, Limits, refuse_options
from emberlog.datatypes import INT
from emberlog.deadline import end_of
from emberlog.diagnostics import fail
from emberlog.engines.experience import Experience
from emberlog.engines.interpreter.fixpoint import Histories
from emberlog.engines.interpreter.interpreter import INTERPRETER, Known, answers, run_stratum
from emberlog.engines.interpreter.limits import NotSmall, Watch
from emberlog.engines.recording import ITERATION, Recording
from emberlog.engines.runner import Backend, Outcome, Runner
from emberlog.events import ExecutorChosen, IterationFinished, Listener, ignore
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.classes import links_of_classes
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.nodes import Definition, Field, Fixpoint, Join, LogicalPlan, Plan, PlannedStratum
from emberlog.logical.repeated_rows import inputs_that_must_be_sets
from emberlog.logical.statistics import Statistics
from emberlog.logical.traverse import relation_columns, relations_read, walk
from emberlog.optimize.cardinality import NotKnown, estimate
from emberlog.semantics.model import Fact
from emberlog.source import Span
from emberlog.syntax.ast import Variable
from emberlog.timing import Part, timed
from emberlog.workers.fixpoint.profile import Profile
from emberlog.workers.plan.factored import factored_for
from emberlog.workers.plan.faults import Refused
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.placement import Placement
from emberlog.workers.plan.worker_plan import WorkerPlan, WorkerPlanner

if TYPE_CHECKING:
    from emberlog.engines.local.kept import KeptInputs
    from emberlog.engines.local.recursion import LocalJob

FEW_READ = 10_000
FEW_DERIVED = 20_000
"""A recursion that reads and derives at most so many facts is small."""
FEW_HANDLED, FEW_HANDLED_LOADED = 200_000, 8_000
"""Rows that the nodes of its plan give, all together: one that handles more is not small, however few come of it. They
take about a microsecond each; to load kernels takes about 0.6 s, and workers whose kernels are loaded about 3 ms. One
that handled more than the second number goes to workers when it runs again: what runs twice runs more often."""
FEW_APART = 10_000
"""What has one worker with one thread because it reads fewer facts."""
MANY_READ = 20_000
"""A relation without recursion that reads more is for the workers."""

_REFUSED = {
    "through_spark": "leave it out: there is no Spark that facts could go through",
    "recovery": "leave it out: workers are threads of this process, and none is lost without the others",
}


def run(
    plan: LogicalPlan,
    inputs: Mapping[str, LocalRelation],
    limits: Limits = DEFAULT_LIMITS,
    listener: Listener = ignore,
    *,
    execution: Execution = DEFAULT_EXECUTION,
    places: Mapping[str, Span] | None = None,
    interpret_small: bool = False,
    recording: Recording[LocalRelation] | None = None,
    planner: WorkerPlanner | None = None,
    kept: KeptInputs | None = None,
    experience: Experience | None = None,
) -> dict[str, LocalRelation]:
    """Returns the facts of every output, restricted by the queries. Inputs may hold a fact twice. `places` say where
    the rules stand, for errors. `recording` is filled if the execution asks for provenance. A `planner` brings an
    execution of its own; `kept` is what earlier runs read, and gets what this one does; `experience` is what they
    learnt."""
    planner = planner or planner_of(plan, execution)
    execution = planner.execution
    if execution.executor in ("dataframe", "driver"):
        hint = "it is one of auto, cyclic"
        raise fail("DL336", f"a local database has no executor `{execution.executor}`", None, hint)
    refuse_options("a local database", execution.chosen, _REFUSED)
    small = interpret_small and execution.executor == "auto"
    backend = LocalBackend(
        plan, inputs, limits, listener, execution, places or {}, small, recording or Recording(), kept, experience
    )
    return Runner(plan, backend, planner, listener, places).run()


def planner_of(plan: LogicalPlan, execution: Execution, *, without_data: bool = False) -> WorkerPlanner:
    """Makes the planner of a run in this process, where relations are complete before a recursion reads them."""
    strata, _ = needed_strata(plan)
    return WorkerPlanner(
        strata,
        plan.outputs,
        execution,
        functions=plan.functions,
        computes_before=False,
        without_data=without_data,
        shares_memory=True,
    )


def few_handled() -> int:
    """Returns how many rows the interpreter handles before workers take over: fewer once their kernels are loaded."""
    return FEW_HANDLED_LOADED if "emberlog.engines.local.recursion" in sys.modules else FEW_HANDLED


@dataclass(frozen=True, slots=True)
class Crew:
    """Says who computes a stratum in this process."""

    workers: int
    """Each has its part of the facts."""
    threads: int = 1
    """That one worker uses."""


def crew_for(plan: WorkerPlan, execution: Execution, rows: int) -> Crew:
    """Returns who computes a stratum that reads so many facts: as many threads as are asked for, or one for each core
    that this process may use, where that pays. Each is a worker of its own where workers need nothing of each other
    in most of what they do; else they are threads of one worker, and hand nothing on."""
    threads = execution.workers
    if threads is None:
        threads = 1 if rows < FEW_APART else cores()
    is_divided = execution.mode != "auto" or execution.partitioning != "auto" or execution.memory is not None
    main = plan.main
    is_apart = not main.is_recursive or main.placement.is_decomposed
    factors = execution.representation != "hash" and factored_for(main.program, main.placement, threads) is not None
    if is_divided or is_apart or factors:
        return Crew(threads)
    return Crew(1, threads)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def how_it_runs(placement: Placement, crew: Crew, *, is_recursive: bool = True) -> str:
    if crew.workers == 1:
        threads = f", {crew.threads:,} threads" if crew.threads > 1 else ""
        return f"1 worker in this process{threads}{', async' if placement.mode is Mode.ASYNC else ''}"
    if not is_recursive:
        return f"{crew.workers:,} workers in this process"
    return f"{crew.workers:,} workers in this process, {placement.mode.value}"


@dataclass(slots=True)
class _Progress:
    """Holds how far the stratum at hand has come."""

    index: int
    relations: tuple[str, ...]
    since: float
    iterations: int = 0
    most_facts: int | None = None
    """How many the stratum may have before the workers take over."""
    handled: int = 0
    """Rows that the nodes of the stratum gave while the interpreter had it."""


class LocalBackend(Backend[LocalRelation]):
    """Computes strata in this process."""

    without_workers = ("interpreter", INTERPRETER)

    def __init__(
        self,
        plan: LogicalPlan,
        inputs: Mapping[str, LocalRelation],
        limits: Limits,
        listener: Listener,
        execution: Execution,
        places: Mapping[str, Span],
        interpret_small: bool,
        recording: Recording[LocalRelation],
        kept: KeptInputs | None = None,
        experience: Experience | None = None,
    ) -> None:
        self.plan = plan
        self.places = places
        self.interpret_small = interpret_small
        self.limits = limits
        self.listener = listener
        self.execution = execution
        self.inputs = inputs
        self.lasting = frozenset(inputs)
        """The relations that a later run may read, too."""
        self.must_be_sets = inputs_that_must_be_sets(plan)
        self.relations = recording.relations
        """All that are complete."""
        self.relations.update(inputs)
        self.histories = recording.histories
        self.watch = Watch(limits, self._heard, self._saw)
        self.progress: _Progress
        self.kept = kept
        self.experience = experience or Experience()
        self.job: LocalJob | None = None
        """What workers compute of the stratum at hand, or were about to."""
        self.grown = ""
        """Why the recursion at hand is not left to the interpreter, although it reads little."""
        timeout = limits.timeout
        self.timed_from = time.monotonic() if timeout is None else end_of(timeout) - timeout
        """When the time began that the timeout is for: what came before the run counts, too."""

    def has(self, relation: str) -> bool:
        return relation in self.relations

    def begin(self, stratum: PlannedStratum) -> None:
        self.grown, self.job = "", None
        self.progress = _Progress(stratum.index, stratum.relations, time.monotonic())
        self.watch.enter(stratum.index, stratum.relations)

    def why_workers(self, stratum: PlannedStratum, planner: WorkerPlanner, statistics: Statistics) -> str | None:
        assert isinstance(stratum.root, Definition)
        read = self._read_rows(stratum.root)
        if not stratum.root.plan.columns or not read:
            return None
        why = f"it reads more than {MANY_READ:,} facts"
        if self.interpret_small and read <= MANY_READ:
            if not _makes_many(stratum.root.plan, statistics):
                return None
            why = f"it is expected to make more than {FEW_HANDLED:,} rows"
        planner.tell_nulls(self._nulls(stratum.root))
        if planner.compiled(stratum, statistics).program is None:
            return None
        return why

    def obstacles(self, stratum: PlannedStratum, planner: WorkerPlanner) -> tuple[str, ...]:
        planner.tell_nulls(self._nulls(stratum.root))
        return ()

    def compute_small(self, stratum: PlannedStratum) -> Outcome[LocalRelation] | None:
        read = self._read_rows(stratum.root)
        if not self.interpret_small or read > FEW_READ:
            return None
        place = self.plan, stratum.index, INTERPRETER, read
        if self.experience.is_too_large(*place):
            self.grown = "it was not small when it ran before"
            return None
        name, how = self.without_workers
        self.listener(ExecutorChosen(stratum.index, stratum.relations, name, how, "it is small"))
        self.progress.most_facts = FEW_DERIVED
        try:
            outcome = self.compute(stratum, None)
        except NotSmall:
            self.experience.outgrew(*place)
            self.progress = _Progress(stratum.index, stratum.relations, time.monotonic())
            self.grown = "it turned out not to be small"
            return None
        if self.progress.handled > FEW_HANDLED_LOADED:
            self.experience.outgrew(*place)
        return outcome

    def compute_classes(self, stratum: PlannedStratum) -> Outcome[LocalRelation] | None:
        assert isinstance(stratum.root, Fixpoint)
        is_watched = self.execution.provenance or self.execution.profile or self.execution.asks_for_workers
        links = None if is_watched else links_of_classes(stratum.root)
        if links is None or self.relations[links].has_nulls:
            return None
        with timed(Part.IMPORTS):
            from emberlog.engines.local.classes import smallest_of_classes

        found = smallest_of_classes(self.relations[links].table)
        if found is None:
            return None
        how = "union-find in this process"
        self.listener(ExecutorChosen(stratum.index, stratum.relations, "union-find", how, f"classes of `{links}`"))
        (relation,) = stratum.root.relations
        names, types = ([one.name for one in relation.columns], [one.type for one in relation.columns])
        classes = LocalRelation(names, types, pa.table(list(found), names=names))
        return Outcome({relation.name: classes}, {relation.name: len(classes)}, 1)

    def compute(self, stratum: PlannedStratum, refused: Refused | None) -> Outcome[LocalRelation]:
        recorded: Histories | None = {} if self.execution.provenance else None
        few = FEW_HANDLED if isinstance(stratum.root, Definition) else few_handled()
        self.watch.most_rows = math.inf if self.progress.most_facts is None else few
        profile = Profile() if self.execution.profile else None
        known = Known(lambda name: self.relations[name].facts)
        new = run_stratum(stratum, known, self.watch, self.plan.functions, recorded, profile)
        columns = relation_columns(stratum.root)
        found = {name: _relation(columns[name], facts) for name, facts in new.items()}
        histories = {
            name: _relation((*columns[name], Field(ITERATION, INT)), frozenset(facts))
            for name, facts in (recorded or {}).items()
        }
        rows = {name: len(relation) for name, relation in found.items()}
        return Outcome(found, rows, self.progress.iterations, histories, profile=profile)

    def compute_by_workers(self, stratum: PlannedStratum, plan: WorkerPlan, why: str) -> Outcome[LocalRelation]:
        with timed(Part.IMPORTS):
            from emberlog.engines.local.recursion import LocalJob

        crew = crew_for(plan, self.execution, self._read_rows(stratum.root))
        job = LocalJob(plan, self.plan.strata, self.execution, crew.workers, crew.threads, self.kept)
        self.job = job
        how = how_it_runs(plan.main.placement, crew, is_recursive=plan.main.is_recursive)
        said = (why, self.grown, *job.folded, *job.said_of_kept(self.relations, self.must_be_sets))
        reasons = "; ".join(filter(None, said))
        self.listener(ExecutorChosen(stratum.index, stratum.relations, "cyclic", how, reasons))
        outcome = job.run(
            self.relations,
            self.must_be_sets,
            self.lasting,
            self.limits,
            lambda progress: self._heard(progress.iteration, progress.changed, progress.total),
            self.timed_from,
        )
        return outcome

    def take(self, stratum: PlannedStratum, outcome: Outcome[LocalRelation]) -> None:
        self.relations.update(outcome.relations)
        self.histories.update(outcome.histories)
        if outcome.relations:
            self.watch.leave(sum(outcome.rows.get(name, 0) for name in stratum.relations))

    def answer(self, relation: str) -> LocalRelation:
        found = self.relations[relation]
        queries = [query for query in self.plan.queries if query.relation == relation]
        asks_for_all = not self.plan.queries or any(
            all(isinstance(term, Variable) for term in query.terms) and len(set(query.terms)) == len(query.terms)
            for query in queries
        )
        if asks_for_all and relation not in self.inputs:
            return found
        return LocalRelation(found.columns, found.types, answers(self.plan, relation, found.facts))

    def _read(self, root: Definition | Fixpoint) -> list[str]:
        """Lists the complete relations that a stratum reads."""
        return sorted(relations_read(root).intersection(self.relations))

    def _read_rows(self, root: Definition | Fixpoint) -> int:
        return sum(len(self.relations[name]) for name in self._read(root))

    def _nulls(self, root: Definition | Fixpoint) -> dict[str, frozenset[int]]:
        """Returns the columns that have nulls, by relation that a stratum reads."""
        return {name: self.relations[name].columns_with_nulls for name in self._read(root)}

    def _heard(self, iteration: int, changed: int, total: int) -> None:
        """Takes note that an iteration of the stratum is over."""
        progress = self.progress
        if progress.most_facts is not None and total > progress.most_facts:
            raise NotSmall
        now = time.monotonic()
        progress.iterations = iteration
        seconds, progress.since = now - progress.since, now
        self.listener(IterationFinished(progress.index, progress.relations, iteration, changed, total, seconds))

    def _saw(self, _node: Plan, rows: int) -> None:
        self.progress.handled += rows
        if self.progress.most_facts is not None and self.progress.handled > self.watch.most_rows:
            raise NotSmall


def _makes_many(plan: Plan, statistics: Statistics) -> bool:
    """Tells whether a node of a plan is expected to give more rows than the interpreter should handle: a product of
    two small relations is large."""
    try:
        return any(estimate(node, statistics).rows > FEW_HANDLED for node in walk(plan) if isinstance(node, Join))
    except NotKnown:
        return False


def _relation(columns: tuple[Field, ...], facts: frozenset[Fact]) -> LocalRelation:
    return LocalRelation([column.name for column in columns], [column.type for column in columns], facts)
