"""Frames whose rows can be had without a Spark job: a few that live in the plan, or Parquet files as they are.

Bringing rows from Spark to the workers costs more than most recursions, so workers open such files themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from emberlog.io.local_relation import LocalRelation
from emberlog.io.spark_conversions import fact_of
from emberlog.logical.nodes import Field
from emberlog.workers.store.folders import Unopened, folder_at, open_file
from emberlog.workers.wire.feeding import Footer, ParquetFiles, read_footer

SOON_COLLECTED = 8 << 20
"""Bytes that are collected in less time than a query takes to begin."""

MOST_FILES = 1_000
"""More are left to Spark, which reads their footers in parallel."""

_log = logging.getLogger("emberlog")

_AS_IT_IS = ("tinyint", "smallint", "int", "bigint", "string", "boolean")


def parquet_files(frame: DataFrame) -> ParquetFiles | None:
    """Returns the files whose rows, column by column, are just those of the frame."""
    plan: Any = frame._jdf.queryExecution().optimizedPlan()
    columns: list[tuple[str, str]]
    if _kind(plan) == "Project":
        outputs = [_column_behind(plan.projectList().apply(i)) for i in range(plan.projectList().length())]
        plan = plan.child()
    else:
        outputs = [_column_behind(plan.output().apply(i)) for i in range(plan.output().length())]
    if _kind(plan) != "LogicalRelation" or _kind(plan.relation()) != "HadoopFsRelation":
        return None
    columns = [column for column in outputs if column is not None]
    relation = plan.relation()
    if (
        len(dict(columns)) < len(outputs)
        or any(kind not in _AS_IT_IS for _, kind in columns)
        or relation.fileFormat().toString() != "Parquet"
        or not relation.partitionSchema().isEmpty()
        or not relation.bucketSpec().isEmpty()
    ):
        return None
    files = list(relation.location().inputFiles())
    if not 0 < len(files) <= MOST_FILES:
        return None
    try:
        here = folder_at(files[0])
        return _files_with_columns(here.each(read_footer, files), dict(columns))
    except Unopened as problem:
        _log.info("workers do not read an input themselves: %s", problem)
        return None


def _read(files: ParquetFiles) -> pa.Table:
    tables = []
    for path in files.paths:
        with open_file(path) as file:
            tables.append(pq.read_table(file, columns=list(files.columns)))
    return pa.concat_tables(tables)


def _files_with_columns(footers: Sequence[Footer], kinds: dict[str, str]) -> ParquetFiles | None:
    """Returns the files, if every one has every column, under just this name and in a type that means the same: Spark
    is more generous, and fills in what a file lacks."""
    for one in footers:
        for name, kind in kinds.items():
            if one.schema.get_field_index(name) < 0 or not _is_kind(one.schema.field(name).type, kind):
                return None
    return ParquetFiles.of(footers, tuple(kinds))


def _is_kind(found: pa.DataType, kind: str) -> bool:
    if kind == "string":
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    if kind == "boolean":
        return bool(pa.types.is_boolean(found))
    return bool(pa.types.is_signed_integer(found))


def rows_in_plan(frame: DataFrame) -> int | None:
    """Returns how many rows the plan itself holds; None if they are somewhere else."""
    plan: Any = frame._jdf.queryExecution().optimizedPlan()
    return int(plan.data().length()) if _kind(plan) == "LocalRelation" else None


def fixed_partitions(frame: DataFrame) -> int | None:
    """Returns how many partitions a frame has, None if Spark decides that while it runs: behind a shuffle there may be
    fewer than planned."""
    execution: Any = frame._jdf.queryExecution()
    if "Exchange" in execution.executedPlan().toString():
        return None
    return int(execution.toRdd().getNumPartitions())


def _column_behind(expression: Any) -> tuple[str, str] | None:
    """Returns the name and the type of the column that an expression only renames or widens."""
    while _kind(expression) in ("Alias", "Cast"):
        if _kind(expression) == "Cast" and expression.dataType().simpleString() != "bigint":
            return None
        expression = expression.child()
    if _kind(expression) != "AttributeReference":
        return None
    return expression.name(), expression.dataType().simpleString()


def _kind(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def rows_of(frame: DataFrame) -> int | None:
    """Returns how many rows a frame has if Spark has counted them: those of a cache, or of files."""
    plan: Any = frame._jdf.queryExecution().optimizedPlan()
    if _kind(plan) == "InMemoryRelation":
        counted: Any = plan.stats().rowCount()
        return int(str(counted.get())) if counted.isDefined() else None
    files = parquet_files(frame)
    return None if files is None else files.rows


def collected(
    frame: DataFrame, fields: Sequence[Field], most: int | None, written: Callable[[], ParquetFiles] | None = None
) -> LocalRelation | None:
    """Returns the rows of a frame in this process, collected by a job, if they take no more than so many bytes. Of a
    query nobody knows that before: what may be much is `written` to files, if there is room for some, because workers
    read them if it is too much."""
    if frame.isStreaming:
        return None
    names, types = [field.name for field in fields], [field.type for field in fields]
    if not types:
        return LocalRelation(names, types, [()] * min(frame.count(), 1))
    if most is None:
        return LocalRelation(names, types, frame.toArrow())
    if not isinstance(frame, ClassicFrame):
        return None  # Spark Connect tells no sizes
    largest = most // (8 * len(types))
    rows = rows_in_plan(frame)
    if rows is not None:
        return LocalRelation(names, types, {fact_of(row) for row in frame.collect()}) if rows <= largest else None
    rows = rows_of(frame)
    if rows is not None:
        return LocalRelation(names, types, frame.toArrow()) if rows <= largest else None
    estimate = int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    if estimate > most:
        return None
    if estimate > SOON_COLLECTED and written is not None and all(kind in _AS_IT_IS for _, kind in frame.dtypes):
        files = written()
        return LocalRelation(names, types, _read(files)) if files.rows <= largest else None
    found = frame.limit(largest + 1).toArrow()
    return None if found.num_rows > largest else LocalRelation(names, types, found)
