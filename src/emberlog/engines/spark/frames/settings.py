"""Spark's settings while a recursion runs, and as they were before, whatever happens.

Adaptive execution is off: it plans each join anew from sizes that are known here anyway, and it forgets how a
checkpoint is partitioned, so that everything known would be sent around in every round. The number of partitions
follows the number of rows, and while there are few of them, queries are not compiled: almost every round's query is a
new one to the compiler, which takes longer than running it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import pyspark.errors.utils
from pyspark.sql import SparkSession

_errors: Any = pyspark.errors.utils
"""PySpark looks up the line of code behind every column that is made and sends it to the JVM. That takes longer than
making the column, and tells nothing about columns that come from rules. Its setting for it is read only once."""

ADAPTIVE = "spark.sql.adaptive.enabled"
PARTITIONS = "spark.sql.shuffle.partitions"
CONSTRAINTS = "spark.sql.constraintPropagation.enabled"
"""Constraints are carried into checkpoints and would grow from round to round."""
COMPILED = "spark.sql.codegen.wholeStage"
CHANGED = (ADAPTIVE, PARTITIONS, CONSTRAINTS, COMPILED)


@dataclass(slots=True)
class _Borrowed:
    runs: int = 0
    before: dict[str, str] = field(default_factory=dict)
    call_sites: bool | None = None


_borrowed: dict[str, _Borrowed] = {}
_lock = Lock()


@contextmanager
def recursion_settings(spark: SparkSession) -> Iterator[int]:
    """Sets what recursions need; gives the number of partitions that the session had. Runs in several threads may share
    a session: the first one sets, the last one restores."""
    key = _session_key(spark)
    with _lock:
        borrowed = _borrowed.setdefault(key, _Borrowed())
        if borrowed.runs == 0:
            borrowed.before = {name: spark.conf.get(name) or "" for name in CHANGED}
            for name in (ADAPTIVE, CONSTRAINTS, COMPILED):
                spark.conf.set(name, "false")
            borrowed.call_sites, _errors._enable_debugging_cache = _errors._enable_debugging_cache, False
        borrowed.runs += 1
    try:
        yield int(borrowed.before[PARTITIONS])
    finally:
        with _lock:
            borrowed.runs -= 1
            if borrowed.runs == 0:
                del _borrowed[key]
                _errors._enable_debugging_cache = borrowed.call_sites
                for name, value in borrowed.before.items():
                    spark.conf.set(name, value)


def set_partitions(spark: SparkSession, count: int) -> None:
    """Sets the number of partitions that a shuffle makes, until the recursion ends."""
    spark.conf.set(PARTITIONS, str(count))


def compile_queries(spark: SparkSession) -> None:
    """Lets Spark compile queries, for rounds with many rows, until the recursion ends; unless the session does not want
    it at all."""
    spark.conf.set(COMPILED, _borrowed[_session_key(spark)].before[COMPILED])


def _session_key(spark: SparkSession) -> str:
    session_id = getattr(spark, "session_id", None)  # of a Connect session
    return str(session_id) if session_id else str(id(spark))
