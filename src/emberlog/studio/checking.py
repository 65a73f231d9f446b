"""Tells what is known of a program while it is written: its mistakes, its relations and its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emberlog.diagnostics import Diagnostic, Severity
from emberlog.semantics.analysis import Examination, examine, parameters_of
from emberlog.semantics.model import Relation
from emberlog.studio.data import Data
from emberlog.syntax import ast


@dataclass(frozen=True, slots=True)
class Mistake:
    """Holds a diagnostic as an editor needs it: places are characters of the text."""

    severity: Severity
    code: str
    message: str
    hints: tuple[str, ...]
    start: int | None
    end: int | None
    line: int | None
    column: int | None


@dataclass(frozen=True, slots=True)
class Shown:
    """Describes a relation in the list of relations."""

    name: str
    columns: str
    """`X: int, Y: string`; empty where nothing is known yet."""
    kind: str
    """derived, input, written in the program, or stream."""
    facts: int | None
    """None where nobody has counted them."""
    is_data: bool = False
    """Whether data is registered under this name."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Holds what is known of a text."""

    text: str
    mistakes: tuple[Mistake, ...]
    relations: tuple[Shown, ...]
    parameters: tuple[str, ...]
    has_streams: bool

    @property
    def is_right(self) -> bool:
        return all(one.severity is not Severity.ERROR for one in self.mistakes)


def check(program: ast.Program, data: Data, counted: Mapping[str, int]) -> Checked:
    """Checks a program beside the data that is registered; `counted` are the facts that the last run found. Errors of
    one rule hide no relation of the others."""
    inputs = data.local._plans.input_columns(program)
    examined = examine(program, inputs=inputs, functions=data.local._functions)
    found = {one.name: one for one in _relations(examined, data, {**data.counts, **counted})}
    for name in data.files.keys() - found.keys():
        kind = "input, not read by the program" if examined.checked else "input"
        found[name] = Shown(name, data.local[name].header, kind, data.counts.get(name), True)
    text = program.source.text
    parameters = {name for one in program.statements for name in parameters_of(one)} if "$" in text else set()
    return Checked(
        text,
        tuple(map(_mistake, examined.diagnostics)),
        tuple(sorted(found.values(), key=lambda one: (one.kind != "derived", one.name))),
        tuple(sorted(parameters)),
        any(one.is_stream for one in examined.relations.values()),
    )


def _relations(examined: Examination, data: Data, counted: Mapping[str, int]) -> Iterator[Shown]:
    facts = {} if examined.checked is None else examined.checked.facts
    only_facts = {rule.relation for rule in examined.rules} - {rule.relation for rule in examined.rules if rule.body}
    for relation in examined.relations.values():
        if relation.is_written:
            name, is_data = relation.name, relation.name in data.files
            count = counted.get(name, len(facts[name]) if name in only_facts and name in facts else None)
            kind = _kind(relation, is_data=is_data, only_facts=name in only_facts)
            if name in data.headers:
                kind += "; the first line of the file has the names of its columns"
            columns = ", ".join(
                f"{one.name}: {one.type}" if one.type.is_known else one.name for one in relation.columns
            )
            yield Shown(name, columns, kind, count, is_data)


def _kind(relation: Relation, *, is_data: bool, only_facts: bool) -> str:
    if relation.is_derived:
        return "written in the program" if only_facts else "derived"
    if relation.is_stream:
        return "stream" if is_data else "stream without data"
    return "input" if is_data else "input without data"


def _mistake(one: Diagnostic) -> Mistake:
    hints = tuple(
        note.text if note.span is None else f"{note.text} (line {note.span.begin.line})" for note in one.notes
    )
    if one.span is None:
        return Mistake(one.severity, one.code, one.message, hints, None, None, None, None)
    place = one.span.begin
    return Mistake(one.severity, one.code, one.message, hints, one.span.start, one.span.end, place.line, place.column)
