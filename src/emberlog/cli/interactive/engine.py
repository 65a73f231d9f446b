"""What answers the conversation: a database that always has just the files that the person has named."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emberlog.cli.answers import Answer
from emberlog.config import Limits
from emberlog.database import Database
from emberlog.semantics.model import CheckedProgram
from emberlog.syntax import ast


class Engine(ABC):
    def __init__(self, database: Database[Any], limits: Limits) -> None:
        self._database = database
        self._limits = limits
        self._files: dict[str, Path] = {}

    @property
    @abstractmethod
    def introduction(self) -> str:
        """One sentence for the person who will read its answers."""

    @abstractmethod
    def _answers(self, program: ast.Program, params: Mapping[str, ast.Value], show: int) -> list[Answer]:
        """What `answer` gives, once the files are registered."""

    def check(self, program: ast.Program, params: Mapping[str, ast.Value], files: Mapping[str, Path]) -> CheckedProgram:
        """The program, checked together with the columns of the files; raises EmberlogError."""
        self._register(files)
        return self._database.check(program, params=params).checked

    def answer(
        self, program: ast.Program, params: Mapping[str, ast.Value], files: Mapping[str, Path], show: int
    ) -> list[Answer]:
        """The facts of every output of the program, the first `show` of each."""
        self._register(files)
        return self._answers(program, params, show)

    def close(self) -> None:
        """Gives back what the engine holds."""
        self._database.close()

    def _register(self, files: Mapping[str, Path]) -> None:
        for name in self._files.keys() - files.keys():
            del self._database[name], self._files[name]
        for name, path in files.items():
            if self._files.get(name) != path:
                self._database[name] = path
                self._files[name] = path
