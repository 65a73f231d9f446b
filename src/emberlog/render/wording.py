"""Puts goals, steps and premises in words, the same in every form of a proof."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import assert_never

from emberlog.datatypes import UNKNOWN
from emberlog.diagnostics import Diagnostics
from emberlog.language.spellings import Meant
from emberlog.logical.expressions import substitute, substitute_in_condition
from emberlog.logical.rule_text import cell_text, literal_text
from emberlog.semantics.expression_types import ExpressionTyper
from emberlog.semantics.model import (
    Bind,
    CellValue,
    CheckedProgram,
    Compare,
    Contribution,
    Fact,
    Holds,
    Recursion,
    RecursionCase,
)
from emberlog.syntax.ast import Constant, Expression
from emberlog.syntax.printer import print_expression

_GENERATED = re.compile(r"_\d*")

START = "start"


class Meaning:
    """Knows what the values of a program stand for."""

    def __init__(self, checked: CheckedProgram) -> None:
        # The clock of a stream may be a plain count, and a proof of one says moments in its own way.
        self._is_needed = not checked.has_streams
        self._columns = {name: tuple(one.type for one in it.columns) for name, it in checked.relations.items()}
        self._rules = {rule.name: rule for rule in checked.rules}
        self._functions = checked.functions

    def fact(self, relation: str, values: Fact) -> Fact:
        types = self._columns.get(relation, ())
        return tuple(map(Meant.of, values, types)) if self._is_needed and len(types) == len(values) else values

    def bound(self, rule: str, bindings: Iterable[tuple[str, CellValue]]) -> tuple[tuple[str, CellValue], ...]:
        types = self._rules[rule].types if self._is_needed else {}
        return tuple((name, Meant.of(value, types.get(name, UNKNOWN))) for name, value in bindings)

    def contributed(self, rule: str, column: int, arguments: Fact) -> Fact:
        """Returns what a rule gives to the aggregate of a column."""
        value = self._rules[rule].head[column]
        if not self._is_needed or not isinstance(value, Contribution) or len(value.arguments) != len(arguments):
            return arguments
        typer = ExpressionTyper(self._rules[rule].types, self._functions, Diagnostics())
        return tuple(map(Meant.of, arguments, map(typer.type_of, value.arguments)))


def fact_text(relation: str, values: Iterable[CellValue]) -> str:
    return f"{relation}({', '.join(cell_text(value) for value in values)})"


def pattern_text(relation: str, pattern: Iterable[CellValue]) -> str:
    """Returns a fact with `_` for None, which is any value."""
    return f"{relation}({', '.join('_' if value is None else cell_text(value) for value in pattern)})"


def when_text(iteration: int | None, recursion: Recursion | None) -> str:
    if recursion is None or iteration is None:
        return ""
    match recursion.case:
        case RecursionCase.STAGED:
            return f"stage {iteration:,}"
        case RecursionCase.BOUNDED:
            return f"round {iteration:,}"
        case _:
            return f"iteration {iteration:,}" if iteration else START


def condition_text(literal: Bind | Compare | Holds, bindings: Mapping[str, CellValue]) -> str:
    """Returns the literal with values in the place of variables."""
    match literal:
        case Bind(variable, expression):
            value = cell_text(bindings[variable.name]) if variable.name in bindings else variable.name
            return f"{value} = {_filled(expression, bindings)}"
        case Compare() | Holds():
            return literal_text(substitute_in_condition(literal, _constants(bindings)))
    assert_never(literal)


def holding_text(literal: Bind | Compare | Holds, bindings: Mapping[str, CellValue]) -> str:
    """Returns the same of a literal that holds; an assignment keeps the name of its variable."""
    if not isinstance(literal, Bind):
        return condition_text(literal, bindings)
    value, computed = cell_text(bindings[literal.variable.name]), _filled(literal.expression, bindings)
    return f"{literal.variable.name} = {value if computed == value else f'{computed} = {value}'}"


def _filled(expression: Expression, bindings: Mapping[str, CellValue]) -> str:
    return print_expression(substitute(expression, _constants(bindings)))


def _constants(bindings: Mapping[str, CellValue]) -> dict[str, Expression]:
    return {
        name: Constant(int(value), meant=value.type) if isinstance(value, Meant) else Constant(value)
        for name, value in bindings.items()
        if isinstance(value, bool | int | float | str)
    }


def named(bindings: Iterable[tuple[str, CellValue]]) -> tuple[tuple[str, CellValue], ...]:
    """Selects the variables that a person named."""
    return tuple((name, value) for name, value in bindings if not _GENERATED.fullmatch(name))


def bindings_text(bindings: Iterable[tuple[str, CellValue]]) -> str:
    return ", ".join(f"{name} = {cell_text(value)}" for name, value in bindings)
