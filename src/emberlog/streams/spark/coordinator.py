"""The driver's side of a stream query: micro-batches of Spark as steps, and their answers as frames for the sink."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from threading import Event, Lock, Thread
from weakref import WeakValueDictionary

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from emberlog.config import Recovery
from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.spark.failures import NotHere
from emberlog.engines.spark.frames.faults import Places, fault_of, is_cancelled
from emberlog.engines.spark.frames.job_tag import JobTag
from emberlog.engines.spark.gathering import TooFewSlots
from emberlog.engines.spark.key_handover import key_handed_over, new_credentials
from emberlog.engines.spark.session_settings import ports_for
from emberlog.engines.spark.slots import slots_after_a_loss, slots_now
from emberlog.engines.spark.worker_stage import Ground, WorkerStage
from emberlog.language.faults import Fault
from emberlog.streams.evaluate.window_facts import WindowFacts
from emberlog.streams.plan.slides import seconds_of
from emberlog.streams.spark.sinks import Answer, Sink
from emberlog.streams.spark.task import (
    NO_STREAM,
    SUMMARY,
    TAG,
    PartitionJob,
    Task,
    read_culprits,
    read_summaries,
    run_partition,
    run_search,
    run_step,
)
from emberlog.streams.state.copies import held_rows
from emberlog.streams.steps.answers import bad_name, late_name
from emberlog.streams.steps.checkpoint import Checkpoint, Record
from emberlog.streams.steps.exactly_once import ExactlyOnce
from emberlog.streams.steps.measures import Measures, merged
from emberlog.streams.steps.progress import ProgressLog
from emberlog.streams.steps.resident_state import resolved_name
from emberlog.streams.steps.silence import Silence
from emberlog.streams.steps.spec import Spec, Step
from emberlog.streams.steps.step import with_slides
from emberlog.workers.kernels.tuning import LAST_WORDS_SECONDS
from emberlog.workers.plan.faults import told
from emberlog.workers.plan.mode import Mode
from emberlog.workers.wire.draining import Lost
from emberlog.workers.wire.merged_progress import MergedProgress

_VARIABLE = "EMBERLOG_STREAM"

_log = logging.getLogger("emberlog")

_LOOKS = 1.0
"""Seconds at most between two looks whether a stream is idle."""

_lock = Lock()


class Stopped(Exception):
    """Ends a batch because the query is being stopped.

    Spark looks into the text of an exception for the word that it was interrupted, with a pattern that overflows the
    stack of Java on a long text, such as the stack of Java that Py4J writes. This text is short, and has the word."""

    def __init__(self) -> None:
        super().__init__("py4j.protocol.Py4JJavaError: An error occurred while calling: java.lang.InterruptedException")


def is_interruption(error: Exception) -> bool:
    """Tells whether a job failed because somebody stopped the query."""
    return is_cancelled(error) or (isinstance(error, Py4JJavaError) and "InterruptedException" in str(error))


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


def _as_many_as(slots: int, problem: Exception) -> int:
    if slots == 0:
        raise fail("DL520", f"Spark has no longer room for any worker of a step: {problem}") from None
    return slots


class Coordinator:
    def __init__(
        self,
        spark: SparkSession,
        spec: Spec,
        sink: Sink,
        places: Places,
        progress: ProgressLog,
        ground: Ground | None,
    ) -> None:
        """`ground` is what is known of the session if several workers take a step together."""
        self.error: EmberlogError | None = None
        """Why the query ended, if it is a matter of the program or its data."""
        self.own_workers = OwnWorkers()
        self.progress = progress
        self._spark = spark
        self.spec = spec
        self._checkpoint = Checkpoint(spec.location)
        self._sink = sink
        self._places = places
        self._ground = ground
        self._since = time.monotonic()
        seconds = None if spec.options.idle is None else seconds_of("idle", spec.options.idle)
        self._silence = None if seconds is None else Silence(spec.streams, seconds)
        self._steps = ExactlyOnce(
            self._checkpoint, self._evaluate, self._deliver, self._tell, self._find_culprits, self._silence
        )
        self._ended = Event()
        self._clock: Thread | None = None

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

    def watch_the_clock(self) -> None:
        """Looks from time to time whether a stream is idle: Spark makes no batches while nothing comes."""
        if self._silence is not None:
            self._clock = Thread(target=self._pass_time, name="emberlog-idle-streams", daemon=True)
            self._clock.start()

    def _pass_time(self) -> None:
        assert self._silence is not None
        while self.own_workers.are_needed and not self._ended.wait(min(self._silence.seconds / 2, _LOOKS)):
            try:
                with self._remembered_errors():
                    self._steps.pass_time()
            except Exception:
                _log.exception("a step without a batch failed, so the query ends")
                self.query.stop()
                return

    def end(self) -> None:
        """Takes no more steps of its own."""
        self._ended.set()
        if self._clock is not None:
            self._clock.join()

    def close_all(self) -> None:
        with self._remembered_errors():
            self._steps.close_all()

    def bad(self, stream: str) -> DataFrame:
        """Returns the rows of a stream that could not be used, with the reasons."""
        checkpoint = self._checkpoint
        record = checkpoint.last()
        files = [] if record is None else [one for one in record.quarantine if one.relation == stream]
        schema = from_arrow_schema(self.spec.layout.schema(bad_name(stream)))
        if not files:
            return self._spark.createDataFrame([], schema)
        folder = checkpoint.quarantine.folder
        return self._spark.read.schema(schema).parquet(*(folder.within(one.name).uri for one in files))

    def window(self) -> WindowFacts | None:
        """Reads the window of the last slide that closed from the checkpoint; None before the first."""
        spec, checkpoint = self.spec, self._checkpoint
        with checkpoint.unchanged:
            record = checkpoint.last()
            if record is None or record.clock.closed is None:
                return None
            tuples = {stream: _kept_tuples(spec, checkpoint, record, stream) for stream in spec.streams}
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
            if is_interruption(error):
                raise Stopped from None
            self.error = fault_of(error, self._places)
            raise

    def _evaluate(self, step: Step, frame: DataFrame | None) -> tuple[Record, Measures]:
        self._since = time.monotonic()
        try:
            if self._ground is not None:
                record, measures = self._by_several(step, self._rows(frame), self._ground)
            else:
                (taken,) = read_summaries([self._by_one(run_step, step, frame)])
                record, measures = taken
        except Fault as fault:
            raise told(fault, self._places) from None
        return with_slides(self.spec, record, measures), measures

    def _find_culprits(self, step: Step, frame: DataFrame | None) -> Mapping[str, pa.Table]:
        if self.spec.options.bad == "fail":
            return {}
        try:
            return read_culprits(self._by_one(run_search, step, frame))
        except Fault as fault:
            raise told(fault, self._places) from None

    def _rows(self, frame: DataFrame | None) -> DataFrame:
        """Returns at least one row, because Spark starts no task for an empty frame."""
        ticket = self._spark.range(0, 1, 1, 1).select(F.lit(NO_STREAM).alias(TAG))
        return ticket if frame is None else ticket.unionByName(frame, allowMissingColumns=True)

    def _by_one(self, task: Task, step: Step, frame: DataFrame | None) -> str:
        """Gives a batch to one task, and returns what it tells."""
        # What comes in several partitions is read by several tasks; what comes in one needs no exchange.
        is_one = frame is None or frame.rdd.getNumPartitions() == 1
        gathered = self._rows(frame).coalesce(1) if is_one else self._rows(frame).repartition(1)
        with self.own_workers.chosen(self._spark.sparkContext):
            job = gathered.mapInArrow(partial(task, self.spec, step), f"{SUMMARY} string")
        (row,) = job.collect()
        return str(row[SUMMARY])

    def _by_several(self, step: Step, rows: DataFrame, ground: Ground) -> tuple[Record, Measures]:
        """Lets several workers take a step, once more if one of them is lost: what a step leaves behind counts only
        with its record. Where Spark has no room for all of them any more, it is taken by fewer."""
        asked = workers = self.spec.options.workers
        if not ground.slots.is_dynamic:  # else tasks that wait bring executors
            workers = min(asked, slots_now(self._spark) or asked)
        retries, lost = Recovery().retries, 0
        while True:
            try:
                return self._together(step, rows, ground, workers)
            except TooFewSlots as problem:
                workers = _as_many_as(problem.slots, problem)
                _log.warning("%s; the step is taken by %s of %s workers", problem, workers, asked)
            except Lost as problem:
                lost += 1
                if lost > retries:
                    raise fail("DL520", f"a worker stopped in each of {lost:,} attempts at a step: {problem}") from None
                if not ground.slots.is_dynamic:
                    seconds = time.monotonic() - self._since
                    workers = min(asked, _as_many_as(slots_after_a_loss(self._spark, asked, seconds), problem))
                _log.warning("%s; the step is taken again, by %s of %s workers", problem, workers, asked)
            except NotHere as problem:
                raise fail("DL520", f"the workers of a step cannot meet: {problem}") from None
            step = replace(step, token=uuid.uuid4().hex)  # a worker of the last attempt may still write its files

    def _together(self, step: Step, rows: DataFrame, ground: Ground, workers: int) -> tuple[Record, Measures]:
        """Runs one stage of workers that meet, and merges what they tell."""
        credentials = new_credentials(self._spark)
        jobs = JobTag(self._spark)
        progress = MergedProgress(workers, lambda _: None, Mode.BSP)
        together = WorkerStage(self._spark, jobs, ground, workers, credentials, progress)
        last_words = 0.0
        try:
            job = PartitionJob(self.spec, step, workers, credentials.run, together.address, ports_for(self._spark))
            jobs.begin()
            with self.own_workers.chosen(self._spark.sparkContext):
                run = partial(run_partition, job)
                frame = rows.repartition(workers).mapInArrow(run, f"{SUMMARY} string", barrier=together.is_barrier)
            with key_handed_over(self._spark, credentials):
                if together.is_barrier:
                    found = frame.collect()
                else:
                    with together.gathered(ground.slots.most or workers, self._check):
                        found = frame.collect()
            last_words = LAST_WORDS_SECONDS
        except Exception as error:
            if not self.own_workers.are_needed:  # the query was stopped, and its workers with it
                raise
            raise together.reason_for(error) from None
        finally:
            jobs.end()
            together.close(last_words)
        return merged(read_summaries([row[SUMMARY] for row in found]))

    def _check(self) -> None:
        """Raises an error when there is no use in waiting any more."""
        if not self.own_workers.are_needed:
            raise fail("DL520", "the query was stopped while a step waited for room")

    def _deliver(self, record: Record) -> None:
        layout = self.spec.layout
        written: dict[str, list[str]] = {}
        for file in record.outputs:
            written.setdefault(file.relation, []).append(self._checkpoint.outputs.within(file.name).uri)
        names = (*layout.outputs, *map(late_name, layout.late), layout.slides)
        answers = {
            name: Answer(self._spark, layout.schema(name), tuple(written[name])) for name in names if name in written
        }
        if answers:
            self._sink.deliver(record.step, answers)

    def _tell(self, record: Record, measures: Measures) -> None:
        self.progress.add(record, measures, time.monotonic() - self._since)


def _kept_tuples(spec: Spec, checkpoint: Checkpoint, record: Record, stream: str) -> pa.Table:
    """Returns the tuples of the log; of a stream of changes those that are there."""
    schema = spec.schema(stream)
    if stream in spec.changing:
        return held_rows(checkpoint.log.read(record.log, resolved_name(stream), schema))
    return checkpoint.log.read(record.log, stream, schema)
