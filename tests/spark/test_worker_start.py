"""What a Python worker of our own session has when it begins."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession


def test_workers_begin_with_everything_loaded(spark: SparkSession) -> None:
    def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc
        import sys

        list(batches)
        wanted = (
            "pyspark.worker",
            "pandas",
            "numba",
            "emberlog.engines.spark.task",
            "emberlog.streams.spark.task",
        )
        missing = [name for name in wanted if name not in sys.modules]
        zipped = [name for name, module in sys.modules.items() if ".zip" in (getattr(module, "__file__", None) or "")]
        names = pa.list_(pa.string())
        columns = [pa.array([gc.get_freeze_count()]), pa.array([missing], names), pa.array([zipped], names)]
        yield pa.record_batch(columns, ["frozen", "missing", "zipped"])

    one_task = spark.range(0, 1, 1, 1)
    (told,) = one_task.mapInArrow(tell, "frozen long, missing array<string>, zipped array<string>").collect()
    assert told.missing == []
    assert told.zipped == []
    assert told.frozen > 100_000
