"""Runs a logical plan on Spark: strata without recursion as one lazy query, recursive ones on the executor that suits
them, as one job of workers or as a series of ordinary ones. What is small is computed in this process, which is that of
the driver, without any job."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar, assert_never, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.config import (
    DEFAULT_EXECUTION,
    DEFAULT_LIMITS,
    ON_A_CLUSTER,
    ON_ONE_MACHINE,
    WHERE_DRIVER_IS,
    Bounds,
    Execution,
    Limits,
)
from emberlog.diagnostics import InternalError
from emberlog.engines.experience import Experience
from emberlog.engines.local.kept import KeptInputs
from emberlog.engines.local.small_strata import PassedBound, SmallStrata
from emberlog.engines.recording import Recording
from emberlog.engines.runner import Backend, Outcome, Runner
from emberlog.engines.spark.description import planner_of, runs_small_strata
from emberlog.engines.spark.frames.counts import NodeCounts, RuleCounts
from emberlog.engines.spark.frames.environment import Session
from emberlog.engines.spark.frames.faults import Places, coded_errors
from emberlog.engines.spark.frames.fixpoint import run_fixpoint
from emberlog.engines.spark.frames.plans import PlanCompiler, union_all
from emberlog.engines.spark.frames.resources import Kept, Resources
from emberlog.engines.spark.frames.watch import Watch
from emberlog.engines.spark.job_inputs import DriverTables, StaticInput, WrittenInputs
from emberlog.engines.spark.job_results import Outgrown
from emberlog.engines.spark.launcher import Launcher
from emberlog.engines.spark.plain_scan import SOON_COLLECTED, collected
from emberlog.engines.spark.probe import is_local
from emberlog.engines.spark.run_folders import Store
from emberlog.engines.spark.session_settings import setting
from emberlog.engines.spark.slots import memory_of_worker
from emberlog.events import ExecutorChosen, Listener, RecursionRetried, ignore
from emberlog.io.local_relation import LocalRelation
from emberlog.io.spark_frames import Placed, size_of
from emberlog.language.comparisons import COMPARISONS
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.language.spark_columns import Scope, Typed, constant, leaf
from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
    Definition,
    Field,
    Fixpoint,
    Join,
    LogicalPlan,
    Plan,
    PlannedStratum,
    Scan,
    Version,
)
from emberlog.logical.properties import plan_can_fail
from emberlog.logical.repeated_rows import inputs_that_must_be_sets
from emberlog.logical.statistics import Statistics
from emberlog.logical.summary import counted
from emberlog.logical.traverse import relation_columns, relations_read, scans, walk
from emberlog.semantics.model import CheckedQuery
from emberlog.syntax.ast import Constant, Parameter
from emberlog.timing import Part, timed
from emberlog.workers.fixpoint.profile import Profile
from emberlog.workers.plan.faults import Refused
from emberlog.workers.plan.multiway import multiway_of
from emberlog.workers.plan.worker_plan import WorkerPlan, WorkerPlanner

if TYPE_CHECKING:
    from emberlog.engines.local.left_off import LeftOff

Found = TypeVar("Found")

_log = logging.getLogger("emberlog")


def behind_barrier(frame: DataFrame, plan: Plan) -> DataFrame:
    """Returns the frame of a plan. If the plan can end in a fault, all its rows and columns are computed when it is
    read."""
    if not plan_can_fail(plan):
        return frame
    # Both conditions always hold, which Spark does not see. The first one reads every column; and no condition is moved
    # past columns that could depend on the partition, nor decided by the constants behind them.
    needed = frame.where(F.hash(*frame.columns) >= F.lit(-(2**31)))
    return needed.select(*(F.when(F.spark_partition_id() >= 0, F.col(name)).alias(name) for name in frame.columns))


MOST_SCANS_IN_A_QUERY = 200
"""A definition that reads more relations, all definitions below it written out, is computed when it is first read: two
relations that each read the one below twice make a query of 2ⁿ scans."""

_COSTLY = (Join, AntiJoin, Aggregate)
"""Nodes for whose sake a query that several relations and answers read is computed once, at the first of them."""


@dataclass(frozen=True, slots=True)
class SparkRun:
    """Holds what a run gave. Recursive relations are computed and stay in Spark's memory until this is closed, or until
    nothing refers to them any more; the others are queries that Spark runs when they are read. What costs a join or an
    aggregate and is read by several of them is kept from its first reader on."""

    answers: Mapping[str, Placed]
    resources: Resources
    rows: Mapping[str, int]
    """Of relations that are computed, also of those that are no outputs."""
    strata: Sequence[PlannedStratum]
    """What was run: joins may be in another order than in the plan, by what was counted on the way."""
    recording: Recording[Placed] | None
    """All relations of the run, if it was asked for provenance."""

    def close(self) -> None:
        """Gives back the memory. The frames can no longer be read."""
        self.resources.release_all()


def run(
    plan: LogicalPlan,
    inputs: Mapping[str, Placed],
    spark: SparkSession,
    limits: Limits = DEFAULT_LIMITS,
    listener: Listener = ignore,
    *,
    execution: Execution = DEFAULT_EXECUTION,
    functions: Functions = BUILT_IN,
    places: Places | None = None,
    counts: NodeCounts | None = None,
    planner: WorkerPlanner | None = None,
    experience: Experience | None = None,
    kept: KeptInputs | None = None,
) -> SparkRun:
    """Runs a plan. The frame of an input has the columns of its relation in order, in the types of `spark_type`; its
    names do not matter, and it may hold rows twice. `places` say where the rules stand, for errors. With `counts`,
    every relation is computed at once, and the nodes of queries are counted. A `planner` brings an execution of its
    own; `experience` is what earlier runs learnt, `kept` what they read in this process."""
    places = places or {}
    resources = Resources(spark)
    watch = Watch(spark, limits, listener, places)
    planner = planner or planner_of(plan, execution, memory=memory_of_worker(spark))
    execution = planner.execution
    written = WrittenInputs()
    try:
        with watch.guarded(), coded_errors(places):
            small = None
            if counts is None:
                small = _small_strata(plan, spark, limits, listener, execution, places, experience, kept)
            told = planner.elsewhere, planner.begun
            backend = SparkBackend(
                plan, inputs, spark, functions, resources, watch, listener, execution, counts, small, *told, written
            )
            runner = Runner(plan, backend, planner, listener, places)
            answers = runner.run()
    except BaseException:
        resources.release_all()
        raise
    finally:
        written.delete()
    recording = backend.recording if execution.provenance else None
    return SparkRun(answers, resources, runner.rows, runner.strata, recording)


def bounds_for(spark: SparkSession) -> Bounds:
    """Returns how far a stratum may go in the driver's process."""
    return ON_ONE_MACHINE if is_local(setting(spark, "spark.master") or "") else ON_A_CLUSTER


