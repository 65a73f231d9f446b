"""Emberlog's two evaluators in plain Python: for tiny sizes, where they show that the others are right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet

from benchmarks.engines.protocol import Engine, Outcome
from benchmarks.workloads import answer
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.workload import Workload

Facts = Iterable[tuple[Any, ...]]

_TINY = (
    *("tc/tree5", "tc/grid8", "tc-nonlinear/grid8", "even-odd/tree5", "andersen/pointers200"),
    *("delivery/parts100", "parts/parts100", "above/people1k"),
)
"""The workloads on which evaluating naively takes less than a second."""


class EmberlogInPython(Engine):
    installed_by = "Emberlog itself"
    timing = "checked, planned and evaluated in Python; the inputs are tuples in memory"

    def version(self) -> str:
        import emberlog

        return emberlog.__version__

    def refusal(self, workload: Workload) -> str | None:
        reason = super().refusal(workload)
        if reason is None and "smoke" not in workload.sets:
            reason = "plain Python, for the smallest sizes only"
        return reason

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        from emberlog.semantics.analysis import analyze
        from emberlog.source import Source
        from emberlog.syntax.parser import parse

        text = workload.program.text("emberlog.dl")
        assert text is not None
        self._output, self._columns = workload.program.output, workload.program.columns
        self._inputs: dict[str, Facts] = {}
        for relation, path in inputs.items():
            columns = [column.to_pylist() for column in pyarrow.parquet.read_table(path).columns]
            self._inputs[relation] = list(zip(*columns, strict=True))
        self._checked = analyze(
            parse(Source(f"{workload.program_name}.dl", text)),
            params=dict(workload.parameters),
        )

    def run(self) -> Outcome:
        self._result = self.evaluate()
        return Outcome(len(self._result))

    def evaluate(self) -> frozenset[tuple[Any, ...]]:
        raise NotImplementedError

    def check(self) -> Answer:
        return answer.of_rows(self._columns, self._result)


class EmberlogOracle(EmberlogInPython):
    name = "emberlog-oracle"
    title = "Emberlog, the oracle of its tests"

    def refusal(self, workload: Workload) -> str | None:
        reason = super().refusal(workload)
        if reason is None and workload.name not in _TINY:
            reason = "the oracle is naive on purpose: it computes every round from the start"
        return reason

    def evaluate(self) -> frozenset[tuple[Any, ...]]:
        from tests.oracle.evaluate import evaluate

        return evaluate(self._checked, self._inputs)[self._output]


class EmberlogInterpreter(EmberlogInPython):
    name = "emberlog-interpreter"
    title = "Emberlog, interpreter"

    def evaluate(self) -> frozenset[tuple[Any, ...]]:
        from emberlog.engines.interpreter.interpreter import run
        from emberlog.logical.build import build
        from emberlog.optimize.pipeline import optimize

        return run(optimize(build(self._checked)).plan, self._inputs)[self._output]
