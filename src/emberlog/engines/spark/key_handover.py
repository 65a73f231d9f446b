"""The key of a run on its way to the workers: a property of Spark's own tasks.

It is no part of the function that they run, because Spark writes a large one to a file, where it stays until the
session ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from emberlog.engines.spark.frames.resources import is_connect

PROPERTY = "emberlog.run.secret"
"""Spark's event log leaves out the values of properties with such a name."""


@contextmanager
def key_handed_over(spark: SparkSession, key: bytes) -> Iterator[bytes | None]:
    """Gives the key to the tasks of the jobs that this thread starts while it is entered. Over Spark Connect a task has
    no properties: then the key is given back, and has to go with the function."""
    if is_connect(spark):
        yield key
        return
    context = spark.sparkContext
    context.setLocalProperty(PROPERTY, key.hex())
    try:
        yield None
    finally:
        context.setLocalProperty(PROPERTY, None)  # type: ignore[arg-type]


def key_for(task: Any, key: bytes | None) -> bytes:
    """Returns the key that came with the function, or else with the task."""
    return bytes.fromhex(task.getLocalProperty(PROPERTY)) if key is None else key
