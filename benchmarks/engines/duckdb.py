"""DuckDB: recursive common table expressions, with `USING KEY` where a value per key is improved."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.engines.protocol import Engine, Outcome, Settings, Unavailable
from benchmarks.workloads import answer
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.program import with_parameters
from benchmarks.workloads.workload import Workload


class DuckDB(Engine):
    name = "duckdb"
    title = "DuckDB, recursive CTE"
    installed_by = "pip install duckdb (benchmarks/requirements.txt)"

    def version(self) -> str:
        try:
            return importlib.metadata.version("duckdb")
        except importlib.metadata.PackageNotFoundError:
            raise Unavailable("the package duckdb is not installed") from None

    def start(self, settings: Settings) -> None:
        super().start(settings)
        self._connection: Any = importlib.import_module("duckdb").connect()
        self._connection.execute(f"SET threads = {settings.threads}")
        self._connection.execute(f"SET memory_limit = '{settings.memory_gib:.1f}GiB'")

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        text = workload.program.text("duckdb.sql")
        assert text is not None, f"{workload.program_name} has no duckdb.sql and gives no reason"
        self._query = with_parameters(text, workload.parameters)
        self._columns = workload.program.columns
        for relation, path in inputs.items():
            self._connection.execute(f"CREATE OR REPLACE TABLE {relation} AS FROM read_parquet('{path}')")

    def run(self) -> Outcome:
        rows = self._connection.execute(f"SELECT count(*) FROM ({self._query})").fetchone()[0]
        return Outcome(int(rows))

    def check(self) -> Answer:
        names = [f"c{position}" for position in range(len(self._columns))]
        items = answer.sql(self._columns, names)
        query = f"SELECT {items} FROM ({self._query}) AS result({', '.join(names)})"
        return answer.of_sql(self._columns, self._connection.execute(query).fetchone())

    def close(self) -> None:
        self._connection.close()
