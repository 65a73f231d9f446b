"""One Spark session for every engine that runs on Spark, so that all of them get the same Spark."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchmarks.engines.protocol import Settings, Unavailable
from benchmarks.workloads import answer
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.program import ColumnKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def spark_version() -> str:
    """The version of PySpark, or Unavailable when it or Java is missing."""
    from emberlog.diagnostics import EmberlogError
    from emberlog.engines.spark.java import find_java

    try:
        version = importlib.metadata.version("pyspark")
        find_java()
    except importlib.metadata.PackageNotFoundError:
        raise Unavailable("the package pyspark is not installed") from None
    except EmberlogError as problem:
        raise Unavailable(problem.diagnostics[0].message) from None
    return version


def open_session(settings: Settings, options: Mapping[str, str] | None = None) -> SparkSession:
    """The local session that Emberlog starts by itself, with the threads and the memory of this run."""
    from emberlog.engines.spark.session import start_session

    # A partition per core: with many, most of a small iteration would be scheduling.
    conf = {"spark.sql.shuffle.partitions": str(settings.threads), **(options or {})}
    return start_session(f"local[{settings.threads}]", memory=f"{int(settings.memory_gib * 1024)}m", conf=conf)


def answer_of(frame: DataFrame, kinds: tuple[ColumnKind, ...]) -> Answer:
    names = [f"c{position}" for position in range(len(kinds))]
    items = answer.sql(kinds, names)
    frame.toDF(*names).createOrReplaceTempView("benchmark_result")
    row = frame.sparkSession.sql(f"SELECT {items} FROM benchmark_result").first()
    assert row is not None
    return answer.of_sql(kinds, row)


class ShuffleMeter:
    """How many bytes tasks have written for other tasks to read, by Spark's own account."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._before = self._total()

    def _total(self) -> int:
        store = self._spark.sparkContext._jsc.sc().statusStore()
        executors = store.executorList(True)
        return sum(executors.apply(index).totalShuffleWrite() for index in range(executors.size()))

    def bytes(self) -> int:
        return self._total() - self._before
