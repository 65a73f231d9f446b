"""Brings what a recursion reads to its workers: as files that they open, with the job if it is little, or as rows of
the stage whose tasks they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.datatypes import DataType
from emberlog.engines.spark.plain_scan import fixed_partitions, parquet_files, rows_in_plan
from emberlog.engines.spark.slots import Slots
from emberlog.language.spark_types import spark_type
from emberlog.workers.plan.worker_plan import WorkerPlan
from emberlog.workers.store.folders import Folder
from emberlog.workers.wire.feeding import (
    Feed,
    InlineRows,
    ParquetFiles,
    Source,
    StageRows,
    read_footer,
    with_copies,
)
from emberlog.workers.wire.inline_rows import KINDS, NO_RELATION, TAG, InlineLayout, columns_for, kind_of

MOST_INLINE_ROWS = 20_000
"""Rows that live in the plan and are sent along with the tasks."""

FOLDER = "inputs"
"""Where inputs are that Spark writes for the workers, in the folder of a run."""


@dataclass(frozen=True, slots=True)
class StaticInput:
    """Holds a relation that the recursion reads: its frame, and whether rows are known not to be repeated."""

    frame: DataFrame
    is_set: bool


class JobInputs:
    """Holds the relations that the workers of one job read."""

    def __init__(
        self, spark: SparkSession, worker_plan: WorkerPlan, inputs: Mapping[str, StaticInput], slots: Slots
    ) -> None:
        self._spark = spark
        self._worker_plan = worker_plan
        self._inputs = {name: inputs[name] for name in worker_plan.inputs}
        self._slots = slots
        self.unseen: set[str] = set()
        """Relations that are files which not all workers can read: Spark reads them."""

    def sources(self, folder: Folder | None) -> dict[str, Source]:
        """Returns where workers find each relation; those that they could not read are written to the folder of the
        run, if there is one."""
        return {name: self._source(name, one.frame, folder) for name, one in self._inputs.items()}

    def feeds(self, sources: Mapping[str, Source]) -> tuple[Feed, ...]:
        plain = (self._feed(name, sources[name], one) for name, one in self._inputs.items())
        return with_copies(plain, self._worker_plan)

    def _feed(self, name: str, source: Source, one: StaticInput) -> Feed:
        types = self._worker_plan.inputs[name]
        # Rows that may be repeated have to be compared as a whole.
        used = self._worker_plan.used_columns(name) if one.is_set else frozenset(range(len(types)))
        nullable = self._worker_plan.nullable.get(name, frozenset())
        return Feed(name, types, source, self._worker_plan.spread[name], one.is_set, used, nullable)

    def _source(self, name: str, frame: DataFrame, folder: Folder | None) -> Source:
        types = self._worker_plan.inputs[name]
        if self._slots.is_classic:
            rows = rows_in_plan(frame)
            if rows is not None and rows <= MOST_INLINE_ROWS and not any(type_.parts for type_ in types):
                return InlineRows(_serialized(frame, types))
            files = parquet_files(frame) if folder is not None and name not in self.unseen else None
            if files is not None:
                return files
        number = list(self._inputs).index(name)
        return StageRows(number) if folder is None else _written(frame, folder, f"{FOLDER}/{number}")

    def tags(self, sources: Mapping[str, Source]) -> dict[int, tuple[DataType, ...]]:
        """Returns the types of the relations that come as rows of the stage, by their tags."""
        return {one.tag: self._worker_plan.inputs[name] for name, one in sources.items() if isinstance(one, StageRows)}

    def stage(self, sources: Mapping[str, Source], workers: int, *, is_barrier: bool) -> DataFrame:
        """Returns the input of the stage, which has a task for each worker. Each gets a row at least: a stage without
        rows would have no tasks."""
        tickets = self._spark.range(0, workers, 1, workers)
        tagged = {name: source.tag for name, source in sources.items() if isinstance(source, StageRows)}
        if not tagged:
            return tickets
        columns = InlineLayout(self.tags(sources), {}).input_columns
        parts = []
        for name, tag in tagged.items():
            used = columns_for(self._worker_plan.inputs[name])
            frame = self._inputs[name].frame.toDF(*used)
            chosen = [F.col(one) if one in used else _missing(one, type_) for one, type_ in columns.items()]
            parts.append(frame.select(F.lit(tag).alias(TAG), *chosen))
        if len(parts) == 1 and not is_barrier:
            # As Spark has them, without a shuffle, if that gives each worker about as much.
            together = parts[0].coalesce(workers)
            if fixed_partitions(together) == workers:
                return together
        empty = tickets.select(F.lit(NO_RELATION).alias(TAG), *(_missing(one, type_) for one, type_ in columns.items()))
        return reduce(DataFrame.unionAll, [empty, *parts]).repartition(workers)


def _written(frame: DataFrame, folder: Folder, place: str) -> ParquetFiles:
    """Lets Spark write a relation to the folder of the run, once for all attempts."""
    columns = tuple(f"c{index}" for index in range(len(frame.columns)))
    if not folder.exists(place):
        writer = frame.toDF(*columns).write.option("compression", "uncompressed")
        writer.option("parquet.enable.dictionary", "false").parquet(f"{folder.uri}/{place}")
    paths = [folder.within(file).location for file in sorted(folder.sizes(place)) if file.endswith(".parquet")]
    return ParquetFiles.of(folder.each(read_footer, paths), columns)


def _missing(column: str, type_: DataType) -> Column:
    return F.lit(None).cast(spark_type(type_)).alias(column)


def _serialized(frame: DataFrame, types: Sequence[DataType]) -> bytes:
    rows = frame.collect()
    arrays = [pa.array([row[i] for row in rows], KINDS[kind_of(data_type)]) for i, data_type in enumerate(types)]
    table = pa.table(arrays, names=[f"c{index}" for index in range(len(arrays))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
