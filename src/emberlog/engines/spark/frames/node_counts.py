"""How many rows each node of a query gives, counted by Spark while it runs, for those who ask what a plan really did.

Each node is observed, so Spark does not move anything past it: the query runs as the plan says it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.engines.spark.frames.plans import PlanCompiler
from emberlog.engines.spark.frames.resources import is_connect
from emberlog.logical.nodes import Plan


class NodeCounts:
    """Counts the rows of nodes in all queries of a run. Without the session's JVM, as with Spark Connect, nothing is
    counted."""

    def __init__(self, spark: SparkSession) -> None:
        self.rows: dict[int, int] = {}
        """By the identity of a node."""
        self._is_possible = not is_connect(spark)
        self._names: dict[str, Plan] = {}

    @contextmanager
    def observing(self, compiler: PlanCompiler) -> Iterator[None]:
        """Lets the nodes of frames that are compiled meanwhile be observed."""
        if not self._is_possible:
            yield
            return
        compiler.observer = self._observed
        try:
            yield
        finally:
            compiler.observer = None

    def _observed(self, plan: Plan, frame: DataFrame) -> DataFrame:
        name = f"node {len(self._names)}"
        self._names[name] = plan
        return frame.observe(name, F.count(F.lit(1)).alias("rows"))

    def take(self, frame: DataFrame) -> None:
        """Takes what was observed of a frame, which has been computed."""
        if not self._is_possible:
            return
        metrics: Any = frame._jdf.queryExecution().observedMetrics()
        for name, plan in self._names.items():
            found = metrics.get(name)
            if found.isDefined():
                self.rows[id(plan)] = self.rows.get(id(plan), 0) + int(found.get().get(0))
        self._names.clear()
