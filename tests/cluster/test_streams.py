"""Streams whose facts are shared by several workers, on machines."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.database import Database
from emberlog.stream_run import StreamRun
from tests.cluster.conftest import GetSession
from tests.cluster.standalone import Standalone
from tests.cluster.test_pages import page_settings
from tests.cluster.trials import Ledger, Trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

BATCHES = 6
PROGRAM = """\
STREAM hop(Ts: timestamp, X: int, Y: int).
reached(Ts, X, Y) :- hop(Ts, X, Y).
reached(Ts, X, Z) :- reached(Ts1, X, Y), hop(Ts2, Y, Z), largest(Ts, Ts1, Ts2).
query reached(_, X, Y), WINDOW(1000, 1).
"""
"""A window that nothing leaves: after the last slide the closure of a chain is the answer."""

CLOSURE = {(one, other) for one in range(BATCHES) for other in range(one + 1, BATCHES + 1)}


def streamed(spark: SparkSession, cluster: Standalone, after_step: Callable[[int], None] = lambda _: None) -> StreamRun:
    """Runs the program with two workers over a folder that all machines see, a hop in each batch."""
    folder = Path(cluster.network.shared) / "stream"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "hops").mkdir(parents=True)
    for number in range(BATCHES):
        file = folder / "hops" / f"{number}.csv"
        file.write_text(f"{number},{number},{number + 1}\n")
        os.utime(file, (1_000_000 + 10 * number, 1_000_000 + 10 * number))
    found: set[tuple[int, int]] = set()

    def take(frames: object, step: int) -> None:
        assert isinstance(frames, dict)
        for frame in frames.values():
            found.update((row["X"], row["Y"]) for row in frame.collect() if row["change"] == "added")
        after_step(step)

    with Database(spark) as database:
        reader = spark.readStream.schema("Ts long, X long, Y long").option("maxFilesPerTrigger", 1)
        database["hop"] = reader.csv((folder / "hops").as_uri())
        run = database.datalog(PROGRAM).start(
            foreachBatch=take,
            checkpointLocation=(folder / "checkpoint").as_uri(),
            outputMode="changes",
            availableNow=True,
            closes=True,
            workers=2,
        )
        is_over = run.awaitTermination(200)
        if not is_over:
            run.stop()
        assert is_over, cluster.logs()
    assert found == CLOSURE
    return run


def test_dynamic_allocation(session: GetSession, cluster: Standalone, ledger: Ledger) -> None:
    spark = session(page_settings("dynamic-allocation"), executors=0)
    began = time.time()
    streamed(spark, cluster)
    ledger.add("dynamic allocation, a stream with two workers", Trial(time.time() - began, right=True))


def test_processes_lost_between_two_steps(spark: SparkSession, cluster: Standalone, ledger: Ledger) -> None:
    """Its state is made again from the checkpoint, by the workers that are left."""

    killed: list[int] = []

    def strike(step: int) -> None:
        if step == 2:
            for node in cluster.nodes[:3]:
                for process in node.processes("pyspark.daemon"):
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)

    began = time.time()
    run = streamed(spark, cluster, strike)
    assert killed
    trial = Trial(time.time() - began, right=True)
    ledger.add("Python processes of 3 machines killed between two steps of a stream", trial)
    assert any(one.isRebuilt for one in run.recentProgress)
