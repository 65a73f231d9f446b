"""The driver's side of a stream query: micro-batches of Spark as steps, and their answers as frames for the sink."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.frames.faults import Places, fault_of
from emberlog.language.faults import Fault
from emberlog.streams.evaluate.window_facts import WindowFacts
from emberlog.streams.spark.own_workers import OwnWorkers
from emberlog.streams.spark.partition_task import take_in_partitions
from emberlog.streams.spark.sinks import Answer, Sink
from emberlog.streams.spark.task import NO_STREAM, SUMMARY, TAG, read_summaries, run_step
from emberlog.streams.steps.answers import late_name
from emberlog.streams.steps.checkpoint import Checkpoint, Record
from emberlog.streams.steps.exactly_once import ExactlyOnce
from emberlog.streams.steps.progress import Latencies, StreamProgress, progress_of
from emberlog.streams.steps.step import Measures, Spec, Step
from emberlog.streams.steps.tuple_log import TupleLog
from emberlog.workers.plan.faults import told


class Coordinator:
    def __init__(
        self,
        spark: SparkSession,
        spec: Spec,
        sink: Sink,
        places: Places,
        hear: Callable[[StreamProgress], None],
        *,
        plain_times: bool,
        workers: int,
        is_one_machine: bool,
    ) -> None:
        self.error: EmberlogError | None = None
        """Why the query ended, if it is a matter of the program or its data."""
        self.own_workers = OwnWorkers()
        self._spark = spark
        self._spec = spec
        self._checkpoint = Checkpoint(spec.location)
        self._sink = sink
        self._places = places
        self._hear = hear
        self._plain_times = plain_times
        self._workers = workers
        self._is_one_machine = is_one_machine
        self._latencies = Latencies()
        self._since = time.monotonic()
        self._steps = ExactlyOnce(self._checkpoint, self._evaluate, self._deliver, self._tell)

    def resume(self) -> None:
        self._steps.resume()

    def batch(self, frame: DataFrame, number: int) -> None:
        """What Spark calls for each micro-batch, and once more if it is not sure."""
        with self._remembered_errors():
            self._steps.batch(number, frame)

    def close_all(self) -> None:
        with self._remembered_errors():
            self._steps.close_all()

    def window(self) -> WindowFacts | None:
        """The window of the last slide that closed, from the checkpoint; None before the first."""
        with self._checkpoint.unchanged:
            record = self._checkpoint.last()
            if record is None or record.clock.closed is None:
                return None
            log, spec = TupleLog(self._checkpoint.log), self._spec
            tuples = {stream: log.read(record.log, stream, spec.schema(stream)) for stream in spec.streams}
            statics = {relation: self._checkpoint.static(relation).tables() for relation in spec.statics}
        return WindowFacts(spec.schedule, record.clock.closed, tuples, statics, self._plain_times)

    @contextmanager
    def _remembered_errors(self) -> Iterator[None]:
        """Spark would tell an error of ours as a text with its stack."""
        try:
            yield
        except EmberlogError as error:
            self.error = error
            raise
        except Exception as error:
            self.error = fault_of(error, self._places)
            raise

    def _evaluate(self, step: Step, frame: DataFrame | None) -> tuple[Record, Measures]:
        self._since = time.monotonic()
        # A row at least: Spark would not start a task for nothing.
        ticket = self._spark.range(0, 1, 1, 1).select(F.lit(NO_STREAM).alias(TAG))
        rows = ticket if frame is None else ticket.unionByName(frame, allowMissingColumns=True)
        try:
            if self._workers > 1:
                return take_in_partitions(
                    rows, self._spec, step, self.own_workers, self._workers, is_one_machine=self._is_one_machine
                )
            # What comes in several partitions is read by several tasks; what comes in one needs no exchange.
            is_one = frame is None or frame.rdd.getNumPartitions() == 1
            gathered = rows.coalesce(1) if is_one else rows.repartition(1)
            with self.own_workers.chosen(self._spark.sparkContext):
                job = gathered.mapInArrow(partial(run_step, self._spec, step), f"{SUMMARY} string")
            (taken,) = read_summaries([row[SUMMARY] for row in job.collect()])
            return taken
        except Fault as fault:
            raise told(fault, self._places) from None

    def _deliver(self, record: Record) -> None:
        written: dict[str, list[str]] = {}
        for file in record.outputs:
            written.setdefault(file.relation, []).append(self._checkpoint.outputs.within(file.name).uri)
        wanted = [*self._spec.layout.outputs, *map(late_name, self._spec.layout.late)]
        answers = {
            name: Answer(self._spark, self._spec.layout.schema(name), tuple(written[name]))
            for name in wanted
            if name in written
        }
        if answers:
            self._sink.deliver(record.step, answers)

    def _tell(self, record: Record, measures: Measures) -> None:
        self._latencies.add(measures.slide_seconds)
        seconds = time.monotonic() - self._since
        self._hear(
            progress_of(
                record,
                measures,
                self._spec.schedule,
                list(self._spec.streams),
                seconds,
                self._latencies.percentiles(),
                plain_times=self._plain_times,
            )
        )
