"""Statistics of data that Spark will read, as far as they can be had without a Spark job."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emberlog.engines.spark.frames.resources import is_connect
from emberlog.engines.spark.launcher import MOST_INLINE_ROWS
from emberlog.engines.spark.plain_scan import parquet_files, rows_in_plan
from emberlog.io.intake import Source
from emberlog.io.sampling import statistics_of_facts, statistics_of_parquet
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import Relation


def statistics_of(source: Source[DataFrame], relation: Relation) -> RelationStatistics | None:
    """Returns statistics of data of this process, of Parquet files and of text files on this machine; None for
    anything else."""
    known = source.statistics(relation)
    if known is not None:
        return known
    frame = source.relation(relation)
    return None if frame.isStreaming or is_connect(frame.sparkSession) else _of_frame(frame, relation.arity)


def _of_frame(frame: DataFrame, width: int) -> RelationStatistics | None:
    rows = rows_in_plan(frame)
    if rows is not None:
        if rows > MOST_INLINE_ROWS:
            return None
        return statistics_of_facts((tuple(row) for row in frame.collect()), width)
    files = parquet_files(frame)
    return None if files is None else statistics_of_parquet(files.paths, files.columns)
