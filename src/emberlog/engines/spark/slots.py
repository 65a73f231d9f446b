"""What a session offers to workers: how many tasks run at once, now and when Spark has brought more executors."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from emberlog.engines.spark.frames.resources import is_connect
from emberlog.engines.spark.probe import forget, is_local, probe
from emberlog.engines.spark.session_settings import number_in, setting
from emberlog.workers.kernels.machine_memory import memory_for_each, memory_from_spark

WAIT_SECONDS = 30.0
"""For executors of a young session, and at most for those that replace others."""
WAIT_SHARE = 1 / 20
"""Part of the time that a run has taken for which executors are waited for that replace others: to go on with fewer
workers costs more than that if as much is still to be done."""
LEAST_WAIT_SECONDS = 3.0
SETTLED_SECONDS = 1.0
"""For which the number of slots of a young session has to stay the same, where nobody said how many there will be."""
MOST_UNASKED = 32
"""Workers for which Spark is made to bring executors that it has not yet, if nobody asks for more."""


MEMORY_SETTINGS = (
    "spark.master",
    "spark.task.cpus",
    "spark.executor.cores",
    "spark.executor.memory",
    "spark.executor.memoryOverhead",
    "spark.executor.memoryOverheadFactor",
    "spark.executor.minMemoryOverhead",
    "spark.executor.pyspark.memory",
)

_CORES = re.compile(r"local\[([0-9]+)(,.*)?\]")
_NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Slots:
    count: int
    """How many tasks run at once now."""
    most: int | None
    """How many Spark could run at once if it brought all executors that it may; None where it sets no limit."""
    is_dynamic: bool
    """Whether Spark brings executors when tasks wait for them."""
    is_classic: bool
    is_one_machine: bool
    """Whether workers and driver share a disk for sure."""
    encrypts_files: bool
    """Whether what Spark writes to local disks is encrypted: facts are not written there as they are then."""
    barrier_obstacle: str | None
    """Why none can meet through Spark."""
    settings: Mapping[str, str]
    """What the session says of the memory of executors."""

    @staticmethod
    def of(spark: SparkSession) -> Slots:
        # Spark itself takes no notice of it where it has no executors to bring.
        is_alone = is_local(setting(spark, "spark.master") or "")
        is_dynamic = setting(spark, "spark.dynamicAllocation.enabled") == "true" and not is_alone
        if is_connect(spark):
            count = _connected(spark)
            most: int | None = count
        else:
            count = _tasks_at_once(spark, 0 if is_dynamic else None)
            most = _most(spark, count) if is_dynamic else count
        return Slots(
            count,
            most,
            is_dynamic,
            not is_connect(spark),
            not is_connect(spark) and str(spark.sparkContext.master).startswith("local"),
            setting(spark, "spark.io.encryption.enabled") == "true",
            _BARRIERS_REFUSED if is_dynamic else None,
            _memory_settings(spark),
        )

    @property
    def unasked(self) -> int:
        """Returns how many workers there are if nobody says how many."""
        if self.most is None or self.most <= self.count:
            return self.count
        return max(self.count, min(self.most, MOST_UNASKED))


_BARRIERS_REFUSED = (
    "Spark runs no barrier stages with spark.dynamicAllocation.enabled; a session with that set to false and a fixed "
    "number of executors does"
)


def slots_now(spark: SparkSession) -> int:
    """Returns how many tasks Spark runs at once at the moment."""
    if is_connect(spark):
        return _connected(spark)
    context: Any = spark.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def jobs_with(spark: SparkSession, tag: str) -> frozenset[int]:
    """Returns the numbers of all jobs so far with that tag."""
    return frozenset(spark.sparkContext._jsc.sc().statusTracker().getJobIdsForTag(tag))


def ended_tasks(spark: SparkSession, jobs: Collection[int]) -> int:
    """Returns how many tasks have ended of the last stage of these jobs."""
    tracker: Any = spark.sparkContext._jsc.sc().statusTracker()
    infos = [tracker.getJobInfo(job) for job in jobs]
    stages = [stage for info in infos if info.isDefined() for stage in info.get().stageIds()]
    found = tracker.getStageInfo(max(stages)) if stages else None
    return int(found.get().numCompletedTasks()) if found is not None and found.isDefined() else 0


def slots_after_a_loss(spark: SparkSession, wanted: int, seconds: float, *, is_bound: bool = False) -> int:
    """Returns how many tasks Spark runs at once, as soon as there are so many, or when it had time to replace executors
    that are gone: the longer, the more `seconds` the run has taken. If it is bound to as many workers, because others
    would begin anew, that is as long again."""
    forget(spark)
    if is_connect(spark):
        return _connected(spark)
    worth = seconds if is_bound else seconds * WAIT_SHARE
    return _tasks_at_once(spark, wanted, min(max(worth, LEAST_WAIT_SECONDS), WAIT_SECONDS))


def _tasks_at_once(spark: SparkSession, wanted: int | None, patience: float | None = None) -> int:
    """Returns how many tasks Spark runs at once. Executors of a cluster may still be on their way when a session is
    young: without a number that is wanted, all that were asked for are waited for, or until no more come. `patience` is
    for how many seconds a number that is wanted is waited for."""
    context: Any = spark.sparkContext._jsc.sc()
    began = since = time.monotonic()
    age = time.time() - int(context.startTime()) / 1000
    until = began + (max(WAIT_SECONDS - age, 0.0) if patience is None else patience)
    asked = _asked_for(spark) if wanted is None else wanted
    last = -1
    while True:
        count, now = slots_now(spark), time.monotonic()
        if count != last:
            last, since = count, now
        is_settled = wanted is None and asked is None and now - since >= SETTLED_SECONDS
        is_enough = asked is not None and count >= asked
        if is_enough or (count and is_settled) or is_local(str(spark.sparkContext.master)):
            return count
        if now >= until and (count or now >= began + WAIT_SECONDS):  # with none nothing goes on
            return count
        time.sleep(0.1)


def _asked_for(spark: SparkSession) -> int | None:
    """Returns how many slots the executors have that the session was asked to start with; None if it was not."""
    instances = number_in(spark, "spark.executor.instances")
    return None if instances is None else instances * _slots_of_one(spark)


def _slots_of_one(spark: SparkSession) -> int:
    return max((number_in(spark, "spark.executor.cores") or 1) // (number_in(spark, "spark.task.cpus") or 1), 1)


def _most(spark: SparkSession, count: int) -> int | None:
    executors = number_in(spark, "spark.dynamicAllocation.maxExecutors")
    if executors is None or executors >= _NO_LIMIT:
        return None
    return max(executors * _slots_of_one(spark), count)


def _connected(spark: SparkSession) -> int:
    """Returns what the executors behind a server say: the server itself does not tell its size."""
    master = setting(spark, "spark.master") or ""
    if (found := _CORES.fullmatch(master)) is not None:
        return int(found[1])
    if is_local(master):  # as many cores as the machine of the server has, which nobody tells
        return 1
    return probe(spark, None).slots(number_in(spark, "spark.task.cpus") or 1) or 1


def _memory_settings(spark: SparkSession) -> dict[str, str]:
    return {name: value for name in MEMORY_SETTINGS if (value := setting(spark, name)) is not None}


def memory_of_worker(spark: SparkSession) -> int | None:
    """Returns the bytes that a worker will have, as far as the session tells before it starts any."""
    settings = _memory_settings(spark)
    if (found := memory_from_spark(settings)) is not None:
        return found
    master = settings.get("spark.master", "")
    if not is_local(master):
        return None
    cores = re.search(r"\[([0-9]+)", master)
    return memory_for_each(int(cores[1]) if cores else os.cpu_count() or 1)
