"""What an engine of the conversation does: it checks programs and answers queries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from emberlog.cli.answers import Answer
from emberlog.semantics.model import CheckedProgram
from emberlog.syntax import ast


class Engine(Protocol):
    @property
    def introduction(self) -> str:
        """One sentence for the person who will read its answers."""
        ...

    def check(self, program: ast.Program, params: Mapping[str, ast.Value], files: Mapping[str, Path]) -> CheckedProgram:
        """The program, checked together with the columns of the files; raises EmberlogError."""
        ...

    def answer(
        self, program: ast.Program, params: Mapping[str, ast.Value], files: Mapping[str, Path], show: int
    ) -> list[Answer]:
        """The facts of every output of the program, the first `show` of each."""
        ...

    def close(self) -> None:
        """Gives back what the engine holds."""
        ...
