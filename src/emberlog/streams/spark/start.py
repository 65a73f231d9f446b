"""From a checked program over streams and the frames of its inputs to a query that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.config import Limits, StreamOptions
from emberlog.datatypes import DataType
from emberlog.diagnostics import fail
from emberlog.engines.spark.frames.faults import Places, coded_errors
from emberlog.engines.spark.frames.resources import is_connect
from emberlog.engines.spark.slots import Slots
from emberlog.logical.rule_text import head_text, literal_text
from emberlog.semantics.model import CheckedProgram, Relation
from emberlog.streams.evaluate.methods import output_columns, partition_evaluator
from emberlog.streams.evaluate.partition_evaluator import why_one_partition
from emberlog.streams.plan.slides import Schedule, schedule_of
from emberlog.streams.plan.window import window_of
from emberlog.streams.spark.coordinator import Coordinator
from emberlog.streams.spark.sinks import ForEach, sink_of
from emberlog.streams.spark.started import Started, Watch
from emberlog.streams.spark.task import TAG, column_name
from emberlog.streams.steps.answers import Layout, OutputMode
from emberlog.streams.steps.checkpoint import Checkpoint
from emberlog.streams.steps.folder import Folder
from emberlog.streams.steps.progress import StreamProgress
from emberlog.streams.steps.step import Spec
from emberlog.syntax.printer import print_program

_FORM = 2
"""Of what a checkpoint holds; another one is that of another version of Emberlog."""


@dataclass(frozen=True, slots=True)
class StreamProgram:
    """A program whose inputs are registered: streams as streaming frames, everything else as frames."""

    spark: SparkSession
    checked: CheckedProgram
    frames: Mapping[str, DataFrame]
    """In the types of their relations, with columns `c0`, `c1`, …"""
    plain_times: bool
    places: Places
    limits: Limits

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(name for name in self.frames if self.checked.relations[name].is_stream)

    @property
    def statics(self) -> tuple[str, ...]:
        return tuple(name for name in self.frames if not self.checked.relations[name].is_stream)

    @property
    def outputs(self) -> dict[str, Relation]:
        """As they are evaluated: a time that nobody asks for is no column of theirs."""
        known = self.checked.relations
        return {name: replace(known[name], columns=columns) for name, columns in output_columns(self.checked).items()}


def check_inputs(program: StreamProgram) -> None:
    """Streams stream, and nothing else does."""
    if is_connect(program.spark):
        raise fail("DL342", "programs over streams need a classic session: Spark Connect runs their driver elsewhere")
    for name, frame in program.frames.items():
        relation = program.checked.relations[name]
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


def start(
    program: StreamProgram,
    options: StreamOptions,
    function: ForEach | None,
    tell: Callable[[StreamProgress], None] | None,
) -> Started:
    schedule = schedule_of(
        program.checked, watermark=options.watermark, slide=options.slide, plain_clock=program.plain_times
    )
    slots = _slots(program, options)
    spec = _spec(program, options, schedule)
    checkpoint = Checkpoint(spec.location)
    sink = sink_of(program.spark, options, list(spec.layout.outputs), function)
    if checkpoint.is_new:
        for name in program.statics:
            with coded_errors(program.places):
                program.frames[name].write.mode("overwrite").parquet(checkpoint.static(name).uri)
    checkpoint.claim(_identity(program, options, schedule))
    watch = Watch(tell)
    coordinator = Coordinator(
        program.spark,
        spec,
        sink,
        program.places,
        watch,
        plain_times=program.plain_times,
        workers=options.workers,
        is_one_machine=slots.is_one_machine,
    )
    coordinator.resume()
    writer = _tagged(program).writeStream.foreachBatch(coordinator.batch)
    writer = writer.option("checkpointLocation", checkpoint.spark_location)
    if options.queryName is not None:
        writer = writer.queryName(options.queryName)
    if options.availableNow:
        writer = writer.trigger(availableNow=True)
    elif options.processingTime is not None:
        writer = writer.trigger(processingTime=options.processingTime)
    query = coordinator.own_workers.query = writer.start()
    return Started(query, coordinator, watch, program.checked, program.limits, options.closes)


def _slots(program: StreamProgram, options: StreamOptions) -> Slots:
    """What Spark offers; raises an error if that is not enough for the workers, or if there can be only one."""
    slots = Slots.of(program.spark)
    if options.workers == 1:
        return slots
    reason = why_one_partition(program.checked) if options.evaluation == "incremental" else "evaluation is simple"
    reason = reason or slots.obstacle
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


def _spec(program: StreamProgram, options: StreamOptions, schedule: Schedule) -> Spec:
    relations = program.checked.relations
    streams = {name: _types(relations[name]) for name in program.streams}
    layout = Layout(
        OutputMode(options.outputMode),
        {name: relation.columns for name, relation in program.outputs.items()},
        {name: relations[name].columns for name in streams} if options.late == "keep" else {},
        program.plain_times,
    )
    window = window_of(program.checked, plain_clock=program.plain_times)
    make = partial(
        partition_evaluator,
        program.checked,
        window,
        program.limits,
        options.evaluation,
        layout.mode is OutputMode.CHANGES,
    )
    location = options.checkpointLocation
    return Spec(Folder(location).uri, location, schedule, streams, program.statics, layout, make)


def _types(relation: Relation) -> tuple[DataType, ...]:
    return tuple(column.type for column in relation.columns)


def _identity(program: StreamProgram, options: StreamOptions, schedule: Schedule) -> dict[str, object]:
    """What the files of a checkpoint depend on; the names are those that a person reads if it changed."""
    relations = program.checked.relations
    return {
        "the program": print_program(program.checked.program),
        "a parameter": [
            f"{head_text(rule.relation, rule.head)} :- {', '.join(map(literal_text, rule.body))}"
            for rule in program.checked.rules
        ],
        "the columns of an input": {name: [str(type_) for type_ in _types(relations[name])] for name in program.frames},
        "the watermark or the distance of slides": [schedule.distance, schedule.size, schedule.delay],
        "the output mode": options.outputMode,
        "what happens to late tuples": options.late,
        "the form of its files": _FORM,
        "the kind of times": "numbers" if program.plain_times else "timestamps",
    }


def _tagged(program: StreamProgram) -> DataFrame:
    """All streams as one, so that a batch has one number: each row with its stream's tag, in that stream's columns."""
    parts = []
    for tag, name in enumerate(program.streams):
        frame = program.frames[name]
        columns = [F.col(f"c{place}").alias(column_name(tag, place)) for place in range(len(frame.columns))]
        parts.append(frame.select(F.lit(tag).alias(TAG), *columns))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
