"""clingo, an answer set solver: a Datalog program is solved by its grounder alone."""

from __future__ import annotations

import importlib
import importlib.metadata
import time
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow.parquet

from benchmarks.engines.protocol import Engine, Outcome, Unavailable
from benchmarks.workloads import answer
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.program import with_parameters
from benchmarks.workloads.workload import Workload


class Clingo(Engine):
    name = "clingo"
    title = "clingo, grounding"
    installed_by = "pip install clingo (benchmarks/requirements.txt)"
    timing = "grounding of facts that were parsed beforehand, without counting the atoms from Python; one thread"

    def version(self) -> str:
        try:
            return importlib.metadata.version("clingo")
        except importlib.metadata.PackageNotFoundError:
            raise Unavailable("the package clingo is not installed") from None

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        text = workload.program.text("clingo.lp")
        assert text is not None, f"{workload.program_name} has no clingo.lp and gives no reason"
        self._rules = with_parameters(text, workload.parameters)
        self._output, self._columns = workload.program.output, workload.program.columns
        self._facts = [_facts(relation, path) for relation, path in inputs.items()]

    def reset(self) -> None:
        """A control grounds once, so every run needs its own, with the facts in it."""
        self._control: Any = importlib.import_module("clingo").Control(["--warn=none"])
        for path in self._facts:
            self._control.load(str(path))
        self._control.add("base", [], self._rules)

    def run(self) -> Outcome:
        started = time.perf_counter()
        self._control.ground([("base", [])])
        seconds = time.perf_counter() - started
        return Outcome(sum(1 for _ in self._atoms()), seconds=seconds)

    def check(self) -> Answer:
        # A constant such as p17 is a symbol with a name.
        values = [attrgetter("name" if kind == "name" else "number") for kind in self._columns]
        rows = (
            [value(term) for value, term in zip(values, atom.symbol.arguments, strict=True)] for atom in self._atoms()
        )
        return answer.of_rows(self._columns, rows)

    def _atoms(self) -> Iterator[Any]:
        return iter(self._control.symbolic_atoms.by_signature(self._output, len(self._columns)))


def _facts(relation: str, parquet: Path) -> Path:
    """The relation as a text of facts, made on first use."""
    path = parquet.with_name(f"{parquet.stem}.as.{relation}.lp")
    if not path.exists():
        columns = [column.to_pylist() for column in pyarrow.parquet.read_table(parquet).columns]
        scratch = path.with_name(f"{path.name}.part")
        with scratch.open("w", encoding="utf-8") as file:
            for row in zip(*columns, strict=True):
                file.write(f"{relation}({','.join(map(str, row))}).\n")
        scratch.replace(path)
    return path
