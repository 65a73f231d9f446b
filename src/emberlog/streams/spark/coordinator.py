"""The driver's side of a stream query: micro-batches of Spark as steps, and their answers as frames for the sink."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from threading import Lock
from weakref import WeakValueDictionary

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.spark.frames.faults import Places, fault_of
from emberlog.engines.spark.key_handover import key_handed_over, new_credentials
from emberlog.engines.spark.launcher import LOOPBACK
from emberlog.engines.spark.session_settings import ports_for
from emberlog.language.faults import Fault
from emberlog.streams.evaluate.window_facts import WindowFacts
from emberlog.streams.spark.sinks import Answer, Sink
from emberlog.streams.spark.task import (
    NO_STREAM,
    SUMMARY,
    TAG,
    PartitionJob,
    read_summaries,
    run_partition,
    run_step,
)
from emberlog.streams.steps.answers import late_name
from emberlog.streams.steps.checkpoint import Checkpoint, Record
from emberlog.streams.steps.exactly_once import ExactlyOnce
from emberlog.streams.steps.progress import ProgressLog
from emberlog.streams.steps.step import Measures, Spec, Step, merged
from emberlog.workers.plan.faults import told
from emberlog.workers.plan.mode import Mode
from emberlog.workers.wire.handshake import Unreachable
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.tracker import Tracker

_VARIABLE = "EMBERLOG_STREAM"

_lock = Lock()


class OwnWorkers:
    """Gives a query Python workers of its own, and with them the state that is resident there.

    Spark keeps Python workers apart by their environment. For each environment it has a process that makes them, which
    takes over a second to start and stays as long as the session. So environments are numbered, and a query takes the
    number of one that has ended."""

    def __init__(self) -> None:
        self.query: StreamingQuery | None = None
        """The query that needs them; None before it has begun."""
        with _lock:
            self.number = next(one for one in count() if not _is_taken(one))
            _users[self.number] = self

    @contextmanager
    def chosen(self, context: SparkContext) -> Iterator[None]:
        """Lets functions that are given to Spark meanwhile run in these workers."""
        with _lock:
            context.environment[_VARIABLE] = str(self.number)
            try:
                yield
            finally:
                del context.environment[_VARIABLE]

    @property
    def are_needed(self) -> bool:
        try:
            return self.query is None or bool(self.query.isActive)
        except (Py4JError, OSError):
            return False  # Spark has ended, and the query with it


_users: WeakValueDictionary[int, OwnWorkers] = WeakValueDictionary()


def _is_taken(number: int) -> bool:
    user = _users.get(number)
    return user is not None and user.are_needed


class Coordinator:
    def __init__(
        self,
        spark: SparkSession,
        spec: Spec,
        sink: Sink,
        places: Places,
        progress: ProgressLog,
        *,
        is_one_machine: bool,
    ) -> None:
        self.error: EmberlogError | None = None
        """Why the query ended, if it is a matter of the program or its data."""
        self.own_workers = OwnWorkers()
        self.progress = progress
        self._spark = spark
        self.spec = spec
        self._checkpoint = Checkpoint(spec.location)
        self._sink = sink
        self._places = places
        self._is_one_machine = is_one_machine
        self._since = time.monotonic()
        self._steps = ExactlyOnce(self._checkpoint, self._evaluate, self._deliver, self._tell)

    @property
    def query(self) -> StreamingQuery:
        """Returns Spark's side of the query, which must have begun."""
        assert self.own_workers.query is not None
        return self.own_workers.query

    def resume(self) -> None:
        self._steps.resume()

    def batch(self, frame: DataFrame, number: int) -> None:
        """Evaluates a micro-batch. Spark calls it once more if it is not sure that it did."""
        with self._remembered_errors():
            self._steps.batch(number, frame)

    def close_all(self) -> None:
        with self._remembered_errors():
            self._steps.close_all()

    def window(self) -> WindowFacts | None:
        """Reads the window of the last slide that closed from the checkpoint; None before the first."""
        spec, checkpoint = self.spec, self._checkpoint
        with checkpoint.unchanged:
            record = checkpoint.last()
            if record is None or record.clock.closed is None:
                return None
            tuples = {stream: checkpoint.log.read(record.log, stream, spec.schema(stream)) for stream in spec.streams}
            statics = checkpoint.static_tables(spec.statics)
        return WindowFacts(spec.schedule, record.clock.closed, tuples, statics, spec.plain_times)

    @contextmanager
    def _remembered_errors(self) -> Iterator[None]:
        """Keeps an error of the program: Spark would tell it as a text with its stack."""
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
        # At least one row, because Spark starts no task for an empty frame.
        ticket = self._spark.range(0, 1, 1, 1).select(F.lit(NO_STREAM).alias(TAG))
        rows = ticket if frame is None else ticket.unionByName(frame, allowMissingColumns=True)
        try:
            if self.spec.options.workers > 1:
                return self._by_several(step, rows)
            # What comes in several partitions is read by several tasks; what comes in one needs no exchange.
            is_one = frame is None or frame.rdd.getNumPartitions() == 1
            gathered = rows.coalesce(1) if is_one else rows.repartition(1)
            with self.own_workers.chosen(self._spark.sparkContext):
                job = gathered.mapInArrow(partial(run_step, self.spec, step), f"{SUMMARY} string")
            (taken,) = read_summaries([row[SUMMARY] for row in job.collect()])
            return taken
        except Fault as fault:
            raise told(fault, self._places) from None

    def _by_several(self, step: Step, rows: DataFrame) -> tuple[Record, Measures]:
        """Lets the tasks of a barrier stage take a step together, and merges what they tell."""
        workers = self.spec.options.workers
        credentials = new_credentials(self._spark)
        tracker, ports = None, ports_for(self._spark)
        if self._is_one_machine:
            progress = MergedProgress(workers, lambda _: None, Mode.BSP)
            try:
                tracker = Tracker(LOOPBACK, workers, credentials, progress, ports=ports)
            except Unreachable as problem:
                raise fail("DL520", f"the workers of a step cannot meet: {problem}") from None
        try:
            job = PartitionJob(self.spec, step, credentials.run, tracker.address if tracker else None, ports)
            # An exchange behind it, so that Spark tries a stage that failed again as a whole.
            shared = rows.repartition(workers)
            with self.own_workers.chosen(self._spark.sparkContext):
                frame = shared.mapInArrow(partial(run_partition, job), f"{SUMMARY} string", barrier=True)
            with key_handed_over(self._spark, credentials):
                return merged(read_summaries([row[SUMMARY] for row in frame.collect()]))
        finally:
            if tracker is not None:
                tracker.close()

    def _deliver(self, record: Record) -> None:
        layout = self.spec.layout
        written: dict[str, list[str]] = {}
        for file in record.outputs:
            written.setdefault(file.relation, []).append(self._checkpoint.outputs.within(file.name).uri)
        answers = {
            name: Answer(self._spark, layout.schema(name), tuple(written[name]))
            for name in (*layout.outputs, *map(late_name, layout.late))
            if name in written
        }
        if answers:
            self._sink.deliver(record.step, answers)

    def _tell(self, record: Record, measures: Measures) -> None:
        self.progress.add(record, measures, time.monotonic() - self._since)
