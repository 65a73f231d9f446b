"""Answers from Spark, for data that is too large for one process."""

from __future__ import annotations

from collections.abc import Mapping

from emberlog.cli.answers import Answer
from emberlog.cli.interactive.engine import Engine
from emberlog.cli.reading import computed_once, read_answers
from emberlog.cli.spark_failures import told_as_such
from emberlog.cli.terminal import silence_py4j
from emberlog.config import Limits
from emberlog.database import Database
from emberlog.syntax import ast


class SparkEngine(Engine):
    def __init__(self, limits: Limits) -> None:
        silence_py4j()
        super().__init__(Database(), limits)

    @property
    def introduction(self) -> str:
        return f"Answers come from Spark {self._database.spark.version}."

    def _answers(self, program: ast.Program, params: Mapping[str, ast.Value], show: int) -> list[Answer]:
        with (
            told_as_such(),
            self._database.datalog(program, params=params, limits=self._limits) as result,
            computed_once(result),
        ):
            return read_answers(result, show)
