"""Brings what a recursion reads to its workers: as files that they open, with the job if it is little, or as rows of
the stage whose tasks they are. What this process has goes to the queries of Spark as files, too, if it is much."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.config import Execution
from emberlog.datatypes import DataType
from emberlog.engines.spark.failures import NotHere
from emberlog.engines.spark.frames.resources import Kept
from emberlog.engines.spark.plain_scan import fixed_partitions, parquet_files, rows_in_plan
from emberlog.engines.spark.probe import probe
from emberlog.engines.spark.run_folders import Store, choose_store, delete_run
from emberlog.engines.spark.slots import Slots
from emberlog.io.arrow_values import arrow_type
from emberlog.io.local_relation import LocalRelation
from emberlog.io.spark_frames import Placed, frame_of, size_of
from emberlog.language.spark_types import schema_of, spark_type
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

MOST_IN_A_PLAN = 1 << 20
"""Bytes of a relation that live in the plans of queries. Spark goes through all rows of a plan again and again while it
looks for a better one, and the plan of a query that many strata make has them many times."""

ROWS_OF_A_GROUP = 1 << 18
"""Rows that one worker reads at once from a file that this process writes."""

_log = logging.getLogger("emberlog")


@dataclass(frozen=True, slots=True)
class StaticInput:
    """Holds a relation that the recursion reads: where it is, and whether rows are known not to be repeated."""

    placed: Placed
    is_set: bool


class WrittenInputs:
    """Holds the relations that are written for the workers of a run: each once, for all its strata and attempts."""

    def __init__(self) -> None:
        self._folder: Folder | None = None
        self._files: dict[str, ParquetFiles] = {}

    def files(self, name: str, placed: Placed, store: Store) -> ParquetFiles:
        """Returns the files of a relation. What is in this process is written by it, everything else by Spark."""
        if name not in self._files:
            if self._folder is None:
                self._folder = store.new_run()
            table, place = _table_here(placed), self._folder.within(str(len(self._files)))
            self._files[name] = _written_by_spark(placed.frame, place) if table is None else _written_here(table, place)
        return self._files[name]

    def delete(self) -> None:
        if self._folder is not None:
            delete_run(self._folder)


class DriverTables:
    """Makes frames of the relations that are in this process, which can be read as long as the results of the run."""

    def __init__(self, spark: SparkSession, execution: Execution, adopt: Callable[[Kept], None]) -> None:
        """`adopt` takes what has to be released when the results are."""
        self._spark = spark
        self._execution = execution
        self._adopt = adopt
        self._count = 0

    def placed(self, relation: LocalRelation) -> Placed:
        return Placed(lambda: self._from_file(relation) or frame_of(self._spark, relation), relation)

    def input(self, given: Placed) -> Placed:
        """Returns an input, which is read from a file if its frame would have too many rows in its plan."""
        found = given.local(None) if given.is_made_here else None
        return given if found is None else Placed(lambda: self._from_file(found) or given.frame, found)

    def _from_file(self, relation: LocalRelation) -> DataFrame | None:
        """Returns a frame that reads a file; None if the rows had better live in the plan."""
        table = _as_files_have_it(relation) if size_of(relation) > MOST_IN_A_PLAN else None
        folder = None if table is None else self._folder
        if table is None or folder is None:
            return None
        place = folder.within(str(self._count))
        self._count += 1
        _written_here(table, place)
        schema = schema_of(table.column_names, relation.types)
        return self._spark.read.schema(schema).parquet(place.uri).toDF(*relation.columns)

    @cached_property
    def _folder(self) -> Folder | None:
        """Returns the folder of these files; None where driver and executors share none."""
        slots = Slots.of(self._spark)

        def unseen(location: str) -> str | None:
            return probe(self._spark, slots.count if slots.is_classic else None, location).unseen_store

        try:
            store, why = choose_store(self._spark, slots, self._execution, unseen)
        except NotHere as problem:
            store, why = None, str(problem)
        if store is None:
            _log.info("relations of the driver's process live in the plans of queries: %s", why)
            return None
        folder = store.new_run()
        self._adopt(Kept(self._spark.range(0), 0, partial(delete_run, folder)))
        return folder


class JobInputs:
    """Holds the relations that the workers of one job read."""

    def __init__(
        self,
        spark: SparkSession,
        worker_plan: WorkerPlan,
        inputs: Mapping[str, StaticInput],
        written: WrittenInputs,
        slots: Slots,
    ) -> None:
        self._spark = spark
        self._worker_plan = worker_plan
        self._inputs = {name: inputs[name] for name in worker_plan.inputs}
        self._written = written
        self._slots = slots
        self.unseen: set[str] = set()
        """Relations that are files which not all workers can read: Spark reads them."""

    def sources(self, store: Store | None) -> dict[str, Source]:
        """Returns where workers find each relation; those that they could not read are written to the store, if there
        is one."""
        return {name: self._source(name, one.placed, store) for name, one in self._inputs.items()}

    def feeds(self, sources: Mapping[str, Source]) -> tuple[Feed, ...]:
        plain = (self._feed(name, sources[name], one) for name, one in self._inputs.items())
        return with_copies(plain, self._worker_plan)

    def _feed(self, name: str, source: Source, one: StaticInput) -> Feed:
        types = self._worker_plan.inputs[name]
        # Rows that may be repeated have to be compared as a whole.
        used = self._worker_plan.used_columns(name) if one.is_set else frozenset(range(len(types)))
        nullable = self._worker_plan.nullable.get(name, frozenset())
        return Feed(name, types, source, self._worker_plan.spread[name], one.is_set, used, nullable)

    def _source(self, name: str, placed: Placed, store: Store | None) -> Source:
        types = self._worker_plan.inputs[name]
        table = _table_here(placed)
        if table is not None and table.num_rows <= MOST_INLINE_ROWS:
            return InlineRows(_serialized(table))
        if self._slots.is_classic and not placed.is_made_here:
            rows = rows_in_plan(placed.frame) if table is None else None
            if rows is not None and rows <= MOST_INLINE_ROWS and not any(type_.parts for type_ in types):
                return InlineRows(_serialized(_collected(placed.frame, types)))
            files = parquet_files(placed.frame) if store is not None and name not in self.unseen else None
            if files is not None:
                return files
        return StageRows(list(self._inputs).index(name)) if store is None else self._written.files(name, placed, store)

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
            frame = self._inputs[name].placed.frame.toDF(*used)
            chosen = [F.col(one) if one in used else _missing(one, type_) for one, type_ in columns.items()]
            parts.append(frame.select(F.lit(tag).alias(TAG), *chosen))
        if len(parts) == 1 and not is_barrier:
            # As Spark has them, without a shuffle, if that gives each worker about as much.
            together = parts[0].coalesce(workers)
            if fixed_partitions(together) == workers:
                return together
        empty = tickets.select(F.lit(NO_RELATION).alias(TAG), *(_missing(one, type_) for one, type_ in columns.items()))
        return reduce(DataFrame.unionAll, [empty, *parts]).repartition(workers)


def _table_here(placed: Placed) -> pa.Table | None:
    """Returns a relation that is in this process, as workers read it; None if it is somewhere else."""
    found = placed.local(None) if placed.is_here else None
    return None if found is None else _as_files_have_it(found)


def _as_files_have_it(relation: LocalRelation) -> pa.Table | None:
    """Returns a relation as workers and Spark read it from files; None if files have no types for it."""
    if not relation.types or not all(type_.is_known for type_ in relation.types):
        return None
    wanted = pa.schema([(f"c{index}", arrow_type(type_)) for index, type_ in enumerate(relation.types)])
    return relation.table.rename_columns(wanted.names).cast(wanted)


def _written_here(table: pa.Table, folder: Folder) -> ParquetFiles:
    folder.make("")
    with folder.open_out("rows.parquet") as file:
        pq.write_table(table, file, ROWS_OF_A_GROUP, compression="none", use_dictionary=False)
    return ParquetFiles.of([read_footer(folder.within("rows.parquet").location)], table.column_names)


def _written_by_spark(frame: DataFrame, folder: Folder) -> ParquetFiles:
    columns = tuple(f"c{index}" for index in range(len(frame.columns)))
    writer = frame.toDF(*columns).write.option("compression", "uncompressed")
    writer.option("parquet.enable.dictionary", "false").parquet(folder.uri)
    paths = [folder.within(file).location for file in folder.files() if file.endswith(".parquet")]
    return ParquetFiles.of(folder.each(read_footer, paths), columns)


def _missing(column: str, type_: DataType) -> Column:
    return F.lit(None).cast(spark_type(type_)).alias(column)


def _collected(frame: DataFrame, types: Sequence[DataType]) -> pa.Table:
    rows = frame.collect()
    arrays = [pa.array([row[i] for row in rows], KINDS[kind_of(data_type)]) for i, data_type in enumerate(types)]
    return pa.table(arrays, names=[f"c{index}" for index in range(len(arrays))])


def _serialized(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
