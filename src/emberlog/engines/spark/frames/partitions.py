"""How many partitions the rows of a recursion are spread over, and how frames are brought into them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from emberlog.engines.spark.frames.resources import is_connect
from emberlog.engines.spark.frames.settings import set_partitions

ROWS_WORTH_A_TASK = 50_000
"""Below this a second task costs more than it saves."""
ROWS_OF_A_FULL_TASK = 250_000
"""Once every core has a task, more tasks are only good for keeping each in memory."""


class Partitions:
    """Holds the current number of partitions. It only grows: what is known has to be spread anew each time."""

    def __init__(self, spark: SparkSession, at_most: int) -> None:
        self._spark = spark
        self._cores = 4 if is_connect(spark) else max(1, spark.sparkContext.defaultParallelism)
        self._at_most = max(at_most, self._cores)
        self.count = 1
        set_partitions(spark, 1)

    def wanted(self, rows: int) -> int:
        parallel = -(-rows // ROWS_WORTH_A_TASK)
        if parallel > self._cores:
            parallel = max(self._cores, -(-rows // ROWS_OF_A_FULL_TASK))
        return max(1, min(parallel, self._at_most))

    def grow(self, rows: int) -> bool:
        """Tells whether so many rows want a number much larger than the current one, which is then set."""
        wanted = self.wanted(rows)
        if wanted < 2 * self.count:
            return False
        # Rows that grow like this go on growing, so there is room for some more.
        self.count = min(self._at_most, 2 * wanted if wanted > self._cores else wanted)
        set_partitions(self._spark, self.count)
        return True

    def spread(self, frame: DataFrame, columns: Sequence[str]) -> DataFrame:
        """Returns the frame in the current number of partitions, rows with equal columns together."""
        if self.count == 1:
            return frame.coalesce(1)  # known to Spark as a single partition, so nothing else is shuffled either
        return frame.repartition(self.count, *columns) if columns else frame.repartition(self.count)

    def gather(self, frame: DataFrame) -> DataFrame:
        """Returns a union of frames that are spread alike, without moving rows."""
        return frame.coalesce(1) if self.count == 1 else frame
