"""A mark on all jobs that a thread starts, so that they, and no others, can be stopped."""

from __future__ import annotations

import uuid
from contextlib import suppress

from pyspark.sql import SparkSession

from emberlog.engines.spark.frames.resources import is_connect


class JobTag:
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._is_connect = is_connect(spark)
        self.name = f"emberlog-{uuid.uuid4()}"

    def begin(self) -> None:
        """Jobs that this thread starts from now on have the mark."""
        if self._is_connect:
            self._spark.addTag(self.name)
        else:
            self._spark.sparkContext.addJobTag(self.name)

    def stop(self) -> None:
        """Stops the jobs that have the mark; from any thread."""
        with suppress(Exception):  # nothing may hide the reason for stopping
            if self._is_connect:
                self._spark.interruptTag(self.name)
            else:
                self._spark.sparkContext.cancelJobsWithTag(self.name)

    def end(self) -> None:
        with suppress(Exception):  # the session may be gone
            if self._is_connect:
                self._spark.removeTag(self.name)
            else:
                self._spark.sparkContext.removeJobTag(self.name)
