"""What the workers of a run prove themselves with, and encrypt by, on its way to them: a property of Spark's own tasks.

It is no part of the function that they run, because Spark writes a large one to a file, where it stays until the
session ends.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from emberlog.engines.spark.certificates import new_identity
from emberlog.engines.spark.frames.resources import is_connect
from emberlog.engines.spark.session_settings import encryption_of
from emberlog.workers.wire.encryption import Identity
from emberlog.workers.wire.handshake import Credentials, new_key


def new_credentials(spark: SparkSession) -> Credentials:
    """Returns a new key, and what encrypts connections where Spark's own are encrypted. Raises NotHere where nobody can
    make that."""
    identity = None if encryption_of(spark) is None else new_identity(spark)
    return Credentials(uuid.uuid4().hex, 0, new_key(), identity)


def property_of(run: str) -> str:
    """Returns the name of the property. Spark's event log leaves out the values of those with such a name."""
    return f"spark.emberlog.{run}.secret"


@contextmanager
def key_handed_over(spark: SparkSession, credentials: Credentials) -> Iterator[None]:
    """Gives the key to the tasks of the jobs that this thread starts while it is entered."""
    name, secret = property_of(credentials.run), credentials.key.hex()
    if credentials.identity is not None:
        secret = f"{secret} {credentials.identity.to_text()}"
    if is_connect(spark):  # the settings of a session become properties of the tasks of its queries
        spark.conf.set(name, secret)
    else:
        spark.sparkContext.setLocalProperty(name, secret)
    try:
        yield
    finally:
        if is_connect(spark):
            spark.conf.unset(name)
        else:
            spark.sparkContext.setLocalProperty(name, None)  # type: ignore[arg-type]


def credentials_for(task: Any, run: str) -> Credentials:
    """Returns what a worker of a run has, from the properties of its task."""
    key, _, identity = task.getLocalProperty(property_of(run)).partition(" ")
    return Credentials(run, 0, bytes.fromhex(key), Identity.from_text(identity) if identity else None)
