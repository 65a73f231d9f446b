"""Nemo, a rule engine written in Rust, through its Python package."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet

from benchmarks.data.dataset import delimited
from benchmarks.engines.protocol import Engine, Outcome, Unavailable
from benchmarks.workloads import answer
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.program import with_parameters
from benchmarks.workloads.workload import Workload

_COUNT = "number_of_rows_of_the_output"


class Nemo(Engine):
    name = "nemo"
    title = "Nemo"
    installed_by = "pip install nemo-python (benchmarks/requirements.txt)"
    timing = "includes reading the inputs from CSV, which Nemo does while it reasons; one thread"

    def version(self) -> str:
        try:
            return importlib.metadata.version("nemo-python")
        except importlib.metadata.PackageNotFoundError:
            raise Unavailable("the package nemo-python is not installed") from None

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        text = workload.program.text("nemo.rls")
        assert text is not None, f"{workload.program_name} has no nemo.rls and gives no reason"
        self._output, self._columns = workload.program.output, workload.program.columns
        imports = [_import(relation, path) for relation, path in inputs.items()]
        variables = ", ".join(f"?c{position}" for position in range(len(self._columns)))
        self._program = "\n".join(
            [
                *imports,
                with_parameters(text, workload.parameters),
                f"{_COUNT}(#count({variables})) :- {self._output}({variables}) .",
                f"@output {_COUNT} .",
                f"@output {self._output} .",
            ]
        )

    def reset(self) -> None:
        nemo: Any = importlib.import_module("nmo_python")
        self._engine = nemo.NemoEngine(nemo.load_string(self._program))

    def run(self) -> Outcome:
        self._engine.reason()
        counted = list(self._engine.result(_COUNT))
        # The count of nothing is no fact.
        return Outcome(int(counted[0][0]) if counted else 0)

    def check(self) -> Answer:
        # Strings come with their quotes.
        rows = ([_plain(value) for value in row] for row in self._engine.result(self._output))
        return answer.of_rows(self._columns, rows)


def _plain(value: Any) -> Any:
    return value.strip('"') if isinstance(value, str) else value


def _import(relation: str, path: Path) -> str:
    schema = pyarrow.parquet.read_schema(path)
    formats = ", ".join("string" if str(field.type) == "string" else "int" for field in schema)
    return f'@import {relation} :- csv{{resource = "{delimited(path, ",", ".csv")}", format = ({formats})}} .'
