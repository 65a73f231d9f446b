"""Answers a conversation, from this process or from Spark."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from pathlib import Path

from emberlog.cli.databases import computed_once, open_database, read_answers
from emberlog.config import Limits
from emberlog.engines.spark.failures import told_as_such
from emberlog.render.answer_text import Answer
from emberlog.semantics.model import CheckedProgram
from emberlog.syntax import ast


class Engine:
    """Holds a database that always has just the files that the person has named."""

    def __init__(self, limits: Limits, *, on_spark: bool = False) -> None:
        self._limits = limits
        self._on_spark = on_spark
        self._files: dict[str, Path] = {}
        self._open = ExitStack()
        options = argparse.Namespace(engine="spark" if on_spark else "local", master=None, conf=[])
        self._database = self._open.enter_context(open_database(options, progress=True))

    @property
    def introduction(self) -> str:
        """Returns one sentence for the person who will read its answers."""
        if self._on_spark:
            return f"Answers come from Spark {self._database.spark.version}."
        return "Answers come from this process; --spark uses Spark."

    def check(self, program: ast.Program, params: Mapping[str, ast.Given], files: Mapping[str, Path]) -> CheckedProgram:
        """Returns the program, checked together with the columns of the files; raises EmberlogError."""
        self._register(files)
        return self._database.check(program, params=params).checked

    def answer(
        self, program: ast.Program, params: Mapping[str, ast.Given], files: Mapping[str, Path], show: int
    ) -> list[Answer]:
        """Returns the facts of every output of the program, the first `show` of each."""
        self._register(files)
        with (
            told_as_such() if self._on_spark else nullcontext(),
            self._database.datalog(program, params=params, limits=self._limits) as result,
            computed_once(result),
        ):
            return read_answers(result, show)

    def close(self) -> None:
        """Gives back what the engine holds."""
        self._open.close()

    def _register(self, files: Mapping[str, Path]) -> None:
        for name in self._files.keys() - files.keys():
            del self._database[name], self._files[name]
        for name, path in files.items():
            if self._files.get(name) != path:
                self._database[name] = path
                self._files[name] = path
