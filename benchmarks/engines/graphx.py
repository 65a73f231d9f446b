"""GraphX, which comes with Spark: its library where it has the algorithm, Pregel where it has not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.engines.java_programs import compiled, java_command
from benchmarks.engines.protocol import Engine, Outcome, Settings
from benchmarks.engines.spark_session import ShuffleMeter, open_session, spark_version
from benchmarks.workloads import answer
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.workload import Workload

_WEIGHTED = ("sssp",)
_WITH_ALL_NODES = ("pagerank",)
_UPWARDS_ONLY = ("triangles",)
"""Of each triangle the program looks at the arcs from smaller to larger numbers."""


class GraphX(Engine):
    name = "graphx"
    title = "GraphX"
    installed_by = "comes with PySpark; needs javac"
    timing = "the graph is built and cached in Spark beforehand"

    def version(self) -> str:
        java_command("javac")
        return spark_version()

    def start(self, settings: Settings) -> None:
        super().start(settings)
        import pyspark

        jars = Path(pyspark.__file__).parent / "jars" / "*"
        classes = compiled("GraphXPrograms", str(jars))
        self._spark = open_session(settings, {"spark.driver.extraClassPath": str(classes)})
        self._programs: Any = None

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        self.close_graph()
        self._program = workload.program_name
        self._columns = workload.program.columns
        self._source = workload.parameters.get("source", 0)
        self._programs = self._spark._jvm.emberlog.benchmarks.GraphXPrograms.load(  # type: ignore[union-attr]
            self._spark._jsparkSession,
            str(inputs["arc"]),
            str(inputs["node"]) if self._program in _WITH_ALL_NODES else None,
            self._program in _WEIGHTED,
            self._program in _UPWARDS_ONLY,
            self.settings.threads,
        )

    def reset(self) -> None:
        self._programs.forget()

    def run(self) -> Outcome:
        meter = ShuffleMeter(self._spark)
        rows = self._programs.run(self._program, self._source)
        return Outcome(int(rows), {"bytes_exchanged": meter.bytes()})

    def check(self) -> Answer:
        return answer.of_sql(self._columns, list(self._programs.check(self._program, self._source)))

    def close_graph(self) -> None:
        if self._programs is not None:
            self._programs.unload()
            self._programs = None

    def close(self) -> None:
        self._spark.stop()
