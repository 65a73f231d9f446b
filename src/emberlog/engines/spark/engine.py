"""A database's engine on a Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from pathlib import Path

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.config import Execution, refuse_options
from emberlog.datatypes import INT
from emberlog.engines.engine import Counted, Engine, Inputs, Outputs, Request, RunOutputs
from emberlog.engines.experience import Experience
from emberlog.engines.local.kept import KeptInputs
from emberlog.engines.recording import ITERATION, Recording, is_latest
from emberlog.engines.spark.description import described, planner_of
from emberlog.engines.spark.failures import told_as_such
from emberlog.engines.spark.frames.counts import NodeCounts
from emberlog.engines.spark.frames.resources import Resources, is_connect
from emberlog.engines.spark.job_inputs import MOST_INLINE_ROWS
from emberlog.engines.spark.plain_scan import parquet_files, rows_in_plan
from emberlog.engines.spark.run import SparkRun, bounds_for, run
from emberlog.engines.spark.session import active_session, start_session
from emberlog.engines.spark.slots import memory_of_worker
from emberlog.engines.worker_counts import WorkerCounts
from emberlog.io.intake import Glance, NoRows, Source, register
from emberlog.io.local_relation import LocalRelation
from emberlog.io.matching import free_name
from emberlog.io.sampling import statistics_of_facts, statistics_of_parquet
from emberlog.io.shelves import MOST_AT_HAND, FactShelf, ParquetShelf, Shelf, shelf_of
from emberlog.io.spark_conversions import as_result, fact_of
from emberlog.io.spark_frames import CountedFrame, HeldSource, MadeWhenRead, Placed
from emberlog.io.spark_sources import SparkReader
from emberlog.io.spark_writers import write_relations
from emberlog.io.text_format import TextOptions
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import CellValue, CheckedProgram, Column, Fact, RecursionCase, Relation
from emberlog.workers.plan.worker_plan import WorkerPlanner


def statistics_of(source: Source[DataFrame], relation: Relation) -> RelationStatistics | None:
    """Returns statistics of data of this process, of Parquet files and of text files on this machine; None for
    anything else."""
    known = source.statistics(relation)
    if known is not None:
        return known
    frame = source.relation(relation)
    return None if frame.isStreaming or is_connect(frame.sparkSession) else _of_frame(frame, relation.arity)


def _of_frame(frame: DataFrame, width: int) -> RelationStatistics | None:
    rows = rows_in_plan(frame)
    if rows is not None:
        if rows > MOST_INLINE_ROWS:
            return None
        return statistics_of_facts((tuple(row) for row in frame.collect()), width)
    files = parquet_files(frame)
    return None if files is None else statistics_of_parquet(files.paths, files.columns)


_IS_ASKED = "is asked"

KEPT_FOR_EACH_READ = 4
"""How many times what a stratum may read in the driver's process is kept there for later runs, indexes included."""


