"""Keeps what a person has entered interactively: rules, facts and files, entry by entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from emberlog.semantics.analysis import parameters_of
from emberlog.source import Source
from emberlog.syntax import ast


@dataclass(frozen=True, slots=True)
class Entry:
    """Holds what one input, or one file, added."""

    statements: tuple[ast.Statement, ...] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    """Relation → its facts."""

    @property
    def relations(self) -> tuple[str, ...]:
        """Lists the relations that it says something about."""
        names = [name for statement in self.statements for name in _relations_of(statement)]
        return tuple(dict.fromkeys((*names, *self.files)))


@dataclass(slots=True)
class Workbook:
    params: dict[str, ast.Given]
    entries: list[Entry] = field(default_factory=list)

    @property
    def statements(self) -> tuple[ast.Statement, ...]:
        return tuple(statement for entry in self.entries for statement in entry.statements)

    @property
    def files(self) -> dict[str, Path]:
        """Returns the file of each relation; the one that came last counts."""
        return {name: path for entry in self.entries for name, path in entry.files.items()}

    @property
    def relations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for entry in self.entries for name in entry.relations))

    def program(self, more: Iterable[ast.Statement] = ()) -> ast.Program:
        """Returns everything entered, and more behind it, as a program."""
        return ast.Program(Source("<repl>", ""), (*self.statements, *more))

    def params_of(self, program: ast.Program) -> dict[str, ast.Given]:
        """Returns the values that this program uses; a value that waits for its parameter is no mistake here."""
        used = {name for statement in program.statements for name in parameters_of(statement)}
        return {name: value for name, value in self.params.items() if name in used}

    def rules_and_facts(self, relation: str) -> tuple[int, int]:
        """Counts the rules and the facts that the program has for the relation, without facts in files."""
        rules = [one for one in self.statements if isinstance(one, ast.Rule)]
        are_rules = [one.body is not None for one in rules for head in one.heads if head.predicate == relation]
        return sum(are_rules), len(are_rules) - sum(are_rules)


def _relations_of(statement: ast.Statement) -> tuple[str, ...]:
    match statement:
        case ast.Rule():
            return tuple(head.predicate for head in statement.heads)
        case ast.Declaration():
            return (statement.predicate,)
        case ast.Query() | ast.Subsumption() | ast.TypeDeclaration() | ast.ProgramOption():
            return ()
