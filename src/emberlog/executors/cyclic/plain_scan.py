"""Frames whose rows can be had without a Spark job: a few that live in the plan, or Parquet files as they are.

Bringing rows from Spark to the workers costs more than most recursions, so workers open such files themselves.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame

from emberlog.executors.cyclic.feeding import ParquetFiles

_AS_IT_IS = ("tinyint", "smallint", "int", "bigint", "string", "boolean")


def parquet_files(frame: DataFrame) -> ParquetFiles | None:
    """The files whose rows, column by column, are just those of the frame."""
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
        len(columns) < len(outputs)
        or any(kind not in _AS_IT_IS for _, kind in columns)
        or relation.fileFormat().toString() != "Parquet"
        or not relation.partitionSchema().isEmpty()
        or not relation.bucketSpec().isEmpty()
    ):
        return None
    paths = [urlsplit(file) for file in relation.location().inputFiles()]
    if any(path.scheme != "file" or path.netloc for path in paths):
        return None
    return ParquetFiles(tuple(unquote(path.path) for path in paths), tuple(name for name, _ in columns))


def rows_in_plan(frame: DataFrame) -> int | None:
    """How many rows the plan itself holds; None if they are somewhere else."""
    plan: Any = frame._jdf.queryExecution().optimizedPlan()
    return int(plan.data().length()) if _kind(plan) == "LocalRelation" else None


def _column_behind(expression: Any) -> tuple[str, str] | None:
    """The name and the type of the column that an expression only renames or widens."""
    while _kind(expression) in ("Alias", "Cast"):
        if _kind(expression) == "Cast" and expression.dataType().simpleString() != "bigint":
            return None
        expression = expression.child()
    if _kind(expression) != "AttributeReference":
        return None
    return expression.name(), expression.dataType().simpleString()


def _kind(node: Any) -> str:
    return str(node.getClass().getSimpleName())