def _small_strata(
    plan: LogicalPlan,
    spark: SparkSession,
    limits: Limits,
    listener: Listener,
    execution: Execution,
    places: Places,
    experience: Experience | None,
    kept: KeptInputs | None,
) -> SmallStrata | None:
    """Returns what computes strata in this process; None if all of them are for Spark."""
    if execution.executor == "driver":
        return SmallStrata(plan, limits, listener, execution, places, None, experience, kept)
    if not runs_small_strata(execution):
        return None
    return SmallStrata(plan, limits, listener, execution, places, bounds_for(spark), experience, kept)


class SparkBackend(Backend[Placed]):
    """Computes strata on Spark, by workers in one job or by queries, and small ones in this process."""

    without_workers = ("dataframe", "a series of jobs")

    def __init__(
        self,
        plan: LogicalPlan,
        inputs: Mapping[str, Placed],
        spark: SparkSession,
        functions: Functions,
        resources: Resources,
        watch: Watch,
        listener: Listener,
        execution: Execution,
        counts: NodeCounts | None,
        small: SmallStrata | None,
        elsewhere: dict[tuple[str, ...], str],
        begun: dict[tuple[str, ...], str],
        written: WrittenInputs,
    ) -> None:
        """`elsewhere` is told of strata that are computed in this process, `begun` of those that were begun in it."""
        self.plan = plan
        self.small = small
        self.elsewhere = elsewhere
        self.begun = begun
        self.written = written
        self.counts = counts
        self.spark = spark
        self.listener = listener
        self.execution = execution
        self.inputs = inputs
        self.lasting: set[Kept] = set()
        """What the relations that are complete need."""
        self.must_be_sets = inputs_that_must_be_sets(plan)
        sets = self.must_be_sets
        self.tables = DriverTables(spark, execution, self._last)
        read = {name: self.tables.input(one) for name, one in inputs.items()}
        complete = {name: one.distinct() if name in sets else one for name, one in read.items()}
        self.recording = Recording(complete)
        self.relations = complete
        self.sources = _CompleteRelations(complete)
        self.compiler = PlanCompiler(spark, functions, self.sources)
        asked = execution.provenance, execution.profile
        self.session = Session(spark, functions, resources, watch, self.compiler, *asked)
        self.fields = dict(plan.inputs)
        self.counted: dict[str, int] = {}
        """How many facts there are of relations that workers have computed."""
        self.weights = dict.fromkeys(inputs, 1)
        """How many scans of inputs and computed relations a query has that reads the relation."""
        self.costly: set[str] = set()
        """Queries with joins or aggregates, which all that reads them computes anew."""
        self.readers = Counter(name for stratum in plan.strata for name in relations_read(stratum.root))
        self.readers.update(plan.answers)
        self.large: set[str] = set()
        """Relations that this process gave up. Workers compute those without recursion with what reads them."""
        self.grown = ""
        """Why the stratum at hand is not computed in this process after all."""
        self.left_off: LeftOff | None = None
        """What was found of it here before that."""
        is_plain = not execution.through_spark and setting(spark, "spark.io.encryption.enabled") != "true"
        self.has_scratch = is_plain and is_local(setting(spark, "spark.master") or "")
        """Whether Spark may write facts to a scratch folder of this process."""

    def _last(self, kept: Kept) -> None:
        """Keeps something as long as the results."""
        self.session.resources.adopt(kept)
        self.lasting.add(kept)

    def has(self, relation: str) -> bool:
        return relation in self.relations

    def begin(self, stratum: PlannedStratum) -> None:
        self.grown, self.left_off = "", None
        if isinstance(stratum.root, Fixpoint):
            rules = [rule.name for relation in stratum.root.relations for rule in relation.rules]
            self.session.watch.enter(stratum.index, stratum.relations, rules)

    def compute_elsewhere(self, stratum: PlannedStratum, statistics: Statistics) -> Outcome[Placed] | None:
        """Computes a stratum in this process, if all that it reads is here and small, or can be brought here. A
        recursion is worth a job that collects what it reads; a query, which may never be run, only a short one."""
        if self.small is None:
            return None
        read = self._brought(sorted(relations_read(stratum.root).intersection(self.relations)), stratum)
        if read is None:
            return None
        names = ", ".join(stratum.relations)
        try:
            outcome = self.small.compute(stratum, read, statistics, self.session.watch.remaining().max_rows)
        except PassedBound as problem:
            self.large.update(stratum.relations)
            self.left_off, self.grown = problem.left_off, str(problem)
            what = "computed again" if problem.why_lost else "computed" if problem.is_known else "goes on"
            lost = f"; not gone on with, because {problem.why_lost}" if problem.why_lost else ""
            _log.info("%s: %s on Spark, because %s%s", names, what, problem, lost)
            self.session.watch.check_time()
            return None
        if isinstance(stratum.root, Fixpoint):
            rows = counted(sum(map(len, read.values())), "fact")
            self.elsewhere[stratum.relations] = f"driver executor, {WHERE_DRIVER_IS}, no job; reads {rows}"
        return _placed(outcome, self.tables.placed)

    def _brought(self, names: Sequence[str], stratum: PlannedStratum) -> dict[str, LocalRelation] | None:
        """Returns relations in this process; None if they are too large, or would take a job that is not worth it."""
        assert self.small is not None
        bounds = self.small.bounds
        most = None if bounds is None else bounds.read
        found: dict[str, LocalRelation] = {}
        # What is here already says soonest that all together is too much.
        for name in sorted(names, key=lambda one: not self.relations[one].is_here):
            if bounds is not None and name in self.large and name not in self.counted:
                return None
            one = self.relations[name]
            local = one.local(most)
            is_query = isinstance(stratum.root, Definition)
            if local is None and (bounds is None or not is_query or self._is_soon_collected(name)):
                written = partial(self.written.files, name, one, Store(None)) if self.has_scratch else None
                local = collected(one.frame, self.fields[name], most, written)
                if local is not None:
                    one.bring(local)
            if local is None:
                return None
            found[name] = local
            if most is not None:
                most -= size_of(local)
                if most < 0:
                    return None
        return found

    def _is_soon_collected(self, name: str) -> bool:
        """Tells whether workers have computed a relation, and so little of it that to collect it takes less time than
        one query that reads it on Spark."""
        rows = self.counted.get(name)
        return rows is not None and 8 * rows * len(self.fields[name]) <= SOON_COLLECTED

    def why_workers(self, stratum: PlannedStratum, planner: WorkerPlanner, statistics: Statistics) -> str | None:
        """Says so of a join that Spark had better not do pair by pair."""
        program = planner.compiled(stratum, statistics).program if statistics else None
        multiway = multiway_of(program, statistics) if program is not None else None
        if multiway is None:
            return None
        self.session.watch.enter(stratum.index, stratum.relations, [multiway.rule])
        return multiway.why

    def compute(self, stratum: PlannedStratum, refused: Refused | None) -> Outcome[Placed]:
        if self.left_off is not None:
            _log.info("%s: computed again: only workers go on with what was found", ", ".join(stratum.relations))
            self.left_off = None
        match stratum.root:
            case Definition():
                return self._define(stratum.root)
            case Fixpoint():
                begin = refused.known if isinstance(refused, Outgrown) else None
                if self.execution.profile:
                    begin = None  # a profile counts from the first round on, or is wrong
                for name in relations_read(stratum.root).intersection(self.relations):
                    _ = self.relations[name].frame  # a query that is kept has the settings of people, not of rounds
                return _placed(run_fixpoint(self.session, stratum.root, begin), _on_spark)
        assert_never(stratum.root)

    def _define(self, definition: Definition) -> Outcome[Placed]:
        """Returns a relation without recursion as a query, which is made when somebody reads it."""
        relation, plan = definition.relation, definition.plan
        if self.counts is not None:
            return _placed(self._counted(definition, self.counts), _on_spark)
        if self.execution.profile:
            return _placed(self._profiled(definition), _on_spark)
        weight = sum(self.weights[scan.relation] for scan in scans(plan))
        is_costly = any(isinstance(node, _COSTLY) for node in walk(plan)) or not self.costly.isdisjoint(
            scan.relation for scan in scans(plan)
        )
        is_kept = weight > MOST_SCANS_IN_A_QUERY or (is_costly and self.readers[relation] > 1)
        self.weights[relation] = 1 if is_kept else weight
        if is_costly and not is_kept:
            self.costly.add(relation)
        return Outcome({relation: Placed(partial(self._query, plan, is_kept=is_kept))})

    def _query(self, plan: Plan, *, is_kept: bool) -> DataFrame:
        frame = behind_barrier(self.compiler.ordered(plan), plan)
        if not is_kept:
            return frame
        kept = self.session.resources.keep(frame)
        self.lasting.add(kept)
        return kept.frame

    def _profiled(self, definition: Definition) -> Outcome[DataFrame]:
        """Computes a relation at once, rule by rule."""
        resources, relation, plan = self.session.resources, definition.relation, definition.plan
        counts = RuleCounts(resources, Profile())
        parts = counts.divided(plan, is_set=True)
        frames = [
            counts.rows(part.rule, relation, 0, behind_barrier(self.compiler.ordered(part.plan), part.plan))
            for part in parts
        ]
        since = perf_counter()
        together = union_all(frames)
        kept = resources.keep(together if parts[0].plan is plan else together.distinct())
        counts.keep(relation, kept.frame, kept.frame.columns, perf_counter() - since)
        return Outcome({relation: kept.frame}, {relation: kept.rows}, kept=(kept,), profile=counts.profile)

    def _counted(self, definition: Definition, counts: NodeCounts) -> Outcome[DataFrame]:
        with counts.observing(self.compiler):
            frame = behind_barrier(self.compiler.ordered(definition.plan), definition.plan)
        kept = self.session.resources.keep(frame)
        counts.take(frame)
        return Outcome({definition.relation: kept.frame}, {definition.relation: kept.rows}, kept=(kept,))

    def compute_by_workers(self, stratum: PlannedStratum, plan: WorkerPlan, why: str) -> Outcome[Placed]:
        index, names, watch = stratum.index, stratum.relations, self.session.watch
        launcher = Launcher(
            self.spark,
            plan,
            {name: self._static(name) for name in plan.inputs},
            self.written,
            self.session.resources,
            self.execution,
            watch.remaining(),
            lambda heard: watch.hear(heard.iteration, heard.changed, heard.total, heard.bytes_sent),
            lambda attempt, reason, since: self.listener(RecursionRetried(index, names, attempt, reason, since)),
            watch.check_time,
            self._gone_on_with(plan),
        )
        why = "; ".join(filter(None, (why, self.grown, launcher.begin)))
        if self.grown:
            self.begun[names] = "; ".join(filter(None, (self.grown, launcher.begin)))
        self.listener(ExecutorChosen(index, names, "cyclic", launcher.how, why))
        with timed(Part.WORKERS):
            return _placed(launcher.run(), _on_spark)

    def _gone_on_with(self, plan: WorkerPlan) -> LeftOff | None:
        """Returns what this process found of the recursion at hand, once: workers may be called again for it."""
        found, self.left_off = self.left_off, None
        return found if plan.main.is_recursive else None

    def take(self, stratum: PlannedStratum, outcome: Outcome[Placed]) -> None:
        self.fields.update(relation_columns(stratum.root))
        self.relations.update(outcome.relations)
        self.recording.histories.update(outcome.histories)
        if outcome.rows:
            self.counted.update(outcome.rows)
            self.session.watch.leave(sum(outcome.rows.values()))
            self.lasting.update(outcome.kept)
            self.session.resources.release_all(but=self.lasting)
            self.weights.update(dict.fromkeys(outcome.relations, 1))

    def _static(self, name: str) -> StaticInput:
        """Returns a relation that a recursion reads. Workers drop repeated rows themselves, which is cheaper."""
        if name in self.inputs:
            return StaticInput(self.inputs[name], name not in self.must_be_sets)
        return StaticInput(self.relations[name], True)

    def answer(self, name: str) -> Placed:
        """Returns the facts of a relation that the queries ask for, under the names that people know."""
        one, fields = self.relations[name], self.fields[name]
        local = one.local(None) if one.is_here and self.small is not None else None
        if local is not None and self.small is not None:
            found = self.small.answer(name, local).renamed([field.name for field in fields])
            return Placed.here(self.spark, found)
        return Placed(lambda: self._asked_for(name, one.frame, fields))

    def _asked_for(self, name: str, frame: DataFrame, fields: Sequence[Field]) -> DataFrame:
        queries = [query for query in self.plan.queries if query.relation == name]
        if queries:
            named = frame.toDF(*(f"column {i}" for i in range(len(fields))))
            frame = named.where(reduce(Column.__or__, (_agrees(query, fields) for query in queries)))
        return frame.toDF(*(field.name for field in fields))


