"""Answers from Spark, for data that is too large for plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from emberlog.cli.answers import Answer
from emberlog.cli.reading import computed_once, read_answers
from emberlog.cli.spark_failures import told_as_such
from emberlog.cli.terminal import silence_py4j
from emberlog.config import Limits
from emberlog.database import Database
from emberlog.semantics.model import CheckedProgram
from emberlog.syntax import ast


class SparkEngine:
    def __init__(self, limits: Limits) -> None:
        silence_py4j()
        self._limits = limits
        self._database = Database()
        self._files: dict[str, Path] = {}

    @property
    def introduction(self) -> str:
        return f"Answers come from Spark {self._database.spark.version}."

    def check(self, program: ast.Program, params: Mapping[str, ast.Value], files: Mapping[str, Path]) -> CheckedProgram:
        self._register(files)
        return self._database.check(program, params=params).checked

    def answer(
        self, program: ast.Program, params: Mapping[str, ast.Value], files: Mapping[str, Path], show: int
    ) -> list[Answer]:
        self._register(files)
        with (
            told_as_such(),
            self._database.datalog(program, params=params, limits=self._limits) as result,
            computed_once(result),
        ):
            return read_answers(result, show)

    def close(self) -> None:
        self._database.close()

    def _register(self, files: Mapping[str, Path]) -> None:
        """Exactly these files are the database's relations."""
        for name in self._files.keys() - files.keys():
            del self._database[name], self._files[name]
        for name, path in files.items():
            if self._files.get(name) != path:
                self._database[name] = path
                self._files[name] = path
