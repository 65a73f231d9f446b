"""What Spark says when an attempt at a recursion ended badly, told apart by what can be done about it."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.spark.frames.faults import Places, fault_of
from emberlog.engines.spark.frames.resources import is_connect
from emberlog.io.paths import cause_in
from emberlog.workers.plan.faults import Refused
from emberlog.workers.wire.draining import Lost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")

_PROCESS_ENDED = "Python worker exited unexpectedly"
_NO_MEMORY_LEFT = "the process of a worker ended, as it does when the machine has no memory left"
_EXECUTOR_LOST = re.compile(
    r"ExecutorLostFailure|executor \S+ exited|[Ll]ost executor|Executor heartbeat timed out|Worker lost|"
    r"Remote RPC client disassociated|Could not recover from a failed barrier|Checkpoint block \S+ not found",
)


_MEMORY = (
    'give Spark more memory: Database(memory="8g"), --conf spark.driver.memory=8g; '
    "or ask for less, with constants in the query"
)
_LONGEST_REASON = 300
CAUSE_SECONDS = 2.0
"""For which Spark may take to notice that an executor is gone, when a worker is."""
MOST_TASKS = 2_000
"""Of a stage that are looked at for the one that failed."""


class NotHere(Refused):
    """Says why a stratum cannot run as a job of workers after all."""


def failure_of(error: Exception) -> Exception:
    """Returns the exception to raise for what Spark raised: its own where there is nothing better to say."""
    text = str(error)
    if isinstance(error, ConnectionError | EOFError) or type(error).__name__ == "Py4JNetworkError":
        return fail("DL520", "Spark's Java process ended while the program ran")
    missing = _MISSING_MODULE.search(text)
    if missing is not None:
        return NotHere(f"the Python of Spark's executors has no module {missing[1]}")
    if _PROCESS_ENDED in text:
        return Lost(_NO_MEMORY_LEFT)
    reason = _last_line_of_traceback(text)
    if reason is not None:
        return fail("DL520", f"a worker stopped: {reason}", None, "the dataframe executor does without workers")
    if _EXECUTOR_LOST.search(text):
        return Lost("Spark lost an executor")
    return error


def cause_of_loss(spark: SparkSession, jobs: Collection[int]) -> str | None:
    """Returns what Spark says of the task of a lost worker of these jobs, which it may notice a little later than we
    do; None if it says nothing."""
    until = time.monotonic() + CAUSE_SECONDS
    while True:
        for task in _failed_tasks(spark.sparkContext._jsc.sc(), jobs):
            text = str(task.errorMessage().get())
            if (lost := _EXECUTOR_LOST.search(text)) is not None:
                reason = text.partition("Reason: ")[2].strip().splitlines()[:1] or [lost[0]]
                return f"Spark lost executor {task.executorId()} on {task.host()}: {_shortened(reason[0])}"
            if _PROCESS_ENDED in text:
                return f"{_NO_MEMORY_LEFT} (executor {task.executorId()} on {task.host()})"
            return f"a task on {task.host()} failed: {_shortened(text.splitlines()[0])}"
        if time.monotonic() >= until:
            return None
        time.sleep(0.1)


def _failed_tasks(context: Any, jobs: Collection[int]) -> Iterator[Any]:
    store = context.statusStore()
    for job in jobs:
        stages: str = store.job(job).stageIds().mkString(" ")
        for stage in map(int, stages.split()):
            tasks = store.taskList(stage, 0, MOST_TASKS)
            for place in range(tasks.size()):
                if (task := tasks.apply(place)).errorMessage().isDefined() and task.status() == "FAILED":
                    yield task


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"


def _last_line_of_traceback(text: str) -> str | None:
    """Returns what a worker said that did something unforeseen. Trying again would only repeat it."""
    before, traceback, after = text.partition("Traceback (most recent call last)")
    if not traceback or not ("barrier" in before or "Job aborted due to stage failure" in before):
        return None
    lines = [line for line in after.split("\n\n")[0].splitlines() if line and not line.startswith((" ", "\t"))]
    return lines[-1] if len(lines) > 1 else None


@contextmanager
def told_as_such(spark: SparkSession | None = None, places: Places | None = None) -> Iterator[None]:
    """Tells failures of Spark as errors with a code, without the stack of its JVM: they are neither the program's
    mistake nor one of Emberlog. The exception of Spark stays the context of the error."""
    try:
        yield
    except EmberlogError:
        raise
    except Exception as error:
        failure = _stopped(spark) or fault_of(error, places or {}) or _failure(error)
        if failure is None:
            raise
        raise failure from None


def _stopped(spark: SparkSession | None) -> EmberlogError | None:
    if spark is None or not is_stopped(spark):
        return None
    return fail("DL426", "the Spark session of this database is stopped", None, "make a new one: Database()")


def is_stopped(spark: SparkSession) -> bool:
    """Tells whether somebody stopped the session, classic or Connect."""
    if is_connect(spark):
        return bool(getattr(spark, "is_stopped", False))
    return spark.sparkContext._jsc is None


def _failure(error: Exception) -> EmberlogError | None:
    root = type(error).__module__.split(".")[0]
    if isinstance(error, ConnectionError | EOFError) or type(error).__name__ == "Py4JNetworkError":
        return fail("DL520", "Spark's Java process ended while the program ran", None, _MEMORY)
    if root not in ("pyspark", "py4j"):
        return None
    text = str(error)
    if "OutOfMemoryError" in text:
        return fail("DL520", "Spark ran out of memory", None, _MEMORY)
    return fail("DL520", "Spark failed while the program ran", None, _reason(text))


def _reason(text: str) -> str:
    return _shortened(cause_in(text) or "it did not say why")
