"""The driver's side of a stage whose tasks meet: batch recursions run as one, and steps of streams with many workers.

Tasks of an ordinary stage are introduced by a tracker in the driver, so that it works with dynamic allocation, too.
Where executors do not reach the driver they meet in a barrier stage, through Spark.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from emberlog.engines.spark.failures import NotHere, cause_of_loss, failure_of
from emberlog.engines.spark.frames.faults import is_cancelled
from emberlog.engines.spark.frames.job_tag import JobTag
from emberlog.engines.spark.gathering import ROOM, ArrivalMonitor, Situation
from emberlog.engines.spark.probe import Findings, driver_addresses, is_local, probe
from emberlog.engines.spark.session_settings import ports_for, setting
from emberlog.engines.spark.slots import Slots, ended_tasks, jobs_with, slots_now
from emberlog.workers.kernels.tuning import WAIT_SECONDS
from emberlog.workers.wire.draining import Lost
from emberlog.workers.wire.handshake import Address, Credentials, Unreachable
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.tracker import Tracker

LOOPBACK = "127.0.0.1"
"""Where driver and workers meet that share a machine: nobody else can dial that."""

NOTICE_SECONDS = 0.3
"""Spark mostly notices, too, and knows more about it."""
PARTING_SECONDS = 2.0
"""For which the other workers may take to notice. One that ends by itself leaves its process to the next attempt, with
all that was loaded and compiled; one that is stopped takes it along."""
_LOOK_SECONDS = 0.02


class Watchdog:
    """Stops the job of one attempt when it has lost a worker."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_over = threading.Event()
        self.reason: str | None = None
        """What happened first."""
        self.others: Callable[[], int] = lambda: 0
        """Returns how many workers are still there."""

    def lost(self, reason: str) -> None:
        """Takes note, from any thread, that a worker is lost."""
        with self._lock:
            if self.reason is not None or self._is_over.is_set():
                return
            self.reason = reason
            self._thread = threading.Thread(target=self._run, daemon=True, name="emberlog watchdog")
            self._thread.start()

    def _run(self) -> None:
        until = time.monotonic() + PARTING_SECONDS
        while self.others() and time.monotonic() < until and not self._is_over.wait(_LOOK_SECONDS):
            pass
        if not self._is_over.wait(NOTICE_SECONDS):
            self._stop()

    def close(self) -> None:
        """Ends the watch with the attempt: nothing is stopped from now on."""
        with self._lock:
            self._is_over.set()
        if self._thread is not None:
            self._thread.join()


@dataclass(frozen=True, slots=True)
class Ground:
    """Holds what is known of a session before workers start there."""

    slots: Slots
    findings: Findings | None
    """What the executors of a cluster said; None where there is no cluster."""
    through_spark: str | None
    """Why workers cannot meet by the driver; None if they can."""

    @staticmethod
    def of(spark: SparkSession) -> Ground:
        """Asks the executors of a cluster whether workers can run there; raises NotHere if not. With dynamic allocation
        the question brings the first of them."""
        slots, findings = Slots.of(spark), None
        if not is_local(setting(spark, "spark.master") or ""):
            findings = probe(spark, max(slots.count, 1) if slots.is_classic else None)
            findings.check()
            slots = Slots.of(spark) if slots.count == 0 else slots
        through_spark = _why_through_spark(slots, findings)
        if through_spark is not None and slots.barrier_obstacle is not None:
            raise NotHere(f"{through_spark}, and {slots.barrier_obstacle}")
        if slots.count == 0:
            raise NotHere(
                "Spark has no room for a task: no executor has come, or spark.task.cpus is more than one has cores"
            )
        return Ground(slots, findings, through_spark)


def _why_through_spark(slots: Slots, findings: Findings | None) -> str | None:
    if not slots.is_classic:
        return "over Spark Connect workers may not reach the driver"
    beyond = findings.beyond_reach if findings is not None else None
    return None if beyond is None else f"executors do not reach the driver ({beyond})"


class WorkerStage:
    """Runs one stage: it introduces the workers to each other, lets them begin when there is room for all, and stops
    the job when one is lost. Raises NotHere if the driver cannot listen for them."""

    def __init__(
        self,
        spark: SparkSession,
        jobs: JobTag,
        ground: Ground,
        workers: int,
        credentials: Credentials,
        progress: MergedProgress,
        stall_seconds: float = WAIT_SECONDS,
    ) -> None:
        """`jobs` mark those of the stage."""
        self._spark = spark
        self._jobs = jobs
        self._workers = workers
        self._is_cluster = ground.findings is not None
        self._watchdog = Watchdog(jobs.stop)
        self._monitor: ArrivalMonitor | None = None
        self._earlier_jobs: frozenset[int] = frozenset()
        self._tracker: Tracker | None = None
        if ground.through_spark is not None:
            return
        bind, host = driver_addresses(spark) if self._is_cluster else (LOOPBACK, LOOPBACK)
        ports, lost = ports_for(spark), self._watchdog.lost
        try:
            self._tracker = tracker = Tracker(bind, workers, credentials, progress, lost, stall_seconds, host, ports)
        except Unreachable as problem:
            raise NotHere(str(problem)) from None
        self._watchdog.others = lambda: tracker.present

    @property
    def address(self) -> Address | None:
        """Returns where workers meet; None if they do so in a barrier stage."""
        return self._tracker.address if self._tracker is not None else None

    @property
    def is_barrier(self) -> bool:
        return self._tracker is None

    @contextmanager
    def gathered(self, slots: int, check: Callable[[], None]) -> Iterator[None]:
        """Waits until there is room for its workers, and watches them come while it is entered."""
        assert self._tracker is not None, "Spark begins a barrier stage when it has room"
        with ROOM.taken(self._workers, slots, check):
            self._earlier_jobs = jobs_with(self._spark, self._jobs.name)
            self._monitor = ArrivalMonitor(self._tracker, self._workers, self._situation, self._jobs.stop)
            yield

    @property
    def _own_jobs(self) -> frozenset[int]:
        """Returns the jobs of this attempt: earlier ones have the same mark."""
        return jobs_with(self._spark, self._jobs.name) - self._earlier_jobs

    def _situation(self) -> Situation:
        """Looks at Spark while workers come."""
        return Situation(slots_now(self._spark), ROOM.in_use, ended_tasks(self._spark, self._own_jobs))

    def reason_for(self, error: Exception) -> Exception:
        """Returns why the job failed: Lost or TooFewSlots where it is tried again."""
        if self._monitor is not None and self._monitor.problem is not None and is_cancelled(error):
            return self._monitor.problem
        if self._watchdog.reason is not None and is_cancelled(error):
            # On one machine Spark stops the job itself where it knows the cause.
            cause = cause_of_loss(self._spark, self._own_jobs) if self._is_cluster else None
            return Lost(cause or self._watchdog.reason)
        return failure_of(error)

    def close(self, last_words: float) -> None:
        """Ends the meeting; what workers tell last is heard for so many seconds."""
        self._watchdog.close()
        if self._monitor is not None:
            self._monitor.close()
        if self._tracker is not None:
            self._tracker.close(last_words)
