"""A database's engine on a Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from emberlog.config import refuse_options
from emberlog.datatypes import INT
from emberlog.engines.engine import Counted, Engine, Inputs, Outputs, Request
from emberlog.engines.recording import ITERATION, Recording, recursion_cases
from emberlog.engines.spark.description import described
from emberlog.engines.spark.frames.dated_facts import dated
from emberlog.engines.spark.frames.faults import coded_errors
from emberlog.engines.spark.frames.node_counts import NodeCounts
from emberlog.engines.spark.run import Relations, run
from emberlog.engines.spark.session import active_session, start_session
from emberlog.engines.spark.shelves import shelf_of_frame
from emberlog.engines.spark.statistics import statistics_of
from emberlog.engines.worker_counts import WorkerCounts
from emberlog.io.intake import Source, register
from emberlog.io.shelves import Shelf
from emberlog.io.spark_conversions import as_result
from emberlog.io.spark_sources import SparkReader
from emberlog.io.spark_writers import write_relations
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import CheckedProgram, Column, Relation


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

    def register(
        self, name: str, data: object, *, columns: Sequence[str] | None, header: bool, format: str | None
    ) -> None:
        self._registered[name] = register(
            SparkReader(self.spark), name, data, columns=columns, header=header, format=format
        )

    def forget(self, name: str) -> None:
        del self._registered[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._registered)

    def original(self, name: str) -> DataFrame:
        return self._registered[name].original()

    def columns(self, name: str, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        return self._registered[name].columns(declared)

    def statistics(self, name: str, relation: Relation) -> RelationStatistics | None:
        return statistics_of(self._registered[name], relation)

    def choices(self, plan: LogicalPlan) -> tuple[str, ...]:
        return described(plan)

    def run(self, request: Request) -> Outputs[DataFrame]:
        inputs = self.inputs(request.checked, request.inputs)
        run_plan = partial(
            run,
            inputs=inputs.relations,
            spark=self.spark,
            limits=request.limits,
            execution=request.execution,
            functions=request.checked.functions,
            places=request.places,
        )
        relations = run_plan(request.plan, listener=request.listener)
        return SparkOutputs(request, relations, run_plan, plain_times=inputs.plain_times)

    def counted(self, request: Request) -> Counted:
        nodes, workers = NodeCounts(self.spark), WorkerCounts()
        relations = run(
            request.plan,
            self.inputs(request.checked, request.inputs).relations,
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
        plan = replace(request.plan, strata=relations.strata)
        return Counted(plan, nodes.rows, relations.rows, tuple(workers.rounds), tuple(workers.steps))

    def inputs(self, checked: CheckedProgram, names: Sequence[str]) -> Inputs[DataFrame]:
        known = checked.relations
        return Inputs(
            {name: self._registered[name].relation(known[name]) for name in names},
            any(self._registered[name].has_plain_times(known[name]) for name in names),
        )

    def close(self) -> None:
        self._registered.clear()
        if self._owns_session:
            self.spark.stop()


class SparkOutputs(Outputs[DataFrame]):
    """Recursive relations are held in Spark's memory. `close` gives it back at once; without it Spark does so some time
    after the last frame that reads them is gone."""

    def __init__(
        self, request: Request, relations: Relations, run_plan: Callable[[LogicalPlan], Relations], *, plain_times: bool
    ) -> None:
        self._relations = relations
        self._run_plan = run_plan
        self._for_questions: list[Relations] = []
        self._places = request.places
        self._known = request.checked.relations
        self._cases = recursion_cases(request.checked)
        self._plain_times = plain_times
        self._frames = {
            name: as_result(frame, request.checked.relations[name], plain_times=plain_times)
            for name, frame in relations.items()
        }

    def __getitem__(self, name: str) -> DataFrame:
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def header(self, name: str) -> str:
        fields = self._frames[name].schema.fields
        return ", ".join(f"{field.name}: {field.dataType.simpleString()}" for field in fields)

    def write(self, folder: str | Path, format: str, *, header: bool, iterations: bool) -> None:
        histories = self.histories if iterations else {}
        written = {
            name: dated(frame, histories[name], self._cases[name]) if name in histories else frame
            for name, frame in self._frames.items()
        }
        with coded_errors(self._places):
            write_relations(written, folder, format, header=header)

    def recorded(self, plan: LogicalPlan | None = None) -> Recording[Shelf] | None:
        relations = self._relations
        if plan is not None and relations.recording is not None:
            relations = self._run_plan(plan)
            self._for_questions.append(relations)
        recording, resources = relations.recording, relations.resources
        if recording is None:
            return None
        return Recording(
            {name: shelf_of_frame(frame, resources) for name, frame in recording.relations.items()},
            {name: shelf_of_frame(frame, resources) for name, frame in recording.histories.items()},
        )

    @property
    def histories(self) -> Mapping[str, DataFrame]:
        recording = self._relations.recording
        histories = recording.histories.items() if recording else ()
        return {name: self._history(name, frame) for name, frame in histories if name in self._known}

    def _history(self, name: str, frame: DataFrame) -> DataFrame:
        relation = self._known[name]
        with_iteration = replace(relation, columns=(*relation.columns, Column(ITERATION, INT)))
        named = frame.toDF(*(column.name for column in with_iteration.columns))
        return as_result(named, with_iteration, plain_times=self._plain_times)

    def close(self) -> None:
        for relations in (self._relations, *self._for_questions):
            relations.close()
