"""What Spark says it keeps: for tests that nothing is left behind."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import SparkSession


def kept_frames(spark: SparkSession) -> int:
    """How many frames and checkpoints Spark has blocks of, in memory or on disk."""
    context: Any = spark.sparkContext._jsc.sc()
    return len(context.getRDDStorageInfo())


def kept_blocks(spark: SparkSession) -> int:
    context: Any = spark.sparkContext._jsc.sc()
    return sum(info.numCachedPartitions() for info in context.getRDDStorageInfo())


def jobs_end(spark: SparkSession, patience: float = 30.0) -> bool:
    """Whether no job is running. One that was just cancelled takes a moment to end."""
    tracker = spark.sparkContext.statusTracker()
    until = time.monotonic() + patience
    while tracker.getActiveJobsIds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
