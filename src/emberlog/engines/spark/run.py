"""Runs a logical plan on Spark: strata without recursion as one lazy query, recursive ones on the executor that suits
them, as one barrier job or as a series of ordinary ones."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import assert_never

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.config import DEFAULT_EXECUTION, DEFAULT_LIMITS, Execution, Limits
from emberlog.diagnostics import InternalError, fail
from emberlog.engines.recording import Recording
from emberlog.engines.spark.failures import NotHere
from emberlog.engines.spark.frames.environment import RelationResult, Session
from emberlog.engines.spark.frames.fault_barrier import behind_barrier
from emberlog.engines.spark.frames.faults import Places, coded_errors
from emberlog.engines.spark.frames.fixpoint import run_fixpoint
from emberlog.engines.spark.frames.node_counts import NodeCounts
from emberlog.engines.spark.frames.plans import PlanCompiler
from emberlog.engines.spark.frames.resources import Kept, Resources
from emberlog.engines.spark.frames.watch import Watch
from emberlog.engines.spark.handover import Outgrown
from emberlog.engines.spark.launcher import Launcher, StaticInput
from emberlog.events import (
    ExecutorChosen,
    Listener,
    RecursionRetried,
    RulesProfiled,
    RunFinished,
    RunStarted,
    StratumFinished,
    StratumStarted,
    WorkerEffort,
    ignore,
)
from emberlog.language.comparisons import COMPARISONS
from emberlog.language.faults import Fault
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.language.spark_columns import Scope, Typed, constant, leaf
from emberlog.logical.needed_strata import needed_strata
from emberlog.logical.nodes import Definition, Field, Fixpoint, LogicalPlan, Plan, PlannedStratum, Scan, Version
from emberlog.logical.repeated_rows import inputs_that_must_be_sets
from emberlog.logical.traverse import scans
from emberlog.optimize.refinement import Refinement
from emberlog.semantics.model import CheckedQuery
from emberlog.syntax.ast import Constant, Parameter
from emberlog.workers.plan.capabilities import obstacles
from emberlog.workers.plan.faults import SUSPICION, told
from emberlog.workers.plan.multiway import multiway_of
from emberlog.workers.plan.worker_plan import plan_workers

MOST_SCANS_IN_A_QUERY = 200
"""A definition that reads more relations, all definitions below it written out, is computed before it is read: two
relations that each read the one below twice make a query of 2ⁿ scans."""


class Relations(Mapping[str, DataFrame]):
    """The outputs of a run. Recursive ones are computed and stay in Spark's memory until this is closed, or until
    nothing refers to them any more; the others are queries that Spark runs when they are read."""

    def __init__(
        self,
        frames: Mapping[str, DataFrame],
        resources: Resources,
        rows: Mapping[str, int],
        strata: tuple[PlannedStratum, ...] = (),
        recording: Recording[DataFrame] | None = None,
    ) -> None:
        self._frames = dict(frames)
        self.resources = resources
        self.rows = rows
        """Of relations that are computed, also of those that are no outputs."""
        self.strata = strata
        """What was run: joins may be in another order than in the plan, by what was counted on the way."""
        self.recording = recording
        """All relations of the run, if it was asked for provenance."""

    def __getitem__(self, name: str) -> DataFrame:
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def close(self) -> None:
        """Gives back the memory. The frames can no longer be read."""
        self.resources.release_all()


def run(
    plan: LogicalPlan,
    inputs: Mapping[str, DataFrame],
    spark: SparkSession,
    limits: Limits = DEFAULT_LIMITS,
    listener: Listener = ignore,
    *,
    execution: Execution = DEFAULT_EXECUTION,
    functions: Functions = BUILT_IN,
    places: Places | None = None,
    counts: NodeCounts | None = None,
) -> Relations:
    """The outputs of the plan. An input has the columns of its relation in order, in the types of `spark_type`; its
    names do not matter, and it may hold rows twice. `places` say where the rules stand, for errors. With `counts`,
    every relation is computed at once, and the nodes of queries are counted."""
    resources = Resources(spark)
    watch = Watch(spark, limits, listener, places or {})
    try:
        with watch.guarded(), coded_errors(places or {}):
            one = _Run(plan, inputs, spark, functions, resources, watch, listener, execution, places or {}, counts)
            frames = one.run()
    except BaseException:
        resources.release_all()
        raise
    return Relations(frames, resources, one.rows, tuple(one.strata), one.recording if execution.provenance else None)


class _Run:
    def __init__(
        self,
        plan: LogicalPlan,
        inputs: Mapping[str, DataFrame],
        spark: SparkSession,
        functions: Functions,
        resources: Resources,
        watch: Watch,
        listener: Listener,
        execution: Execution,
        places: Places,
        counts: NodeCounts | None,
    ) -> None:
        self.plan = plan
        self.counts = counts
        self.spark = spark
        self.listener = listener
        self.execution = execution
        self.places = places
        self.inputs = inputs
        self.rows: dict[str, int] = {}
        self.strata: list[PlannedStratum] = []
        self.refinement = Refinement(plan)
        self.bytes_sent, self.representation, self.spilled = 0, "", ""
        self.efforts: tuple[WorkerEffort, ...] = ()
        self.known: Mapping[str, Kept] = {}
        """What another executor has found of the recursion at hand."""
        sets = inputs_that_must_be_sets(plan)
        self.must_be_sets = sets
        complete = {name: frame.distinct() if name in sets else frame for name, frame in inputs.items()}
        self.recording = Recording(complete)
        self.sources = _CompleteRelations(complete)
        self.compiler = PlanCompiler(spark, functions, self.sources)
        self.session = Session(spark, functions, resources, watch, self.compiler, execution.provenance)
        self.fields = dict(plan.inputs)
        self.weights = dict.fromkeys(inputs, 1)
        """How many scans of inputs and computed relations a query has that reads the relation."""
        self.lasting: set[Kept] = set()
        """What the relations that are complete need."""

    def run(self) -> dict[str, DataFrame]:
        since = time.monotonic()
        self.strata, _ = needed_strata(self.plan)
        self.listener(RunStarted(len(self.strata)))
        for place, stratum in enumerate(self.strata):
            self.strata[place] = self.refinement.planned(stratum)
            self._stratum(self.strata[place])
        outputs = {name: self._output(name) for name in self.plan.answers}
        self.listener(RunFinished(time.monotonic() - since))
        return outputs

    def _stratum(self, stratum: PlannedStratum) -> None:
        since = time.monotonic()
        is_recursive = isinstance(stratum.root, Fixpoint)
        self.listener(StratumStarted(stratum.index, stratum.relations, is_recursive))
        iterations, rows = 0, None
        self.bytes_sent, self.representation, self.efforts, self.spilled = 0, "", (), ""
        match stratum.root:
            case Definition():
                rows = self._define(stratum, stratum.root)
            case Fixpoint():
                results = self._fixpoint(stratum, stratum.root)
                iterations, rows = self.session.watch.iteration, sum(result.rows for result in results.values())
            case _:
                assert_never(stratum.root)
        seconds = time.monotonic() - since
        self.listener(
            StratumFinished(
                stratum.index,
                stratum.relations,
                iterations,
                rows,
                seconds,
                self.bytes_sent,
                self.representation,
                self.efforts,
                self.spilled,
            )
        )

    def _define(self, stratum: PlannedStratum, definition: Definition) -> int | None:
        """Gives the number of facts if they were computed."""
        relation, plan = definition.relation, definition.plan
        self.fields[relation] = plan.columns
        if relation in self.sources.frames:
            return None  # it was computed together with the recursion that it folds
        results = self._multiway(stratum, definition)
        if results is not None:
            self._take(results)
            return sum(result.rows for result in results.values())
        if self.counts is not None:
            return self._counted(definition, self.counts)
        frame = behind_barrier(self.compiler.ordered(plan), plan)
        weight = sum(self.weights[scan.relation] for scan in scans(plan))
        if weight > MOST_SCANS_IN_A_QUERY:
            kept = self.session.resources.keep(frame)
            self.lasting.add(kept)
            frame, weight = kept.frame, 1
        self.sources.frames[relation] = frame
        self.weights[relation] = weight
        return None

    def _counted(self, definition: Definition, counts: NodeCounts) -> int:
        with counts.observing(self.compiler):
            frame = behind_barrier(self.compiler.ordered(definition.plan), definition.plan)
        kept = self.session.resources.keep(frame)
        counts.take(frame)
        self._take({definition.relation: RelationResult(kept.frame, kept.rows, (kept,))})
        return kept.rows

    def _multiway(self, stratum: PlannedStratum, definition: Definition) -> dict[str, RelationResult] | None:
        """What the workers make of a join that Spark had better not do pair by pair; None for any other."""
        if self.execution.executor == "dataframe":
            return None
        multiway = multiway_of(definition, self.refinement.statistics)
        if multiway is None:
            return None
        self.session.watch.enter(stratum.index, stratum.relations, [multiway.rule])
        try:
            results = self._launched(stratum, multiway.why)
        except NotHere as problem:
            how = "a query of Spark, pair by pair"
            self.listener(ExecutorChosen(stratum.index, stratum.relations, "dataframe", how, str(problem)))
            return None
        except Fault as fault:
            if fault.code == SUSPICION:
                return None
            raise told(fault, self.places) from None
        self.session.watch.leave(sum(result.rows for result in results.values()))
        return results

    def _fixpoint(self, stratum: PlannedStratum, fixpoint: Fixpoint) -> dict[str, RelationResult]:
        relations = fixpoint.relations
        self.session.watch.enter(
            stratum.index,
            tuple(relation.name for relation in relations),
            [rule.name for relation in relations for rule in relation.rules],
        )
        self.known = {}
        results = self._cyclic(stratum, fixpoint) or run_fixpoint(self.session, fixpoint, self.known)
        self.session.watch.leave(sum(result.rows for result in results.values()))
        for relation in relations:
            self.fields[relation.name] = relation.columns
        self._take(results)
        return results

    def _take(self, results: Mapping[str, RelationResult]) -> None:
        """Relations that are complete, for those that read them."""
        self.lasting.update(kept for result in results.values() for kept in result.kept)
        self.session.resources.release_all(but=self.lasting)
        for name, result in results.items():
            # What folds the recursion may be here, too, and then the recursion itself is not.
            self.sources.frames[name] = result.frame
            self.weights[name] = 1
            self.rows[name] = result.rows
            self.refinement.tell(name, result.rows)
            if result.history is not None:
                self.recording.histories[name] = result.history

    def _cyclic(self, stratum: PlannedStratum, fixpoint: Fixpoint) -> dict[str, RelationResult] | None:
        """The facts of a recursive stratum by the cyclic executor; None where the dataframe executor has to do it."""
        index, names = stratum.index, stratum.relations
        is_forced = self.execution.executor == "cyclic"
        if self.execution.executor == "dataframe":
            self.listener(ExecutorChosen(index, names, "dataframe", "a series of jobs", "asked for"))
            return None
        found = obstacles(fixpoint)
        if not found:
            try:
                return self._launched(stratum)
            except Outgrown as problem:
                found, self.known = (str(problem),), problem.known
            except NotHere as problem:
                found = (str(problem),)
            except Fault as fault:
                if fault.code != SUSPICION:
                    raise told(fault, self.places) from None
                found, is_forced = (fault.message,), False
        if is_forced:
            raise fail("DL333", f"the cyclic executor cannot run {', '.join(names)}: {'; '.join(found)}")
        self.listener(ExecutorChosen(index, names, "dataframe", "a series of jobs", "; ".join(found)))
        return None

    def _launched(self, stratum: PlannedStratum, why: str = "") -> dict[str, RelationResult]:
        """Runs the stratum, with what it reads and what folds it as far as workers can do that, as one job."""
        index, names = stratum.index, stratum.relations
        watch = self.session.watch
        worker_plan = plan_workers(self.strata, stratum, self.plan.outputs, self.execution, self.refinement.statistics)
        launcher = Launcher(
            self.spark,
            worker_plan,
            {name: self._static(name) for name in worker_plan.inputs},
            self.session.resources,
            self.execution,
            watch.remaining(),
            lambda heard: watch.hear(heard.iteration, heard.changed, heard.total, heard.bytes_sent),
            lambda attempt, reason, since: self.listener(RecursionRetried(index, names, attempt, reason, since)),
        )
        self.listener(ExecutorChosen(index, names, "cyclic", launcher.how, why or worker_plan.main.placement.why))
        result = launcher.run()
        watch.iteration = result.iterations
        self.bytes_sent, self.representation, self.efforts = result.bytes_sent, result.choice, result.efforts
        self.spilled = result.spilled
        if self.execution.profile:
            profile = result.profile
            self.listener(RulesProfiled(index, names, profile.rounds(), profile.steps()))
        return {
            name: RelationResult(frame, result.rows[name], (result.kept,), result.histories.get(name))
            for name, frame in result.frames.items()
        }

    def _static(self, name: str) -> StaticInput:
        """A relation that a recursion reads. Workers drop repeated rows themselves, which is cheaper."""
        if name in self.inputs:
            return StaticInput(self.inputs[name], name not in self.must_be_sets)
        return StaticInput(self.sources.frames[name], True)

    def _output(self, name: str) -> DataFrame:
        """The facts of a relation that the queries ask for, under the names that people know."""
        fields = self.fields[name]
        frame = self.sources.frames[name]
        queries = [query for query in self.plan.queries if query.relation == name]
        if queries:
            named = frame.toDF(*(f"column {i}" for i in range(len(fields))))
            frame = named.where(reduce(Column.__or__, (_agrees(query, fields) for query in queries)))
        return frame.toDF(*(field.name for field in fields))


def _agrees(query: CheckedQuery, fields: Sequence[Field]) -> Column:
    """Whether a row agrees with the constants of a query, and with itself where a variable is repeated."""
    agrees = F.lit(True)
    first: dict[str, Typed] = {}
    equal = COMPARISONS["="].spark
    for index, (term, field) in enumerate(zip(query.terms, fields, strict=True)):
        own = leaf(f"column {index}", field.type)
        if isinstance(term, Constant):
            agrees = agrees & equal(Scope(None), own, constant(term.value)).column
        elif isinstance(term, Parameter):
            raise InternalError(f"DL902: the parameter ${term.name} has no value")
        elif term.name in first:
            agrees = agrees & equal(Scope(None), own, first[term.name]).column
        else:
            first[term.name] = own
    return agrees


class _CompleteRelations:
    """The sources of plans that read only what is complete."""

    def __init__(self, frames: dict[str, DataFrame]) -> None:
        self.frames = frames

    def read(self, scan: Scan) -> DataFrame:
        if scan.version is not Version.FULL:
            raise InternalError(f"DL902: {scan.relation} is complete and has no {scan.version.value} version")
        return self.frames[scan.relation]

    def prepared(self, _plan: Plan, _on: tuple[str, ...]) -> DataFrame | None:
        return None

    def join_hints(self, _left: Plan, _right: Plan) -> tuple[str | None, str | None]:
        return None, None
