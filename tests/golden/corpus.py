"""The golden corpus: what a case is made of, and how the cases are found.

A case is a folder `<area>/<case>/` here, or one of the examples, with
  program.dl            the program
  facts/<relation>.csv  its inputs (.tsv and .facts too); none if there is no such folder
  options.json          {"params": {…}, "iterations": 20, "limits": {"max_rows": 100}}, all optional
  questions.txt         questions about its facts, with the proofs that answer them
and one kind of expectation:
  expected/<relation>.csv   the sorted facts of every output
  expected.err              the exact errors, for a program that must fail
  expected.check            the warnings; alone it marks a stream program, which is checked and explained, not run
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from emberlog.config import Limits
from emberlog.datatypes import UNKNOWN
from emberlog.diagnostics import EmberlogError, render
from emberlog.dialects import parse_tolerantly
from emberlog.io.facts import infer_columns, read_facts
from emberlog.logical.nodes import LogicalPlan
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram, Column, Fact, Relation
from emberlog.source import Source
from emberlog.syntax.ast import Value

GOLDEN = Path(__file__).parent
EXAMPLES = GOLDEN.parents[1] / "examples"


@dataclass(frozen=True, slots=True)
class PreparedCase:
    """A case whose program is checked and whose inputs are read."""

    checked: CheckedProgram
    inputs: Mapping[str, tuple[Fact, ...]]
    limits: Limits

    @property
    def is_stream(self) -> bool:
        return any(relation.is_stream for relation in self.checked.relations.values())


@dataclass(frozen=True, slots=True)
class GoldenCase:
    folder: Path

    @property
    def name(self) -> str:
        """`area/case`; the area of examples is `examples`, or `papers`."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def source(self) -> Source:
        return Source("program.dl", (self.folder / "program.dl").read_text(encoding="utf-8"))

    @property
    def fact_files(self) -> dict[str, Path]:
        """Relation → file."""
        return {path.stem: path for path in sorted((self.folder / "facts").glob("*"))}

    @property
    def expected_answers(self) -> dict[str, Path]:
        """Relation → file."""
        return {path.stem: path for path in sorted((self.folder / "expected").glob("*.csv"))}

    @property
    def expected_error(self) -> str | None:
        return self._text("expected.err")

    @property
    def expected_check(self) -> str:
        return self._text("expected.check") or ""

    @property
    def is_checked_only(self) -> bool:
        """A stream program: nothing is expected of running it."""
        return not self.expected_answers and (self.folder / "expected.check").exists()

    @property
    def fails_while_running(self) -> bool:
        """Its program is fine, and what fails is an operation or a limit."""
        return "error[DL5" in (self.expected_error or "")

    def prepare(self) -> PreparedCase:
        """Parses and checks the program and reads its inputs, once; raises EmberlogError as a user would see it."""
        return _prepared(self)

    def planned(self) -> LogicalPlan:
        """Returns the plan of the program, which is made once."""
        return _planned(self)

    def _read(self) -> PreparedCase:
        options = json.loads(self._text("options.json") or "{}")
        params: dict[str, Value] | None = options.get("params")
        iterations: int | None = options.get("iterations")
        program = parse_tolerantly(self.source)
        checked = analyze(program, params=params, iterations=iterations)
        files = {name: path for name, path in self.fact_files.items() if name in checked.relations}
        if files:
            known = {name: _known_columns(checked.relations[name]) for name in files}
            columns = {name: infer_columns(path, known[name]) for name, path in files.items()}
            checked = analyze(program, params=params, inputs=columns, iterations=iterations)
        relations = [checked.relations[name] for name in checked.inputs]
        inputs = {
            one.name: read_facts(files[one.data_name], one.columns) for one in relations if one.data_name in files
        }
        empty = {one.name: () for one in relations if one.is_declared and one.data_name not in files}
        unused = {name: () for name in self.fact_files if name not in files}
        return PreparedCase(checked, {**inputs, **empty, **unused}, Limits(**options.get("limits", {})))

    def rendered(self, error: EmberlogError) -> str:
        """The diagnostics with the paths of files as seen from the case's folder."""
        return f"{render(error.diagnostics)}\n".replace(f"{self.folder}/", "")

    def _text(self, name: str) -> str | None:
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.exists() else None


@cache
def _prepared(case: GoldenCase) -> PreparedCase:
    return case._read()


@cache
def _planned(case: GoldenCase) -> LogicalPlan:
    return plan_program(case.prepare().checked).plan


def _known_columns(relation: Relation) -> tuple[Column, ...]:
    """The declared columns. Without a declaration the file says what the types are, and the analysis what it thinks
    of them."""
    if relation.is_declared:
        return relation.columns
    return tuple(Column(column.name, UNKNOWN) for column in relation.columns)


def warnings_text(checked: CheckedProgram) -> str:
    return f"{render(checked.warnings)}\n" if checked.warnings else ""


@cache
def all_cases() -> tuple[GoldenCase, ...]:
    programs = [
        *GOLDEN.glob("*/*/program.dl"),
        *EXAMPLES.glob("*/program.dl"),
        *EXAMPLES.glob("papers/*/program.dl"),
    ]
    return tuple(sorted((GoldenCase(path.parent) for path in programs), key=lambda case: case.name))
