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
from emberlog.workers.wire.handshake import Credentials


def property_of(run: str) -> str:
    """Returns the name of the property. Spark's event log leaves out the values of those with such a name."""
    return f"spark.emberlog.{run}.secret"


@contextmanager
def key_handed_over(spark: SparkSession, credentials: Credentials) -> Iterator[None]:
    """Gives the key to the tasks of the jobs that this thread starts while it is entered."""
    name, key = property_of(credentials.run), credentials.key.hex()
    if is_connect(spark):  # the settings of a session become properties of the tasks of its queries
        spark.conf.set(name, key)
    else:
        spark.sparkContext.setLocalProperty(name, key)
    try:
        yield
    finally:
        if is_connect(spark):
            spark.conf.unset(name)
        else:
            spark.sparkContext.setLocalProperty(name, None)  # type: ignore[arg-type]


def key_for(task: Any, run: str) -> bytes:
    """Returns the key of a run from the properties of one of its tasks."""
    return bytes.fromhex(task.getLocalProperty(property_of(run)))
