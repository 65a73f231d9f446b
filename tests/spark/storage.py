"""What Spark says it keeps: for tests that nothing is left behind."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def kept_frames(spark: SparkSession) -> int:
    """How many frames and checkpoints Spark has blocks of, in memory or on disk."""
    context: Any = spark.sparkContext._jsc.sc()
    return len(context.getRDDStorageInfo())


def kept_blocks(spark: SparkSession) -> int:
    context: Any = spark.sparkContext._jsc.sc()
    return sum(info.numCachedPartitions() for info in context.getRDDStorageInfo())


def running_jobs(spark: SparkSession) -> int:
    return len(spark.sparkContext.statusTracker().getActiveJobsIds())
