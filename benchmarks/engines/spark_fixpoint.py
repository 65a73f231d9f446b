"""The loops that a good Spark engineer writes by hand: semi-naive, loop-invariant inputs cached, lineage cut.

Each round is a series of ordinary jobs. What is known is kept as one frame that grows by union and is written anew now
and then, so that neither its plan nor its number of partitions grows with the rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COMPACT_EVERY = 10
"""Rounds after which the known facts are written into fresh partitions."""


class Rounds:
    """Counts rounds and remembers what is cached, so that all of it can be given back."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self.productive = 0
        self._held: list[DataFrame] = []

    def hold(self, frame: DataFrame) -> DataFrame:
        """Computes a frame once and cuts its lineage; its blocks live until it is dropped."""
        kept = frame.localCheckpoint(eager=True)
        self._held.append(kept)
        return kept

    def drop(self, frames: Iterable[DataFrame]) -> None:
        """A checkpointed frame is not in the cache of SQL, so only its RDD can give the blocks back."""
        for frame in list(frames):
            frame._jdf.queryExecution().analyzed().rdd().unpersist(False)
            self._held.remove(frame)

    def release(self) -> None:
        self.drop(self._held)


def semi_naive(rounds: Rounds, seed: DataFrame, step: Callable[[DataFrame, DataFrame], DataFrame]) -> DataFrame:
    """The least set that contains the seed and is closed under `step(delta, known)`."""
    delta = rounds.hold(seed.distinct())
    known = delta
    pieces = [delta]
    while True:
        found = step(delta, known).distinct()
        delta = rounds.hold(found.join(known, seed.columns, "left_anti"))
        if delta.isEmpty():
            return known
        rounds.productive += 1
        known = known.unionByName(delta)
        pieces.append(delta)
        if len(pieces) > COMPACT_EVERY:
            known = rounds.hold(known.coalesce(rounds.partitions))
            rounds.drop(pieces[:-1])  # the last one is still the delta
            pieces = [known]


def improve(
    rounds: Rounds,
    seed: DataFrame,
    step: Callable[[DataFrame], DataFrame],
    keys: list[str],
    value: str,
    best: Callable[[str], Column],
    better: Callable[[Column, Column], Column],
) -> DataFrame:
    """The best value for each key: every round derives new values from those that were improved in the last one."""
    from pyspark.sql import functions as F

    known = rounds.hold(seed.groupBy(*keys).agg(best(value).alias(value)))
    delta = known
    while True:
        found = step(delta).groupBy(*keys).agg(best(value).alias(value)).withColumnRenamed(value, "found")
        joined = found.join(known, keys, "left")
        is_better = F.col(value).isNull() | better(F.col("found"), F.col(value))
        improved = rounds.hold(joined.where(is_better).select(*keys, F.col("found").alias(value)))
        if delta is not known:
            rounds.drop([delta])
        delta = improved
        if delta.isEmpty():
            return known
        rounds.productive += 1
        merged = rounds.hold(known.unionByName(delta).groupBy(*keys).agg(best(value).alias(value)))
        rounds.drop([known])
        known = merged
