"""Failures of Spark are neither the person's mistake nor ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.spark.failures import cause_of_loss, told_as_such


class Py4JNetworkError(Exception):
    """As the bridge to Java calls it, which has no types."""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "Spark's Java process ended while the program ran"),
        (Py4JNetworkError("Answer from Java side is empty"), "Spark's Java process ended while the program ran"),
        (PySparkException("java.lang.OutOfMemoryError: Java heap space"), "Spark ran out of memory"),
        (
            PySparkException("Job aborted\n\tat somewhere\nCaused by: java.io.IOException: No space left on device\n"),
            "No space left on device",
        ),
        (PySparkException("[SOMETHING] is wrong\nwith a long plan"), "[SOMETHING] is wrong"),
        (PySparkException("x" * 1_000), "x…"),
        (PySparkException(""), "it did not say why"),
    ],
)
def test_what_is_told(error: Exception, message: str) -> None:
    with pytest.raises(EmberlogError) as caught, told_as_such():
        raise error
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "DL520"
    assert message in str(caught.value)


def test_everything_else_is_let_through() -> None:
    with pytest.raises(EmberlogError, match="DL501"), told_as_such():
        raise fail("DL501", "division by zero")
    with pytest.raises(ZeroDivisionError), told_as_such():
        raise ZeroDivisionError
    with pytest.raises(KeyboardInterrupt), told_as_such():
        raise KeyboardInterrupt


class Task:
    """Is one that failed, as the status store of Spark has it."""

    def __init__(self, executor: str, message: str) -> None:
        self._executor = executor
        self._message = message

    def errorMessage(self) -> SimpleNamespace:
        return SimpleNamespace(isDefined=lambda: True, get=lambda: self._message)

    def status(self) -> str:
        return "FAILED"

    def executorId(self) -> str:
        return self._executor

    def host(self) -> str:
        return "node-1"


def test_the_cause_of_a_loss_is_that_of_its_own_attempt() -> None:
    """The jobs of all attempts have one mark."""
    by_job = {
        3: Task("1", "Python worker exited unexpectedly (crashed)"),
        4: Task("2", "ExecutorLostFailure (executor 2 exited) Reason: Command exited with code 137"),
    }
    store = SimpleNamespace(
        job=lambda job: SimpleNamespace(stageIds=lambda: SimpleNamespace(mkString=lambda _: str(job))),
        taskList=lambda stage, *_: SimpleNamespace(size=lambda: 1, apply=lambda _: by_job[stage]),
    )
    context = SimpleNamespace(statusStore=lambda: store)
    spark = cast(
        "SparkSession", SimpleNamespace(sparkContext=SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context)))
    )
    assert cause_of_loss(spark, {4}) == "Spark lost executor 2 on node-1: Command exited with code 137"
    assert str(cause_of_loss(spark, {3})).endswith("(executor 1 on node-1)")


def test_a_stopped_session_is_told_as_such() -> None:
    stopped = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))
    with pytest.raises(EmberlogError, match="DL426"), told_as_such(cast("SparkSession", stopped)):
        raise AssertionError  # as PySpark does
