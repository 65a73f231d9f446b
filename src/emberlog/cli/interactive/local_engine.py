"""Answers from this process: no Spark and no waiting for it."""

from __future__ import annotations

from collections.abc import Mapping

from emberlog.cli.answers import Answer
from emberlog.cli.interactive.engine import Engine
from emberlog.cli.local_answers import read_local_answers
from emberlog.config import Limits
from emberlog.database import Database
from emberlog.syntax import ast


class LocalEngine(Engine):
    introduction = "Answers come from this process; --spark uses Spark."

    def __init__(self, limits: Limits) -> None:
        super().__init__(Database(engine="local"), limits)

    def _answers(self, program: ast.Program, params: Mapping[str, ast.Value], show: int) -> list[Answer]:
        return read_local_answers(self._database.datalog(program, params=params, limits=self._limits), show)
