"""Failures of Spark are neither the person's mistake nor ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.spark.failures import told_as_such


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


def test_a_stopped_session_is_told_as_such() -> None:
    stopped = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))
    with pytest.raises(EmberlogError, match="DL426"), told_as_such(cast("SparkSession", stopped)):
        raise AssertionError  # as PySpark does
