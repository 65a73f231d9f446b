"""From a checked program over streams and the frames of its inputs to a query that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import NoReturn

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.config import Limits, StreamOptions
from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.engine import Outputs, Request
from emberlog.engines.spark.engine import SparkEngine
from emberlog.engines.spark.frames.faults import coded_errors
from emberlog.engines.spark.frames.resources import is_connect
from emberlog.engines.spark.slots import Slots
from emberlog.logical.rule_text import head_text, literal_text
from emberlog.semantics.model import CheckedProgram, Column
from emberlog.streams.evaluate.methods import plan_evaluation
from emberlog.streams.plan.maintenance import Maintenance
from emberlog.streams.plan.slides import Schedule, schedule_of
from emberlog.streams.spark.coordinator import Coordinator
from emberlog.streams.spark.sinks import ForEach, sink_of
from emberlog.streams.spark.task import TAG, column_name, evaluator_of
from emberlog.streams.steps.checkpoint import Checkpoint
from emberlog.streams.steps.folder import Folder
from emberlog.streams.steps.progress import ProgressLog, StreamProgress
from emberlog.streams.steps.step import Spec
from emberlog.syntax.printer import print_program

_FORM = 2
"""The form of what a checkpoint holds; another one is that of another version of Emberlog."""


class StreamAnswers(Outputs[DataFrame]):
    """Is what `datalog` gives for a program over streams: relations that have no facts before they are started.

    The inputs of the program are registered: streams as streaming frames, everything else as frames, in the types of
    their relations, with columns `c0`, `c1`, …"""

    def __init__(self, engine: SparkEngine, request: Request, maintenance: Maintenance) -> None:
        """`maintenance` is the plan of the program that `explain` shows."""
        inputs = engine.inputs(request.checked, request.inputs)
        self.spark: SparkSession = engine.spark
        self.checked: CheckedProgram = request.checked
        self.limits: Limits = request.limits
        self._maintenance = maintenance
        self._outputs = maintenance.program.outputs
        self._frames: Mapping[str, DataFrame] = inputs.relations
        self._plain_times = inputs.plain_times
        self._places = dict(request.places)
        self._check_inputs()

    def _check_inputs(self) -> None:
        """Raises an error unless streams stream, and nothing else does."""
        if is_connect(self.spark):
            raise fail(
                "DL342", "programs over streams need a classic session: Spark Connect runs their driver elsewhere"
            )
        for name, frame in self._frames.items():
            relation = self.checked.relations[name]
            name = relation.data_name
            if relation.is_stream and not frame.isStreaming:
                raise fail(
                    "DL342",
                    f"`{name}` is a stream, and the data registered for it is not",
                    relation.span,
                    f'register a streaming DataFrame: db["{name}"] = spark.readStream…',
                    "declare it with RELATION to run the program once over the facts that are there",
                )
            if frame.isStreaming and not relation.is_stream:
                raise fail(
                    "DL342",
                    f"the data of `{name}` is a streaming DataFrame, and the program does not say that it is a stream",
                    None,
                    f"declare it, its timestamp first: STREAM {name}(Ts: timestamp, …).",
                )

    # --- relations without facts --------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> DataFrame:
        raise _not_yet(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)

    def __contains__(self, name: object) -> bool:
        return name in self._outputs

    def header(self, name: str) -> str:
        return ", ".join(f"{column.name}: {column.type}" for column in self._outputs[name])

    def write(self, folder: str | Path, format: str, *, header: bool, iterations: bool) -> NoReturn:
        raise _not_yet(next(iter(self._outputs)))

    def close(self) -> None:
        """Does nothing: a query that was started goes on until it is stopped."""

    # --- start --------------------------------------------------------------------------------------------------------

    def start(
        self, options: StreamOptions, function: ForEach | None, listener: Callable[[StreamProgress], None] | None
    ) -> Coordinator:
        schedule = schedule_of(
            self.checked, watermark=options.watermark, slide=options.slide, plain_clock=self._plain_times
        )
        slots = self._slots(options)
        spec = self._spec(options, schedule)
        checkpoint = Checkpoint(spec.location)
        sink = sink_of(self.spark, options, list(spec.outputs), function)
        if checkpoint.is_new:
            for name in spec.statics:
                with coded_errors(self._places):
                    self._frames[name].write.mode("overwrite").parquet(checkpoint.static(name).uri)
        checkpoint.claim(self._identity(options, schedule))
        progress = ProgressLog(spec, listener)
        coordinator = Coordinator(self.spark, spec, sink, self._places, progress, is_one_machine=slots.is_one_machine)
        coordinator.resume()
        writer = self._tagged(spec).writeStream.foreachBatch(coordinator.batch)
        writer = writer.option("checkpointLocation", checkpoint.spark_location)
        if options.queryName is not None:
            writer = writer.queryName(options.queryName)
        if options.availableNow:
            writer = writer.trigger(availableNow=True)
        elif options.processingTime is not None:
            writer = writer.trigger(processingTime=options.processingTime)
        coordinator.own_workers.query = writer.start()
        return coordinator

    def _slots(self, options: StreamOptions) -> Slots:
        """Returns what Spark offers; raises an error if that is not enough for the workers, or if there can be only
        one."""
        slots = Slots.of(self.spark)
        if options.workers == 1:
            return slots
        is_simple = options.evaluation == "simple"
        obstacle = self._maintenance.why_one_partition or slots.barrier_obstacle
        reason = "evaluation is simple" if is_simple else obstacle
        if reason is not None:
            raise fail("DL331", f"this program runs with one worker only: {reason}", None, "leave `workers` out")
        if options.workers > slots.count:
            raise fail(
                "DL331",
                f"{options.workers:,} workers are asked for, and Spark can run {slots.count:,} tasks at once",
                None,
                "ask for fewer workers, or give the session more cores",
            )
        return slots

    def _spec(self, options: StreamOptions, schedule: Schedule) -> Spec:
        plan = plan_evaluation(self._maintenance, options.evaluation, self.limits)
        # Once, and not with each of the functions that Spark gets for a micro-batch.
        pickled: bytes = cloudpickle.dumps(plan)  # type: ignore[no-untyped-call]
        is_stream = {name: self.checked.relations[name].is_stream for name in self._frames}
        return Spec(
            query=Folder(options.checkpointLocation).uri,
            # What the sink needs stays on the driver: there may be passwords in it.
            options=replace(options, options={}),
            schedule=schedule,
            streams={name: self._columns(name) for name, one in is_stream.items() if one},
            statics=tuple(name for name, one in is_stream.items() if not one),
            outputs=self._outputs,
            plain_times=self._plain_times,
            make=partial(evaluator_of, pickled, schedule, options.tells_changes),
        )

    def _columns(self, name: str) -> tuple[Column, ...]:
        return self.checked.relations[name].columns

    def _identity(self, options: StreamOptions, schedule: Schedule) -> dict[str, object]:
        """Returns what the files of a checkpoint depend on; the names are those that a person reads if it changed."""
        return {
            "the program": print_program(self.checked.program),
            "a parameter": [
                f"{head_text(rule.relation, rule.head)} :- {', '.join(map(literal_text, rule.body))}"
                for rule in self.checked.rules
            ],
            "the columns of an input": {
                name: [str(column.type) for column in self._columns(name)] for name in self._frames
            },
            "the watermark or the distance of slides": [schedule.distance, schedule.size, schedule.delay],
            "the output mode": options.outputMode,
            "what happens to late tuples": options.late,
            "the form of its files": _FORM,
            "the kind of times": "numbers" if self._plain_times else "timestamps",
        }

    def _tagged(self, spec: Spec) -> DataFrame:
        """Makes one frame of all streams, so that a batch has one number: each row with its stream's tag, in that
        stream's columns."""
        parts = []
        for tag, name in enumerate(spec.streams):
            frame = self._frames[name]
            columns = [F.col(f"c{place}").alias(column_name(tag, place)) for place in range(len(frame.columns))]
            parts.append(frame.select(F.lit(tag).alias(TAG), *columns))
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)


def _not_yet(name: str) -> EmberlogError:
    return fail(
        "DL342",
        f"`{name}` is the answer of a stream, which is another at each slide",
        None,
        'start it, and a sink gets the answers: result.start("answers/", checkpointLocation="checkpoint/")',
    )
