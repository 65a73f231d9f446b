"""Runs a logical plan in this process: by the cyclic workers, or by the plan interpreter.

A stratum goes to the interpreter where the workers cannot run it or where what it reads has nulls. So does a small one,
a recursive one as long as it stays small: loading the kernels takes about a second, which is most of its time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, assert_never

from emberlog.config import DEFAULT_EXECUTION, DEFAULT_LIMITS, Execution, Limits, refuse_options
from emberlog.datatypes import INT
from emberlog.deadline import end_of
from emberlog.diagnostics import InternalError, fail
from emberlog.engines.interpreter.fixpoint import Histories, run_fixpoint
from emberlog.engines.interpreter.interpreter import answers, run_definition
from emberlog.engines.interpreter.limits import Watch
from emberlog.engines.interpreter.operators import Facts, Rows
from emberlog.engines.recording import ITERATION, Recording
from emberlog.events import (
    ExecutorChosen,
    IterationFinished,
    Listener,
    RulesProfiled,
    RunFinished,
    RunStarted,
    StratumFinished,
    StratumStarted,
    WorkerEffort,
    ignore,
)
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.nodes import Definition, Field, Fixpoint, LogicalPlan, Plan, PlannedStratum, Version
from emberlog.logical.repeated_rows import inputs_that_must_be_sets
from emberlog.logical.traverse import plans_of, scans
from emberlog.optimize.refinement import Refinement
from emberlog.semantics.model import Fact
from emberlog.source import Span
from emberlog.syntax.ast import Variable
from emberlog.workers.plan.capabilities import obstacles
from emberlog.workers.plan.faults import Suspicious
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.placement import Placement

if TYPE_CHECKING:
    from emberlog.engines.local.recursion import LocalJob

INTERPRETER = "the plan interpreter"

FEW_READ = 1_000
FEW_DERIVED = 20_000
"""A recursion that reads and derives at most so many facts is small."""
FEW_HANDLED = 500_000
"""Rows that the nodes of its plan give, all together: one that handles more is not small, however few come of it. They
take about half a second."""
MANY_READ = 20_000
"""A relation without recursion that reads more is for the workers."""

_REFUSED = {
    "through_spark": "leave it out: there is no Spark that facts could go through",
    "recovery": "leave it out: workers are threads of this process, and none is lost without the others",
}

_log = logging.getLogger("emberlog")


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
) -> dict[str, LocalRelation]:
    """The facts of every output, restricted by the queries. Inputs may hold a fact twice. `places` say where the rules
    stand, for errors. `recording` is filled if the execution asks for provenance."""
    if execution.executor == "dataframe":
        raise fail("DL336", "a local database has no executor `dataframe`", None, "it is one of auto, cyclic")
    refuse_options("a local database", execution.chosen, _REFUSED)
    small = interpret_small and execution.executor == "auto"
    return _Run(plan, inputs, limits, listener, execution, places or {}, small, recording or Recording()).run()


def how_it_runs(placement: Placement, workers: int, *, is_recursive: bool = True) -> str:
    if workers == 1:
        return f"1 worker in this process{', async' if placement.mode is Mode.ASYNC else ''}"
    if not is_recursive:
        return f"{workers:,} workers in this process"
    return f"{workers:,} workers in this process, {placement.mode.value}"


class _Known(Facts):
    """The relations that are complete, as the interpreter reads them."""

    def __init__(self, relations: Mapping[str, LocalRelation]) -> None:
        self._relations = relations

    def read(self, relation: str, version: Version) -> Rows:
        if version is not Version.FULL:
            raise InternalError(f"DL902: {relation} is complete and has no {version.value} version")
        return self._relations[relation].facts


class _NotSmall(Exception):
    """The recursion has derived too many facts for the interpreter, or looked at too many rows for them."""


class _Run:
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
    ) -> None:
        self.plan = plan
        self.places = places
        self.interpret_small = interpret_small
        self.most_facts: int | None = None
        """How many the stratum may have before the workers take over."""
        self.handled = 0
        """Rows that the nodes of the stratum gave while the interpreter had it."""
        self.limits = limits
        self.listener = listener
        self.execution = execution
        self.inputs = inputs
        self.must_be_sets = inputs_that_must_be_sets(plan)
        self.relations = recording.relations
        """All that are complete."""
        self.relations.update(inputs)
        self.histories = recording.histories
        self.refinement = Refinement(plan)
        self.strata, _ = needed_strata(plan)
        self.watch = Watch(limits, self._heard, self._saw)
        self.stratum: PlannedStratum | None = None
        self.iterations = 0
        self.rows: int | None = None
        """Facts of the stratum, if workers have counted them."""
        self.efforts: tuple[WorkerEffort, ...] = ()
        self.representation, self.spilled = "", ""
        self.began = self.iteration_began = time.monotonic()
        timeout = limits.timeout
        self.timed_from = self.began if timeout is None else end_of(timeout) - timeout
        """When the time began that the timeout is for: what came before the run counts, too."""

    def run(self) -> dict[str, LocalRelation]:
        self.listener(RunStarted(len(self.strata)))
        for stratum in self.strata:
            self._run_stratum(self.refinement.planned(stratum))
        outputs = {name: self._output(name) for name in self.plan.answers}
        self.listener(RunFinished(time.monotonic() - self.began))
        return outputs

    def _run_stratum(self, stratum: PlannedStratum) -> None:
        since = self.iteration_began = time.monotonic()
        self.stratum, self.iterations, self.rows = stratum, 0, None
        self.efforts, self.representation, self.spilled = (), "", ""
        self.watch.enter(stratum.index, stratum.relations)
        self.listener(StratumStarted(stratum.index, stratum.relations, isinstance(stratum.root, Fixpoint)))
        match stratum.root:
            case Definition(relation) if relation in self.relations:
                new = {relation: self.relations[relation]}  # it was computed together with what it folds
            case Definition():
                new = self._run_definition(stratum, stratum.root)
            case Fixpoint():
                new = self._run_fixpoint(stratum, stratum.root)
            case _:
                assert_never(stratum.root)
        self.relations.update(new)
        for name, found in new.items():
            self.refinement.tell(name, len(found))
        rows = sum(map(len, new.values())) if new.keys() >= set(stratum.relations) else self.rows
        self.watch.leave(rows or 0)
        seconds = time.monotonic() - since
        self.listener(
            StratumFinished(
                stratum.index,
                stratum.relations,
                self.iterations,
                rows,
                seconds,
                representation=self.representation,
                workers=self.efforts,
                spilled=self.spilled,
            )
        )

    def _run_definition(self, stratum: PlannedStratum, definition: Definition) -> dict[str, LocalRelation]:
        few = MANY_READ if self.interpret_small else 0
        if self._read_rows(definition) > few and not any(self._nulls(definition)):
            planned = self._planned(stratum)
            if planned is not None:
                try:
                    return self._by_workers(stratum, planned, f"it reads more than {MANY_READ:,} facts")
                except Suspicious as reason:
                    self._tell_interpreter(stratum, str(reason))
        facts = run_definition(definition, _Known(self.relations), self.watch, self.plan.functions)
        return {definition.relation: _relation(definition.plan.columns, facts)}

    def _run_fixpoint(self, stratum: PlannedStratum, fixpoint: Fixpoint) -> dict[str, LocalRelation]:
        is_forced = self.execution.executor == "cyclic"
        reasons = obstacles(fixpoint)
        if reasons and is_forced:
            names = ", ".join(stratum.relations)
            raise fail("DL333", f"the cyclic executor cannot run {names}: {'; '.join(reasons)}")
        if not is_forced:
            reasons = reasons or tuple(self._nulls(fixpoint))
        if reasons:
            return self._by_interpreter(stratum, fixpoint, "; ".join(reasons))
        if self.interpret_small and self._read_rows(fixpoint) <= FEW_READ:
            self.most_facts, self.handled = FEW_DERIVED, 0
            try:
                return self._by_interpreter(stratum, fixpoint, "it is small")
            except _NotSmall:
                self.iteration_began = time.monotonic()
            finally:
                self.most_facts = None
        planned = self._planned(stratum)
        assert planned is not None
        try:
            return self._by_workers(stratum, planned, planned.worker_plan.main.placement.why)
        except Suspicious as reason:
            return self._by_interpreter(stratum, fixpoint, str(reason))

    def _planned(self, stratum: PlannedStratum) -> LocalJob | None:
        """None where the workers cannot do it."""
        from emberlog.engines.local.recursion import plan_here

        return plan_here(self.strata, stratum, self.plan.outputs, self.execution, self.refinement.statistics)

    def _read(self, root: Definition | Fixpoint) -> list[str]:
        """The complete relations that a stratum reads."""
        names = {scan.relation for one in plans_of(root) for scan in scans(one)}
        return sorted(names.intersection(self.relations))

    def _read_rows(self, root: Definition | Fixpoint) -> int:
        return sum(len(self.relations[name]) for name in self._read(root))

    def _nulls(self, root: Definition | Fixpoint) -> Iterator[str]:
        return (f"{name} has nulls" for name in self._read(root) if self.relations[name].has_nulls)

    def _by_interpreter(self, stratum: PlannedStratum, fixpoint: Fixpoint, why: str) -> dict[str, LocalRelation]:
        self._tell_interpreter(stratum, why)
        histories: Histories | None = {} if self.execution.provenance else None
        new = run_fixpoint(fixpoint, _Known(self.relations), self.watch, self.plan.functions, histories)
        for relation in fixpoint.relations:
            if histories and relation.name in histories:
                columns = (*relation.columns, Field(ITERATION, INT))
                self.histories[relation.name] = _relation(columns, frozenset(histories[relation.name]))
        return {relation.name: _relation(relation.columns, new[relation.name]) for relation in fixpoint.relations}

    def _tell_interpreter(self, stratum: PlannedStratum, why: str) -> None:
        _log.info("%s: evaluated by %s: %s", ", ".join(stratum.relations), INTERPRETER, why)
        self.listener(ExecutorChosen(stratum.index, stratum.relations, "interpreter", INTERPRETER, why))

    def _by_workers(self, stratum: PlannedStratum, planned: LocalJob, why: str) -> dict[str, LocalRelation]:
        main = planned.worker_plan.main
        how = how_it_runs(main.placement, planned.workers, is_recursive=main.is_recursive)
        reasons = "; ".join((why, *planned.folded))
        self.listener(ExecutorChosen(stratum.index, stratum.relations, "cyclic", how, reasons))
        outcome = planned.run(
            self.relations,
            self.must_be_sets,
            self.limits,
            lambda progress: self._heard(progress.iteration, progress.changed, progress.total),
            self.timed_from,
            self.places,
        )
        self.rows, self.efforts = outcome.rows, outcome.efforts
        self.representation, self.spilled = outcome.representation, outcome.spilled
        self.histories.update(outcome.histories)
        if self.execution.profile:
            profile = outcome.profile
            self.listener(RulesProfiled(stratum.index, stratum.relations, profile.rounds(), profile.steps()))
        return dict(outcome.relations)

    def _heard(self, iteration: int, changed: int, total: int) -> None:
        """An iteration of the stratum is over."""
        assert self.stratum is not None
        if self.most_facts is not None and total > self.most_facts:
            raise _NotSmall
        now = time.monotonic()
        self.iterations = iteration
        seconds, self.iteration_began = now - self.iteration_began, now
        self.listener(IterationFinished(self.stratum.index, self.stratum.relations, iteration, changed, total, seconds))

    def _saw(self, _node: Plan, rows: int) -> None:
        self.handled += rows
        if self.most_facts is not None and self.handled > FEW_HANDLED:
            raise _NotSmall

    def _output(self, name: str) -> LocalRelation:
        relation = self.relations[name]
        queries = [query for query in self.plan.queries if query.relation == name]
        asks_for_all = not self.plan.queries or any(
            all(isinstance(term, Variable) for term in query.terms) and len(set(query.terms)) == len(query.terms)
            for query in queries
        )
        if asks_for_all and name not in self.inputs:
            return relation
        return LocalRelation(relation.columns, relation.types, answers(self.plan, name, relation.facts))


def _relation(columns: tuple[Field, ...], facts: frozenset[Fact]) -> LocalRelation:
    return LocalRelation([column.name for column in columns], [column.type for column in columns], facts)
