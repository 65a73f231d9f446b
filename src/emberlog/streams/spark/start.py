"""From a checked program over streams and the frames of its inputs to a query that runs."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import NoReturn

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.config import Evaluation, Limits, StreamOptions
from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.engine import Outputs, Request
from emberlog.engines.spark.engine import SparkEngine
from emberlog.engines.spark.failures import NotHere
from emberlog.engines.spark.frames.faults import coded_errors
from emberlog.engines.spark.frames.resources import is_connect
from emberlog.engines.spark.worker_stage import Ground
from emberlog.io.spark_conversions import CHANGED, MALFORMED
from emberlog.logical.rule_text import head_text, literal_text
from emberlog.semantics.model import CheckedProgram, Column
from emberlog.streams.evaluate.methods import MakeLivePlan, plan_evaluations
from emberlog.streams.plan.needed_columns import needed_columns
from emberlog.streams.plan.slides import Schedule, schedule_of, seconds_of
from emberlog.streams.plan.window_plans import WindowPlans
from emberlog.streams.spark.coordinator import Coordinator
from emberlog.streams.spark.sinks import ForEach, sink_of
from emberlog.streams.spark.task import TAG, column_name, evaluator_of
from emberlog.streams.state.copies import CHANGE
from emberlog.streams.steps.checkpoint import OF_THE_PROGRAM, Checkpoint
from emberlog.streams.steps.progress import ProgressLog, StreamProgress
from emberlog.streams.steps.spec import Spec
from emberlog.syntax.printer import print_program

_FORM = 4
"""The form of what a checkpoint holds; another one is that of another version of Emberlog."""
_OF_RELATIONS = "the columns of a relation"


_log = logging.getLogger("emberlog")


class StreamAnswers(Outputs[DataFrame]):
    """Is what `datalog` gives for a program over streams: relations that have no facts before they are started.

    The inputs of the program are registered: streams as streaming frames, everything else as frames, in the types of
    their relations, with columns `c0`, `c1`, …"""

    def __init__(self, engine: SparkEngine, request: Request, plans: WindowPlans, live: MakeLivePlan) -> None:
        """`plans` are those of the program that `explain` shows; `live` makes evaluators that delete."""
        inputs = engine.inputs(request.checked, request.inputs)
        self.spark: SparkSession = engine.spark
        self.checked: CheckedProgram = request.checked
        self.limits: Limits = request.limits
        self._plans = plans
        self._live = live
        self._outputs = plans.outputs
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
            self.checked,
            watermark=options.watermark,
            slide=options.slide,
            time_to_live=options.timeToLive,
            plain_clock=self._plain_times,
        )
        options = self._with_sessions(options) if schedule.gap is not None else options
        if schedule.each and options.early:
            raise fail("DL508", "early answers are told of one window, and the program has several", None)
        options = self._with_changes(options, schedule) if self._changing else options
        if options.idle is not None:
            seconds_of("idle", options.idle)
        ground = self._ground(options) if options.workers > 1 else None
        spec = self._spec(options, schedule)
        checkpoint = Checkpoint(spec.location)
        sink = sink_of(self.spark, options, spec.layout, function)
        identity = self._identity(options, schedule)
        checkpoint.check(identity, OF_THE_PROGRAM if options.newProgram else ())
        checkpoint.claim(identity, self._statics(options, spec, checkpoint))
        spec = replace(spec, query=checkpoint.state_name)
        progress = ProgressLog(spec, listener)
        coordinator = Coordinator(self.spark, spec, sink, self._places, progress, ground)
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

    def _with_sessions(self, options: StreamOptions) -> StreamOptions:
        """Sessions have no tuple in common, so each is told whole and evaluated by itself."""
        if options.tells_changes or options.early:
            raise fail(
                "DL508",
                "sessions are told one by one, when they are over: they have no changes and no early answers",
                None,
                'leave it at outputMode="complete", without `early`',
            )
        return replace(options, evaluation="simple")

    def _statics(self, options: StreamOptions, spec: Spec, checkpoint: Checkpoint) -> dict[str, str]:
        """Reads the relations that are no streams, but for those that the checkpoint has and keeps. Each goes into a
        folder of its own, so that the checkpoint is whole whenever this ends."""
        renewed, known = self._renewed(options, spec), checkpoint.statics
        before, types = checkpoint.identity.get(_OF_RELATIONS, {}), self._types(are_streams=False)
        folders: dict[str, str] = {}
        for name in spec.statics:
            if name in known and name not in renewed and before.get(name) == types[name]:
                folders[name] = known[name]
                continue
            folders[name] = f"{name}-{uuid.uuid4().hex}"
            with coded_errors(self._places):
                self._frames[name].write.parquet(checkpoint.static(folders[name]).uri)
        return folders

    def _renewed(self, options: StreamOptions, spec: Spec) -> tuple[str, ...]:
        """Returns the relations of the checkpoint that are to be read anew."""
        names = {self.checked.relations[name].data_name: name for name in spec.statics}
        unknown = [name for name in options.renew if name not in names]
        if unknown:
            known = f"it reads {', '.join(names)} once" if names else "it reads nothing but streams"
            raise fail("DL508", f"`{unknown[0]}` is no relation that this query reads once", None, known)
        return tuple(names[name] for name in options.renew)

    @property
    def _changing(self) -> frozenset[str]:
        return frozenset(name for name, frame in self._frames.items() if CHANGED in frame.columns)

    def _with_changes(self, options: StreamOptions, schedule: Schedule) -> StreamOptions:
        """Rows that are deleted go as they do from a live view, unless each slide is from scratch."""
        if options.early or schedule.gap is not None or schedule.each:
            names = ", ".join(sorted(self._changing))
            refused = "it has no sessions, no early answers and no more than one window"
            raise fail("DL508", f"`{names}` is a stream of changes: {refused}")
        return options if options.evaluation == "simple" else replace(options, evaluation="live")

    def _evaluations(self, options: StreamOptions) -> Iterator[Evaluation]:
        """Yields how each window is evaluated. Few tuples change what would be computed anew at each slide, where that
        is faster."""
        for maintenance in self._plans.each:
            why = maintenance.why_by_tuples
            if why is None or options.evaluation != "incremental" or options.early or options.workers > 1:
                yield options.evaluation
            else:
                _log.info("evaluated tuple by tuple, as a live view: %s", why)
                yield "live"

    def _ground(self, options: StreamOptions) -> Ground:
        """Returns what is known of the session; raises an error if that is not enough for the workers, or if there can
        be only one."""
        if options.early:
            reason: str | None = "early answers are told"
        elif self._changing:
            reason = f"rows of {', '.join(sorted(self._changing))} are deleted, too"
        elif options.evaluation != "incremental":
            reason = f"evaluation is {options.evaluation}"
        else:
            reason = self._plans.why_one_partition
        if reason is not None:
            raise _one_worker_only(reason)
        try:
            ground = Ground.of(self.spark)
        except NotHere as problem:
            raise _one_worker_only(str(problem)) from None
        if ground.slots.most is not None and options.workers > ground.slots.most:
            raise fail(
                "DL331",
                f"{options.workers:,} workers are asked for, and Spark can run {ground.slots.most:,} tasks at once",
                None,
                "ask for fewer workers, or give the session more cores",
            )
        return ground

    def _spec(self, options: StreamOptions, schedule: Schedule) -> Spec:
        plan = plan_evaluations(self._plans, list(self._evaluations(options)), self.limits, self._live)
        # Once, and not with each of the functions that Spark gets for a micro-batch.
        pickled: bytes = cloudpickle.dumps(plan)  # type: ignore[no-untyped-call]
        is_stream = {name: self.checked.relations[name].is_stream for name in self._frames}
        return Spec(
            query="",
            # What the sink needs stays on the driver: there may be passwords in it.
            options=replace(options, options={}),
            schedule=schedule,
            # In an order that another program has, too: Spark knows them by their places.
            streams={name: self._columns(name) for name, one in sorted(is_stream.items()) if one},
            statics=tuple(name for name, one in is_stream.items() if not one),
            outputs=self._outputs,
            plain_times=self._plain_times,
            make=partial(evaluator_of, pickled, schedule, options.tells_changes),
            needed=needed_columns(self.checked),
            changing=self._changing,
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
            "the columns of a stream": self._types(are_streams=True),
            _OF_RELATIONS: self._types(are_streams=False),
            "the watermark or the distance of slides": [schedule.distance, schedule.size, schedule.delay],
            "the kind of window": [
                *(schedule.is_half_open, schedule.tells_quiet, schedule.gap, schedule.key),
                *([one.distance, one.size, one.is_half_open] for one in schedule.each),
            ],
            "the output mode": options.outputMode,
            "what happens to late tuples": options.late,
            "the form of its files": _FORM,
            "the streams of changes": sorted(self._changing),
            "the kind of times": "numbers" if self._plain_times else "timestamps",
        }

    def _types(self, *, are_streams: bool) -> dict[str, list[str]]:
        return {
            name: [str(column.type) for column in self._columns(name)]
            for name in sorted(self._frames)
            if self.checked.relations[name].is_stream is are_streams
        }

    def _tagged(self, spec: Spec) -> DataFrame:
        """Makes one frame of all streams, so that a batch has one number: each row with its stream's tag, in that
        stream's columns."""
        parts = []
        for tag, name in enumerate(spec.streams):
            frame = self._frames[name]
            places = range(len(spec.streams[name]))
            columns = [F.col(f"c{place}").alias(column_name(tag, place)) for place in places]
            changes = [F.col(CHANGED).alias(CHANGE)] if name in spec.changing else []
            parts.append(frame.select(F.lit(tag).alias(TAG), *columns, MALFORMED, *changes))
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)


def _one_worker_only(reason: str) -> EmberlogError:
    return fail("DL331", f"this program runs with one worker only: {reason}", None, "leave `workers` out")


def _not_yet(name: str) -> EmberlogError:
    return fail(
        "DL342",
        f"`{name}` is the answer of a stream, which is another at each slide",
        None,
        'start it, and a sink gets the answers: result.start("answers/", checkpointLocation="checkpoint/")',
    )
