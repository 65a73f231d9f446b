"""Several programs on one session: at once, in a row, and beside other work that has the slots."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution, Recovery
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.frames.settings import CHANGED
from emberlog.events import Event, ExecutorChosen
from emberlog.workers.kernels.memory import used_memory
from tests.spark.answers import facts_of
from tests.spark.leftovers import nothing_but, python_workers, traces
from tests.spark.test_cyclic_security import set_before_the_session

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
NEAR = "near(X, min<D>) :- X = 0, D = 0.\nnear(Y, min<D>) :- near(X, D1), arc(X, Y), D = D1 + 1.\n"
MIB = 1 << 20


def chain(length: int) -> list[tuple[int, int]]:
    return [(number, number + 1) for number in range(length)]


def closed(spark: SparkSession, length: int, execution: Execution) -> None:
    """A closure whose answer depends on the length, so that answers cannot be mixed up."""
    with Database(spark) as database:
        database["arc"] = chain(length)
        with database.datalog(TC, execution=execution) as result:
            assert facts_of(result["tc"]) == {(a, b) for a in range(length) for b in range(a + 1, length + 1)}


def near(spark: SparkSession, length: int, execution: Execution) -> None:
    with Database(spark) as database:
        database["arc"] = chain(length)
        with database.datalog(NEAR, execution=execution) as result:
            assert facts_of(result["near"]) == {(number, number) for number in range(length + 1)}


def test_at_once(spark: SparkSession) -> None:
    """Each job of workers wants all slots of the session, and there are other jobs in between."""
    before, settings = traces(spark), [spark.conf.get(name) for name in CHANGED]
    cyclic, async_, dataframe = Execution(executor="cyclic"), Execution(mode="async"), Execution(executor="dataframe")
    runs: list[tuple[Callable[[SparkSession, int, Execution], None], int, Execution]] = [
        (closed, 7, cyclic),
        (near, 8, cyclic),
        (closed, 3, dataframe),
        (near, 9, async_),
        (closed, 10, Execution(executor="cyclic", through_spark=True)),
        (near, 4, dataframe),
    ]
    with ThreadPoolExecutor(len(runs)) as threads:
        for future in [threads.submit(run, spark, length, execution) for run, length, execution in runs]:
            future.result(timeout=200)
    assert [spark.conf.get(name) for name in CHANGED] == settings
    nothing_but(before, spark)


@pytest.mark.parametrize("taken", [1, 2])
def test_slots_that_are_taken_are_waited_for(spark: SparkSession, taken: int) -> None:
    """Longer than a worker may be silent: one that has not begun is not missed."""
    running = threading.Thread(target=hold, args=(spark, taken))
    running.start()
    while not spark.sparkContext.statusTracker().getActiveStageIds():
        time.sleep(0.01)
    near(spark, 5, Execution(executor="cyclic", recovery=Recovery(stall_seconds=1, retries=0)))
    running.join(timeout=60)
    assert not running.is_alive()


def hold(spark: SparkSession, slots: int) -> None:
    """A job of somebody else."""
    spark.sparkContext.parallelize(range(slots), slots).foreach(lambda _: time.sleep(3))


def test_sessions_with_dynamic_allocation(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one machine Spark takes no notice of it; `other_sessions/test_restless.py` has executors that come and go."""
    set_before_the_session(spark, "spark.dynamicAllocation.enabled", monkeypatch)
    events: list[Event] = []
    with Database(spark) as database:
        database["arc"] = chain(2)
        with database.datalog(TC, listener=events.append) as result:
            assert facts_of(result["tc"]) == {(0, 1), (0, 2), (1, 2)}
        with pytest.raises(EmberlogError, match=r"DL331.*Spark can run 2 tasks at once"):
            database.datalog(TC, execution=Execution(workers=3))
    (chosen,) = [event for event in events if isinstance(event, ExecutorChosen)]
    assert (chosen.executor, "2 workers" in chosen.how) == ("cyclic", True)


@dataclass(frozen=True, slots=True)
class Footprint:
    """What could grow from run to run, unnoticed."""

    workers: int
    files: int
    threads: int
    memory: int
    """Of this process."""
    heap: int
    """Of Spark's."""

    @staticmethod
    def of(spark: SparkSession) -> Footprint:
        gc.collect()
        runtime: Any = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
        runtime.gc()
        return Footprint(
            len(python_workers()),
            len(os.listdir("/proc/self/fd")),
            threading.active_count(),
            used_memory(),
            int(runtime.totalMemory()) - int(runtime.freeMemory()),
        )


@pytest.mark.parametrize("runs", [5, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])])
def test_many_in_a_row(spark: SparkSession, runs: int) -> None:
    """By turns with files and through Spark, with rounds and without, right and wrong."""
    executions = (
        Execution(executor="cyclic"),
        Execution(mode="async"),
        Execution(executor="cyclic", through_spark=True),
        Execution(executor="cyclic", representation="hash"),
    )

    def run(number: int) -> None:
        near(spark, 3, executions[number % len(executions)])
        if number % 5 == 0:
            with Database(spark) as database, pytest.raises(EmberlogError, match="DL501"):
                database["arc"] = chain(3)
                database.datalog("n(X) :- arc(X, _).\nn(Y) :- n(X), Y = 1 div (X - 1).\n")

    for number in range(5):
        run(number)
    before, first = traces(spark), Footprint.of(spark)
    for number in range(runs):
        run(number)
    nothing_but(before, spark)
    last = Footprint.of(spark)
    assert last.workers <= first.workers
    assert last.threads <= first.threads
    assert last.files <= first.files + 2
    assert last.memory <= first.memory + 30 * MIB
    assert last.heap <= first.heap + 60 * MIB
