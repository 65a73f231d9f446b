"""The driver's side: a whole recursion as one job of Spark, from frames to frames."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import ClassVar, assert_never

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from emberlog.config import Execution, Limits, refuse_options
from emberlog.datatypes import STRING
from emberlog.diagnostics import fail
from emberlog.engines.local.left_off import ATTEMPT, LeftOff
from emberlog.engines.runner import Outcome
from emberlog.engines.spark.failures import NotHere
from emberlog.engines.spark.frames.job_tag import JobTag
from emberlog.engines.spark.frames.resources import Kept, Resources
from emberlog.engines.spark.gathering import TooFewSlots
from emberlog.engines.spark.job import FaultInjector, Job, Status, Summary
from emberlog.engines.spark.job_inputs import JobInputs, StaticInput, WrittenInputs
from emberlog.engines.spark.job_results import JobResults, Outgrown, known_outputs, outputs_of
from emberlog.engines.spark.key_handover import key_handed_over, new_credentials
from emberlog.engines.spark.probe import probe
from emberlog.engines.spark.run_folders import choose_store, delete_run
from emberlog.engines.spark.session_settings import encryption_of, ports_for
from emberlog.engines.spark.slots import slots_after_a_loss
from emberlog.engines.spark.task import run_task
from emberlog.engines.spark.worker_stage import Ground, WorkerStage
from emberlog.language.faults import Fault
from emberlog.language.spark_types import schema_of
from emberlog.logical.summary import counted
from emberlog.workers.kernels.machine_memory import memory_for_each, memory_from_spark
from emberlog.workers.kernels.memory import in_words
from emberlog.workers.kernels.tuning import LAST_WORDS_SECONDS
from emberlog.workers.plan.faults import HasNulls
from emberlog.workers.plan.nulls import union_of
from emberlog.workers.plan.worker_plan import WorkerPlan
from emberlog.workers.recover.checkpoints import FOLDER, Stale, attempt_folder
from emberlog.workers.recover.resuming import Resume, is_bound, resumed
from emberlog.workers.store.folders import Folder
from emberlog.workers.wire.draining import Lost, relation_folder
from emberlog.workers.wire.feeding import Feed, Source, Unseen, bytes_on_each
from emberlog.workers.wire.handshake import Credentials
from emberlog.workers.wire.inline_rows import NO_RELATION, SUMMARY, TAG, InlineLayout
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Progress

_log = logging.getLogger("emberlog")

MOST_SEEDS = 3
"""Tries with other hashes of texts."""


class SameHashes(Exception):
    """Says that two texts have the same hash, and another one is needed."""


class Launcher:
    """Runs one stratum as a job, in several attempts if workers are lost."""

    injector: ClassVar[FaultInjector | None] = None
    """Tests have one, nobody else."""

    def __init__(
        self,
        spark: SparkSession,
        worker_plan: WorkerPlan,
        inputs: Mapping[str, StaticInput],
        written: WrittenInputs,
        resources: Resources,
        execution: Execution,
        limits: Limits,
        hear: Callable[[Progress], None],
        retried: Callable[[int, str, int], None],
        check: Callable[[], None] = lambda: None,
        left_off: LeftOff | None = None,
    ) -> None:
        """`retried` is told the number of an attempt that begins, why the last one ended, and from which iteration it
        goes on. `check` raises if there is no time left. `left_off` is what this process has found of the recursion."""
        self.spark = spark
        self.worker_plan = worker_plan
        self.resources = resources
        self.limits = limits
        self.execution = execution
        self.hear = hear
        self.retried = retried
        self.jobs = JobTag(spark)
        self.check = check
        self.ports = ports_for(spark)
        self.ground = Ground.of(spark)
        self.slots = self.ground.slots
        self.inputs = JobInputs(spark, worker_plan, inputs, written, self.slots)
        self.wanted = self.workers = execution.workers or self.slots.unasked
        self.capacity = self.slots.most
        """Slots that workers may have together, as far as is known; None where Spark sets no limit."""
        if self.slots.most is not None and self.workers > self.slots.most:
            raise fail(
                "DL331",
                f"{self.workers:,} workers are asked for, and Spark can run {self.slots.most:,} tasks at once",
                None,
                "ask for fewer workers, or give the session more cores",
            )
        self.outputs = tuple(outputs_of(worker_plan, provenance=execution.provenance))
        self.known = known_outputs(worker_plan.main.program)
        self.shares_disk = self.slots.is_one_machine and not execution.through_spark and not self.slots.encrypts_files
        self.store, self.why_store = choose_store(spark, self.slots, execution, self._unseen)
        self.began = time.monotonic()
        self._check_recovery()
        self.begin = ""
        """What becomes of the facts that this process has found, in words."""
        self.left_off = self._usable(left_off)

    def _usable(self, left_off: LeftOff | None) -> LeftOff | None:
        """Returns what this process has found if workers can go on with it."""
        if left_off is None:
            return None
        obstacle = left_off.obstacle(self.worker_plan, self.execution, self.workers)
        if self.store is None:
            obstacle = "workers and driver share no folder"
        if obstacle is not None:
            self.begin = f"computed again, because {obstacle}"
            return None
        self.begin = f"goes on from the {left_off.rows:,} facts of {counted(left_off.iteration, 'iteration')}"
        return left_off

    def _unseen(self, location: str) -> str | None:
        """Returns why not all executors can use a folder."""
        return probe(self.spark, self.slots.count if self.slots.is_classic else None, location).unseen_store

    @property
    def memory(self) -> int | None:
        """Returns what the facts of each worker may use, where they share this machine; on others they see for
        themselves."""
        return self.execution.memory or (memory_for_each(self.workers) if self.shares_disk else None)

    def _check_recovery(self) -> None:
        """Raises an error if checkpoints are asked for that nobody will write."""
        execution = self.execution
        reason = "none are written without a folder that workers and driver share" if self.store is None else None
        if execution.provenance:
            reason = "none are written while iterations are recorded, which is done from the first one on"
        if reason is not None:
            asked = execution.recovery.asked_checkpoints
            refuse_options("a run without checkpoints", asked, dict.fromkeys(asked, reason))

    @property
    def how(self) -> str:
        workers = counted(self.workers, "worker")
        where = ""
        if self.ground.findings is not None:
            workers += f", on {counted(len(self.ground.findings.executors), 'executor')}"
            if self.workers > self.slots.count:
                workers += f" and those that Spark brings for {self.workers - self.slots.count:,} more"
        if self.ground.through_spark is not None:
            workers += f", without live progress, because {self.ground.through_spark}"
        if self.store is None and not self.slots.is_one_machine:
            where = f", rows through Spark, no checkpoints: {self.why_store}"
        elif self.store is not None and self.why_store:
            where = f", {self.why_store}"
        if encryption_of(self.spark) is not None:
            workers += ", encrypted connections"
        if not self.worker_plan.main.is_recursive:
            return f"one job, {workers}{where}"
        return f"one job, {self.worker_plan.main.placement.mode.value}, {workers}{where}"

    def run(self) -> Outcome[DataFrame]:
        folder = self.store.new_run() if self.store is not None else None
        try:
            return self._until_done(folder)
        except Outgrown:
            if folder is not None:
                self.resources.adopt(Kept(self.spark.range(0), 0, partial(delete_run, folder)))
            raise
        except BaseException:
            # Before the folder goes: a job that still runs would bring it back.
            self.jobs.stop()
            if folder is not None:
                delete_run(folder)
            raise

    def _until_done(self, folder: Folder | None) -> Outcome[DataFrame]:
        attempt, seed, lost = 1, 0, 0
        self.began = time.monotonic()
        resume = self._begun(folder)
        while True:
            self._new_place(folder, attempt)
            try:
                return self._attempt(folder, attempt, resume, seed)
            except Unseen as problem:
                _log.warning("Spark reads `%s` for the workers, which cannot: %s", problem.relation, problem)
                self.inputs.unseen.add(problem.relation)
                resume = self._resumed(folder, attempt, self.workers) if resume is not None else None
            except SameHashes as problem:
                seed += 1
                if seed == MOST_SEEDS:
                    raise NotHere(str(problem)) from None
                resume = None
            except (Lost, Stale, TooFewSlots) as problem:
                before = self.workers
                reason = str(problem)
                if isinstance(problem, TooFewSlots):
                    self.capacity = problem.slots
                    self._go_on_with(problem.slots, reason)
                else:
                    lost += 1
                    bound = folder is not None and is_bound(folder, attempt, before)
                    self._may_go_on(lost, problem, is_bound=bound)
                if self.workers != before:
                    reason += f"; it goes on with {counted(self.workers, 'worker')} instead of {before:,}"
                resume = None if isinstance(problem, Stale) else self._resumed(folder, attempt, before)
                self.retried(attempt + 1, reason, resume.iteration if resume else 0)
            attempt += 1

    def _begun(self, folder: Folder | None) -> Resume | None:
        """Returns what the first attempt goes on from: what this process has found, which counts as an attempt of one
        worker. None for the beginning."""
        if self.left_off is None or folder is None:
            return None
        found, self.left_off = self.left_off, None
        told, hear = found.iteration, self.hear
        # Workers that are alone tell of all their rounds, also of those that were told when they happened.
        self.hear = lambda progress: hear(progress) if progress.iteration > told else None
        found.save(folder)
        return self._resumed(folder, ATTEMPT, 1)

    def _resumed(self, folder: Folder | None, attempt: int, workers: int) -> Resume | None:
        """Returns what the next attempt goes on from, after one of so many workers; None for the beginning."""
        if folder is None or self.execution.profile:
            return None  # a profile counts from the first round on, or is wrong
        return resumed(folder, attempt, workers, self.workers)

    def _may_go_on(self, lost: int, problem: Lost | Stale, *, is_bound: bool) -> None:
        if lost > self.execution.recovery.retries:
            each = "" if lost == 1 else f" in each of {lost:,} attempts"
            raise fail(
                "DL521",
                f"a recursion lost a worker{each}: {problem}",
                None,
                "give the machine less to do, or the workers more memory; the dataframe executor does without workers",
            ) from None
        if self.slots.is_dynamic:  # tasks that wait bring executors
            self._go_on_with(self.wanted, str(problem))
        else:
            passed = time.monotonic() - self.began
            self.capacity = slots_after_a_loss(self.spark, self.wanted, passed, is_bound=is_bound)
            self._go_on_with(self.capacity, str(problem))

    def _go_on_with(self, slots: int, reason: str) -> None:
        """Takes as many workers as there is room for: fewer where slots have gone, all of them where they are back."""
        if slots == 0:
            raise fail(
                "DL521",
                f"a recursion lost a worker, and Spark has no longer room for any: {reason}",
                None,
                "run it again when Spark has executors",
            ) from None
        self.workers = min(self.wanted, slots)

    def _attempt(self, folder: Folder | None, attempt: int, resume: Resume | None, seed: int) -> Outcome[DataFrame]:
        """Runs the job once. `folder` is that of the run."""
        sources = self.inputs.sources(self.store)
        feeds = self.inputs.feeds(sources)
        self._check_memory(feeds)
        layout = InlineLayout(
            self.inputs.tags(sources),
            {} if folder is not None else {one.title: one.types for one in (*self.outputs, *self.known)},
        )
        credentials = new_credentials(self.spark)
        job = Job(
            credentials.run,
            self.worker_plan,
            feeds,
            seed,
            self.outputs,
            self.workers,
            self.limits,
            self.execution,
            self.memory,
            memory_from_spark(self.slots.settings),
            None,
            folder.location if folder is not None else None,
            layout,
            self.known,
            attempt,
            resume.manifests if resume else (),
            self.injector,
            self.ports,
            is_moved=resume is not None and resume.is_moved,
            encrypts_files=self.slots.encrypts_files,
        )
        since = resume.iteration if resume is not None and resume.is_in_step else 0
        summaries, kept = self._run(job, credentials, sources, since)
        results = JobResults(self.spark, self.outputs, self.known, folder, attempt, kept)
        try:
            self._check(summaries)
        except NotHere as problem:
            if self.execution.provenance or not self.worker_plan.main.is_recursive:
                raise  # facts that are known do not say in which iteration they came
            raise Outgrown(str(problem), results.handed_over(self.worker_plan.main.program)) from None
        except BaseException:
            if kept is not None:
                self.resources.release(kept)
            raise
        for unsaved in {summary.unsaved for summary in summaries if summary.unsaved}:
            _log.warning("some checkpoints could not be written: %s", unsaved)
        return results.outcome(summaries, self.resources)

    def _run(
        self, job: Job, credentials: Credentials, sources: Mapping[str, Source], since: int
    ) -> tuple[tuple[Summary, ...], Kept | None]:
        """Runs the stage of a job; returns what its workers tell, and their rows where these go through Spark. `since`
        is the iteration from which all go on in step. Raises Lost or TooFewSlots where it is tried again."""
        progress = MergedProgress(self.workers, self.hear, self.worker_plan.main.placement.mode, since)
        stall_seconds = self.execution.recovery.stall_seconds
        together = WorkerStage(self.spark, self.jobs, self.ground, self.workers, credentials, progress, stall_seconds)
        has_rows, last_words = job.folder is None, 0.0
        try:
            run = partial(run_task, replace(job, tracker=together.address))
            self.jobs.begin()
            with key_handed_over(self.spark, credentials):
                rows = self.inputs.stage(sources, self.workers, is_barrier=together.is_barrier)
                stage = rows.mapInArrow(run, _schema(job.layout), barrier=together.is_barrier)
                if together.is_barrier:
                    summaries, kept = self._told_at_a_barrier(stage, has_rows=has_rows)
                else:
                    with together.gathered(self.capacity or self.workers, self.check):
                        kept = self.resources.keep(stage) if has_rows else None
                        summaries = _summaries(stage if kept is None else kept.frame.where(F.col(TAG) == NO_RELATION))
            last_words = LAST_WORDS_SECONDS
            return summaries, kept
        except Exception as error:
            raise together.reason_for(error) from None
        finally:
            self.jobs.end()
            together.close(last_words)

    def _told_at_a_barrier(self, stage: DataFrame, *, has_rows: bool) -> tuple[tuple[Summary, ...], Kept | None]:
        """Runs the stage so that Spark never repeats it by itself: nothing comes behind it that Spark would have to
        wait for. Rows are kept where they are first, and become plain rows by an exchange of their own."""
        if not has_rows:
            return _summaries(stage), None
        held = stage.persist()
        try:
            summaries = _summaries(held.where(F.col(TAG) == NO_RELATION))
            return summaries, self.resources.keep(held.repartition(self.workers))
        finally:
            with suppress(Exception):  # the session may be gone
                held.unpersist()

    def _new_place(self, folder: Folder | None, attempt: int) -> None:
        """Makes the folder of an attempt. A worker of an earlier one may live a little longer: it finds nothing here
        that it could spoil."""
        if folder is not None:
            for index in range(len(self.outputs) + len(self.known)):
                folder.make(f"{attempt_folder(attempt)}/{relation_folder(index)}")
            folder.make(f"{attempt_folder(attempt)}/{FOLDER}")

    def _check_memory(self, feeds: Sequence[Feed]) -> None:
        """Raises NotHere if what is read does not fit, with its indexes; how much will be derived nobody knows
        before."""
        needed = sum(bytes_on_each(one, self.workers) for one in feeds)
        if self.memory is not None and needed > self.memory:
            allowed = f"which may use {in_words(self.memory)}"
            raise NotHere(f"what it reads needs about {in_words(needed)} on each worker, {allowed}")

    def _check(self, summaries: tuple[Summary, ...]) -> None:
        """Raises what the workers ended with, unless all of them are done."""
        order = list(Status)
        for summary in sorted(summaries, key=lambda one: order.index(one.status)):
            match summary.status:
                case Status.FAULT:
                    raise Fault(summary.code, summary.message, *summary.notes, rule=summary.rule)
                case Status.NULLS:
                    found = ({name: frozenset(columns) for name, columns in one.nulls.items()} for one in summaries)
                    raise HasNulls(union_of(found))
                case Status.UNSEEN if summary.unseen in self.inputs.unseen:
                    raise Lost(f"worker {summary.worker:,} cannot read what Spark wrote for it: {summary.message}")
                case Status.UNSEEN:
                    raise Unseen(summary.unseen, summary.message)
                case Status.UNFIT | Status.UNREACHABLE:
                    raise NotHere(summary.message)
                case Status.SAME_HASH:
                    raise SameHashes(summary.message)
                case Status.UNWRITTEN:
                    raise fail(
                        "DL522",
                        f"worker {summary.worker:,} could not write its results: {summary.message}",
                        None,
                        self._where_results_go(),
                    )
                case Status.STALE:
                    raise Stale(summary.message)
                case Status.BROKEN:
                    hint = "the dataframe executor does without workers"
                    raise fail("DL520", f"a worker stopped: {summary.message}", None, hint)
                case Status.LOST:
                    raise Lost(summary.message)
                case Status.DONE:
                    pass
                case _:
                    assert_never(summary.status)
        if len(summaries) != self.workers:
            raise Lost(f"only {len(summaries):,} of {self.workers:,} workers told how they ended")

    def _where_results_go(self) -> str:
        if self.store is None or self.store.folder is None:
            return f"they are written to `{tempfile.gettempdir()}`; TMPDIR names another place"
        return f"they are written to `{self.store.folder.uri}`; Recovery(location=…) names another place"


def _summaries(frame: DataFrame) -> tuple[Summary, ...]:
    found = [Summary.read(row[SUMMARY]) for row in frame.collect() if row[SUMMARY] is not None]
    return tuple(sorted(found, key=lambda summary: summary.worker))


def _schema(layout: InlineLayout) -> StructType:
    """Returns the columns that the stage gives, as Spark writes them."""
    columns = layout.output_columns
    found = schema_of([SUMMARY, *columns], [STRING, *columns.values()])
    return StructType([StructField(TAG, IntegerType()), *found.fields])