class SparkEngine(Engine[DataFrame]):
    """Uses the session given, or the active one, and leaves it as it was; or starts one, and stops it in the end."""

    def __init__(
        self, spark: SparkSession | None, master: str | None, memory: str | None, conf: Mapping[str, str] | None
    ) -> None:
        existing = spark or active_session()
        if existing is not None:
            given = {"master": master, "memory": memory, "conf": conf}
            reason = "leave it out, or stop the session first: it is for a session that Emberlog starts"
            asked = [name for name, value in given.items() if value]
            refuse_options("a session that is there already", asked, dict.fromkeys(given, reason))
        self._owns_session = existing is None
        self.spark: SparkSession = existing or start_session(master, memory=memory, conf=conf)
        self._registered: dict[str, Source[DataFrame]] = {}
        self._experience = Experience()
        self._kept = KeptInputs(KEPT_FOR_EACH_READ * bounds_for(self.spark).read)

    def register(
        self, name: str, data: object, *, columns: Sequence[str] | None, text: TextOptions, format: str | None
    ) -> None:
        with told_as_such(self.spark):
            reader = SparkReader(self.spark)
            self._registered[name] = register(reader, name, data, columns=columns, text=text, format=format)

    def forget(self, name: str) -> None:
        del self._registered[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._registered)

    def original(self, name: str) -> DataFrame:
        with told_as_such(self.spark):
            return self._registered[name].original()

    def columns(self, name: str, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        with told_as_such(self.spark):
            return self._registered[name].columns(declared)

    def glance(self, name: str) -> Glance:
        return self._registered[name].glance()

    def statistics(self, name: str, relation: Relation) -> RelationStatistics | None:
        with told_as_such(self.spark):
            return statistics_of(self._registered[name], relation)

    def repeated_rows(self, name: str, relation: Relation) -> int | None:
        return self._registered[name].repeated_rows(relation)

    def planner(self, plan: LogicalPlan, execution: Execution, *, without_data: bool) -> WorkerPlanner:
        return planner_of(plan, execution, without_data=without_data, memory=memory_of_worker(self.spark))

    def choices(self, plan: LogicalPlan, planner: WorkerPlanner) -> tuple[str, ...]:
        return described(plan, planner, bounds_for(self.spark))

    def run(self, request: Request) -> Outputs[DataFrame]:
        with told_as_such(self.spark, request.places):
            return self._run(request)

    def _run(self, request: Request) -> Outputs[DataFrame]:
        plain_times = self._have_plain_times(request.checked, request.inputs)
        run_plan = partial(
            run,
            inputs=self._placed(request.checked, request.inputs),
            spark=self.spark,
            limits=request.limits,
            execution=request.execution,
            functions=request.checked.functions,
            places=request.places,
            experience=self._experience,
            kept=self._kept,
        )
        relations = run_plan(request.plan, listener=request.listener, planner=request.planner)
        return SparkOutputs(self.spark, request, relations, run_plan, plain_times=plain_times)

    def counted(self, request: Request) -> Counted:
        nodes, workers = NodeCounts(self.spark), WorkerCounts()
        relations = run(
            request.plan,
            self._placed(request.checked, request.inputs),
            self.spark,
            request.limits,
            workers,
            # Bits are not counted one by one, and rows are.
            execution=replace(request.execution, profile=True, representation="hash"),
            functions=request.checked.functions,
            places=request.places,
            counts=nodes,
        )
        relations.close()
        plan = replace(request.plan, strata=tuple(relations.strata))
        return Counted(plan, nodes.rows, relations.rows, tuple(workers.rounds), tuple(workers.steps))

    def inputs(self, checked: CheckedProgram, names: Sequence[str]) -> Inputs[DataFrame]:
        return Inputs(
            {name: one.frame for name, one in self._placed(checked, names).items()},
            self._have_plain_times(checked, names),
        )

    def _placed(self, checked: CheckedProgram, names: Sequence[str]) -> dict[str, Placed]:
        """Returns the registered data of these names. What Spark has to read is not read yet."""

        def placed(relation: Relation) -> Placed:
            source = self._source(relation)
            here = source.at_hand(relation, None) if isinstance(source, HeldSource) else None
            return Placed(partial(source.relation, relation), here, partial(source.at_hand, relation))

        return {name: placed(checked.relations[name]) for name in names}

    def _have_plain_times(self, checked: CheckedProgram, names: Sequence[str]) -> bool:
        return any(self._source(one := checked.relations[name]).has_plain_times(one) for name in names)

    def _source(self, relation: Relation) -> Source[DataFrame]:
        return self._registered.get(relation.data_name) or HeldSource(self.spark, NoRows(relation.name))

    def close(self) -> None:
        self._registered.clear()
        self._kept.clear()
        if self._owns_session:
            self.spark.stop()


class SparkOutputs(RunOutputs[DataFrame, Placed]):
    """Holds the relations of a run on Spark. Recursive ones are in its memory. `close` gives it back at once; without
    it Spark does so some time after the last frame that reads them is gone."""

    def __init__(
        self,
        spark: SparkSession,
        request: Request,
        run: SparkRun,
        run_plan: Callable[[LogicalPlan], SparkRun],
        *,
        plain_times: bool,
    ) -> None:
        self._spark = spark
        self._plain_times = plain_times
        self._places = request.places
        relations = request.checked.relations
        frames = MadeWhenRead({name: partial(self._shown, one, relations[name]) for name, one in run.answers.items()})
        super().__init__(request.checked, frames, run.recording)
        self._runs = [run]
        self._run_plan = run_plan

    def _shown(self, placed: Placed, relation: Relation) -> DataFrame:
        """Returns facts as people want them."""

        def frame() -> DataFrame:
            with told_as_such(self._spark, self._places):
                return as_result(placed.frame, relation, plain_times=self._plain_times)

        found = placed.local(None) if placed.is_here and not is_connect(self._spark) else None
        return frame() if found is None else CountedFrame(self._spark, len(found), frame)

    def _rerun(self, plan: LogicalPlan) -> Recording[Placed]:
        run = self._run_plan(plan)
        self._runs.append(run)
        assert run.recording is not None
        return run.recording

    def at_hand(self, name: str) -> LocalRelation | None:
        placed = self._runs[0].answers[name]
        found = placed.local(None) if placed.is_here else None
        return None if found is None else found.with_times(plain=self._plain_times)

    def header(self, name: str) -> str:
        fields = self[name].schema.fields
        return ", ".join(f"{field.name}: {field.dataType.simpleString()}" for field in fields)

    def _write(self, relations: Mapping[str, DataFrame], folder: str | Path, format: str, *, header: bool) -> None:
        with told_as_such(places=self._places):
            write_relations(relations, folder, format, header=header)

    def _dated(self, facts: DataFrame, history: DataFrame, case: RecursionCase) -> DataFrame:
        names = [*facts.columns, free_name(ITERATION, facts.columns)]
        keys = [f"c{place}" for place in range(len(facts.columns))]
        came = F.max(ITERATION) if is_latest(case) else F.min(ITERATION)
        # A group is a fact of both: unlike a join, that takes null for null.
        asked = facts.toDF(*keys).withColumns({ITERATION: F.lit(None).cast("long"), _IS_ASKED: F.lit(True)})
        known = history.toDF(*keys, ITERATION).withColumn(_IS_ASKED, F.lit(False))
        groups = (
            asked.unionByName(known).groupBy(*keys).agg(came.alias(ITERATION), F.bool_or(_IS_ASKED).alias(_IS_ASKED))
        )
        return groups.where(F.col(_IS_ASKED)).drop(_IS_ASKED).toDF(*names)

    def _shelf(self, recorded: Placed) -> Shelf:
        local = recorded.local(None) if recorded.is_here else None
        return shelf_of_frame(recorded.frame, self._runs[-1].resources) if local is None else shelf_of(local)

    def _history(self, relation: Relation, recorded: Placed) -> DataFrame:
        with_iteration = replace(relation, columns=(*relation.columns, Column(ITERATION, INT)))
        named = recorded.frame.toDF(*(column.name for column in with_iteration.columns))
        return as_result(named, with_iteration, plain_times=self._plain_times)

    def close(self) -> None:
        self.is_closed = True
        for one in self._runs:
            one.close()


def shelf_of_frame(frame: DataFrame, resources: Resources) -> Shelf:
    """Returns how rows of a frame are looked up: in files without Spark where they are files, otherwise by small jobs.
    What is cached for them belongs to the resources."""
    if not is_connect(frame.sparkSession):
        rows = rows_in_plan(frame)
        if rows is not None and rows <= MOST_AT_HAND:
            return FactShelf([fact_of(row) for row in frame.collect()])
        files = parquet_files(frame)
        if files is not None:
            return ParquetShelf(files.paths, files.columns, files.rows)
    return FrameShelf(frame, resources)


class FrameShelf(Shelf):
    """Holds rows that only Spark can read. They are computed once, at the first question."""

    def __init__(self, frame: DataFrame, resources: Resources) -> None:
        self._names = [f"c{index}" for index in range(len(frame.columns))]
        self._frame = frame.toDF(*self._names)
        self._resources = resources

    @property
    def rows(self) -> int:
        return self._cached[1]

    def select(self, equal: Mapping[int, CellValue], most: int) -> list[Fact] | None:
        rows = self._where(equal).limit(most + 1).collect()
        return None if len(rows) > most else [fact_of(row) for row in rows]

    def scan(self, equal: Mapping[int, CellValue]) -> Iterator[Fact]:
        return (fact_of(row) for row in self._where(equal).toLocalIterator())

    def _where(self, equal: Mapping[int, CellValue]) -> DataFrame:
        frame = self._cached[0]
        if not equal:
            return frame
        conditions = (F.col(self._names[column]) == F.lit(value) for column, value in equal.items())
        return frame.where(reduce(SparkColumn.__and__, conditions))

    @cached_property
    def _cached(self) -> tuple[DataFrame, int]:
        kept = self._resources.cache(self._frame)
        return kept.frame, kept.rows
