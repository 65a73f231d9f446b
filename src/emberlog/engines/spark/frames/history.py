"""In which iteration each fact of a recursion came: the changes of every round, kept beside the states."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from emberlog.engines.recording import ITERATION
from emberlog.engines.spark.frames.environment import Environment
from emberlog.engines.spark.frames.resources import Kept


class RelationHistory:
    """Keeps the history of one relation. Segments are merged so that there are few, and no fact is copied often."""

    def __init__(self, environment: Environment, relation: str) -> None:
        self.environment = environment
        self.relation = relation
        self.segments: list[Kept] = []

    def note(self, iteration: int, facts: DataFrame) -> None:
        """Takes note of what an iteration brought."""
        resources = self.environment.resources
        kept = resources.keep(facts.withColumn(ITERATION, F.lit(iteration).cast("bigint")))
        if not kept.rows:
            resources.release(kept)
            return
        self.segments.append(kept)
        while len(self.segments) > 1 and self.segments[-2].rows <= 2 * self.segments[-1].rows:
            newest = self.segments[-2:]
            merged = resources.keep(self.environment.gathered([one.frame for one in newest]))
            self.segments[-2:] = [merged]
            for one in newest:
                resources.release(one)

    def frame(self) -> DataFrame:
        if not self.segments:
            return self.environment.empty_facts(self.relation).withColumn(ITERATION, F.lit(0).cast("bigint"))
        return self.environment.gathered([one.frame for one in self.segments])
