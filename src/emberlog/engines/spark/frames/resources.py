"""What a run keeps in Spark's memory and on its disks: made here, counted here, and given back here.

A frame that is iterated on has to forget where it came from, or its plan and lineage grow with every round. Spark's
checkpoints do that: local ones by default, which live in the executors, and reliable ones when the session has a
checkpoint directory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

_log = logging.getLogger("emberlog")


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Holds a frame whose rows are computed, and stay until they are released."""

    frame: DataFrame
    rows: int
    release: Callable[[], None] = field(repr=False)
    measures: Mapping[str, int | None] = field(default_factory=dict)


class Checkpoints(Protocol):
    def keep(self, frame: DataFrame, measures: Mapping[str, Column]) -> Kept:
        """Computes the frame, counts its rows and takes the other measures: all in as few jobs as possible."""
        ...


def is_connect(spark: SparkSession) -> bool:
    """Tells whether the session is a client of Spark Connect, whose JVM is out of reach."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


class Resources:
    """Holds everything that one run keeps. Whatever is still here at the end is released."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._kept: set[Kept] = set()

    @cached_property
    def _checkpoints(self) -> Checkpoints:
        return ConnectCheckpoints() if is_connect(self._spark) else ClassicCheckpoints(self._spark)

    def keep(self, frame: DataFrame, measures: Mapping[str, Column] | None = None) -> Kept:
        """Returns the frame, computed, with a plan of one node and no lineage."""
        kept = self._checkpoints.keep(frame, measures or {})
        self._kept.add(kept)
        return kept

    def cache(self, frame: DataFrame) -> Kept:
        """Returns the frame in Spark's compact cache: for what depends on nothing that is released before it."""
        cached = frame.persist()
        try:
            kept = Kept(cached, cached.count(), lambda: _unpersist(cached))
        except BaseException:
            _unpersist(cached)
            raise
        self._kept.add(kept)
        return kept

    def adopt(self, kept: Kept) -> None:
        """Takes over something that is kept already."""
        self._kept.add(kept)

    def release(self, kept: Kept) -> None:
        if kept in self._kept:
            self._kept.remove(kept)
            kept.release()

    def release_all(self, *, but: Collection[Kept] = ()) -> None:
        for kept in tuple(self._kept):
            if kept not in but:
                self.release(kept)


def _unpersist(frame: DataFrame) -> None:
    try:
        frame.unpersist()
    except Exception as error:  # the session is gone, and its memory with it
        _log.debug("a frame could not be released: %s", error)


class ClassicCheckpoints:
    """Checkpoints in the session's own JVM: one job computes, counts and checkpoints."""

    def __init__(self, spark: SparkSession) -> None:
        self._session: Any = spark._jsparkSession
        self._jvm = cast(Any, spark._jvm)
        self._context: Any = spark.sparkContext._jsc.sc()
        self._is_reliable = bool(self._context.getCheckpointDir().isDefined())
        plan_class = self._jvm.java.lang.Class.forName("org.apache.spark.sql.execution.LogicalRDD")
        self._size_field, self._constraints_field = map(
            plan_class.getDeclaredField, ("originStats", "originConstraints")
        )
        self._size_field.setAccessible(True)
        self._constraints_field.setAccessible(True)
        self._option: Any = self._jvm.scala.Option
        self._none = self._option.empty()

    def keep(self, frame: DataFrame, measures: Mapping[str, Column]) -> Kept:
        # The job that counts makes a local checkpoint too; a reliable one would compute the frame twice then.
        cut = frame.checkpoint(eager=True) if self._is_reliable else frame.localCheckpoint(eager=False)
        plan: Any = cut._jdf.queryExecution().logical()
        rdd = plan.rdd()

        def release() -> None:
            self._release(rdd)

        try:
            rows, taken = self._measured(cut, measures) if measures else (int(rdd.count()), {})
            self._forget_estimates(plan, rows)
        except BaseException:
            release()
            raise
        return Kept(cut, rows, release, taken)

    @staticmethod
    def _measured(frame: DataFrame, measures: Mapping[str, Column]) -> tuple[int, dict[str, int | None]]:
        # One row is had faster straight from the JVM than by collecting it.
        row: Any = frame.agg(F.count(F.lit(1)), *measures.values())._jdf.head()
        return int(row.get(0)), {name: row.get(index) for index, name in enumerate(measures, 1)}

    def _forget_estimates(self, plan: Any, rows: int) -> None:
        """Replaces the estimated size, which multiplies from round to round, by the real one. The constraints that the
        plan inherited say nothing that is needed, and grow too."""
        size = self._session.range(rows).queryExecution().analyzed().stats()
        self._size_field.set(plan, self._option.apply(size))
        self._constraints_field.set(plan, self._none)

    def _release(self, rdd: Any) -> None:
        try:
            # RDD.unpersist would warn that a checkpointed one cannot be recomputed, which is just what is wanted.
            self._context.unpersistRDD(rdd.id(), False)
            if self._is_reliable:
                self._delete(rdd)
        except Exception as error:  # the session is gone, and its memory with it
            _log.debug("a checkpoint could not be released: %s", error)

    def _delete(self, rdd: Any) -> None:
        file = rdd.getCheckpointFile()
        if file.isDefined():
            path = self._jvm.org.apache.hadoop.fs.Path(file.get())
            path.getFileSystem(self._context.hadoopConfiguration()).delete(path, True)


class ConnectCheckpoints:
    """Checkpoints with Spark Connect, which has only the public interface: the frame is cached, counted, and then
    checkpointed, so that the checkpoint takes over the cache's real size instead of an estimate."""

    def keep(self, frame: DataFrame, measures: Mapping[str, Column]) -> Kept:
        cached = frame.persist()
        try:
            rows, *others = cached.agg(F.count(F.lit(1)), *measures.values()).collect()[0]
            cut = cached.localCheckpoint(eager=True)
        finally:
            _unpersist(cached)
        # The server forgets the checkpoint when the last frame that reads it is forgotten here.
        return Kept(cut, rows, lambda: None, dict(zip(measures, others, strict=True)))
