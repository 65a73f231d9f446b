"""Answers in plain Python, for trying things out: no Spark, no waiting, and small data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from emberlog.cli.answers import Answer, answer_of
from emberlog.config import Limits
from emberlog.datatypes import UNKNOWN
from emberlog.executors import interpreter
from emberlog.io.delimited_text import read_rows
from emberlog.io.facts import DELIMITERS, in_order, infer_columns, read_facts
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram, Column, Fact
from emberlog.source import Source
from emberlog.syntax import ast


class PythonEngine:
    introduction = "Answers come from plain Python, which is quick for small data; --spark uses Spark."

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def check(self, program: ast.Program, params: Mapping[str, ast.Value], files: Mapping[str, Path]) -> CheckedProgram:
        """The program, checked together with the types of the files."""
        declared = {one.predicate: one.columns for one in program.statements if isinstance(one, ast.Declaration)}
        columns = {}
        for name, path in files.items():
            known = [Column(column.name, column.type) for column in declared.get(name, ())] or _unknown_columns(path)
            if known:  # a file without a line says nothing about its columns
                columns[name] = infer_columns(path, known)
        return analyze(program, params=params, inputs=columns)

    def answer(
        self, program: ast.Program, params: Mapping[str, ast.Value], files: Mapping[str, Path], show: int
    ) -> list[Answer]:
        checked = self.check(program, params, files)
        inputs = {
            name: _facts(path, path.stat().st_mtime_ns, checked.relations[name].columns)
            for name, path in files.items()
            if name in checked.relations
        }
        facts = interpreter.run(plan_program(checked).plan, inputs, self._limits)
        return [
            answer_of(checked, name, sorted(facts[name], key=in_order)[:show], len(facts[name]))
            for name in checked.outputs
        ]

    def close(self) -> None:
        """There is nothing to give back."""


def _unknown_columns(path: Path) -> Sequence[Column]:
    """As many as the first line has cells."""
    try:
        source = Source(str(path), path.read_text(encoding="utf-8-sig"))
        rows = read_rows(source, DELIMITERS[path.suffix.lower()])
    except (OSError, ValueError, KeyError):
        return [Column("c1", UNKNOWN)]  # whoever reads it says what is wrong with it
    return [Column(f"c{index + 1}", UNKNOWN) for index in range(len(rows[0]) if rows else 0)]


@lru_cache(maxsize=100)
def _facts(path: Path, _changed: int, columns: tuple[Column, ...]) -> tuple[Fact, ...]:
    return read_facts(path, columns)
