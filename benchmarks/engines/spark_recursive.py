"""Spark's own recursive common table expressions (4.1 and later): UNION ALL only, so they end on acyclic data alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.engines.protocol import Engine, Outcome, Settings
from benchmarks.engines.spark_session import ShuffleMeter, answer_of, open_session, spark_version
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.program import with_parameters
from benchmarks.workloads.workload import Workload

_NO_LIMITS = {"spark.sql.cteRecursionLevelLimit": "100000", "spark.sql.cteRecursionRowLimit": "-1"}


class SparkRecursive(Engine):
    name = "spark-recursive"
    title = "Spark SQL, WITH RECURSIVE"
    installed_by = "comes with PySpark 4.1 and later"
    timing = "the inputs are Parquet files that each run scans"

    def version(self) -> str:
        return spark_version()

    def start(self, settings: Settings) -> None:
        super().start(settings)
        self._spark = open_session(settings, _NO_LIMITS)

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        text = workload.program.text("spark.sql")
        assert text is not None, f"{workload.program_name} has no spark.sql and gives no reason"
        self._columns = workload.program.columns
        self._query = with_parameters(text, workload.parameters)
        for relation, path in inputs.items():
            self._spark.read.parquet(str(path)).createOrReplaceTempView(relation)

    def run(self) -> Outcome:
        meter = ShuffleMeter(self._spark)
        rows = self._spark.sql(self._query).count()
        return Outcome(rows, {"bytes_exchanged": meter.bytes()})

    def check(self) -> Answer:
        return answer_of(self._spark.sql(self._query), self._columns)

    def close(self) -> None:
        self._spark.stop()
