"""A program in every language that the engines speak: one folder of texts, described by its program.toml."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).parent / "programs"

ColumnKind = Literal["int", "float", "name"]
"""What a column of the answer holds. A `name` is one letter and a number, so that every engine can sum it up."""


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    title: str
    origin: str
    output: str
    columns: tuple[ColumnKind, ...]
    inputs: Mapping[str, str]
    """The program's input relations, and which relation of the data set each of them is."""
    parameters: tuple[str, ...]
    stream: bool
    cannot: Mapping[str, str]
    """Engines that cannot run it, and why."""
    only: Mapping[str, tuple[tuple[str, ...], str]]
    """Engines that can run it on some data sets only (patterns of names), and why."""

    def text(self, file: str) -> str | None:
        path = FOLDER / self.name / file
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def refusal(self, engine: str, dataset: str) -> str | None:
        """Why this engine does not run this program on this data, or None if it does."""
        if engine in self.cannot:
            return self.cannot[engine]
        if engine in self.only:
            patterns, reason = self.only[engine]
            if not any(fnmatch.fnmatch(dataset, pattern) for pattern in patterns):
                return reason
        return None


@cache
def load(name: str) -> Program:
    with (FOLDER / name / "program.toml").open("rb") as file:
        content = tomllib.load(file)
    return Program(
        name,
        title=content["title"],
        origin=content["origin"],
        output=content["output"],
        columns=tuple(content["columns"]),
        inputs=content["inputs"],
        parameters=tuple(content.get("parameters", ())),
        stream=content.get("stream", False),
        cannot=content.get("cannot", {}),
        only={engine: (tuple(limits["data"]), limits["reason"]) for engine, limits in content.get("only", {}).items()},
    )


def names() -> tuple[str, ...]:
    return tuple(sorted(path.name for path in FOLDER.iterdir() if (path / "program.toml").is_file()))


def with_parameters(text: str, parameters: Mapping[str, int]) -> str:
    """Writes the values into a text of a language that has no parameters of its own."""
    for name, value in parameters.items():
        text = text.replace(f"${name}", str(value))
    return text