def _agrees(query: CheckedQuery, fields: Sequence[Field]) -> Column:
    """Tells whether a row agrees with the constants of a query, and with itself where a variable is repeated."""
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


def _on_spark(frame: DataFrame) -> Placed:
    return Placed(lambda: frame)


def _placed(outcome: Outcome[Found], place: Callable[[Found], Placed]) -> Outcome[Placed]:
    """Returns what computing a stratum gave, with its relations where they are."""
    relations, histories = (
        {name: place(one) for name, one in some.items()} for some in (outcome.relations, outcome.histories)
    )
    return replace(cast("Outcome[Placed]", outcome), relations=relations, histories=histories)


class _CompleteRelations:
    """Holds the sources of plans that read only what is complete."""

    def __init__(self, relations: Mapping[str, Placed]) -> None:
        self.relations = relations

    def read(self, scan: Scan) -> DataFrame:
        if scan.version is not Version.FULL:
            raise InternalError(f"DL902: {scan.relation} is complete and has no {scan.version.value} version")
        return self.relations[scan.relation].frame

    def prepared(self, _plan: Plan, _on: tuple[str, ...]) -> DataFrame | None:
        return None

    def join_hints(self, _left: Plan, _right: Plan) -> tuple[str | None, str | None]:
        return None, None
