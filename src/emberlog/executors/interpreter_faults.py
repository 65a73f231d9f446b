"""Run-time errors of the interpreter: what went wrong, at which expression, with which values, in which rule."""

from __future__ import annotations

from collections.abc import Sequence

from emberlog.diagnostics import EmberlogError, fail
from emberlog.semantics.model import CellValue, Fact
from emberlog.source import NOWHERE
from emberlog.syntax.ast import Expression, variables_of


class Fault(Exception):
    """A value that does not exist. The operator that evaluates the rule turns it into an error for people."""

    def __init__(self, code: str, message: str, *notes: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.notes = notes
        self.expression: Expression | None = None

    def at(self, expression: Expression, columns: Sequence[str], row: Fact) -> Fault:
        """The same fault, placed at the innermost expression that meets it."""
        if self.expression is None:
            self.expression = expression
            cells = dict(zip(columns, row, strict=True))
            names = dict.fromkeys(variable.name for variable in variables_of(expression))
            values = [f"{name} = {value_text(cells[name])}" for name in names]
            if values:
                self.notes = (f"here {' and '.join(values)}", *self.notes)
        return self

    def in_rule(self, rule: str) -> EmberlogError:
        return self._error(f"{self.message} in rule {rule}")

    def in_relation(self, relation: str, rules: Sequence[str]) -> EmberlogError:
        """For an aggregate, to which several rules contribute."""
        of_rules = f", rule {', '.join(rules)}" if rules else ""
        return self._error(f"{self.message}: `{relation}`{of_rules}")

    def _error(self, message: str) -> EmberlogError:
        span = self.expression.span if self.expression is not None else NOWHERE
        return fail(self.code, message, None if span is NOWHERE else span, *self.notes)


_LONGEST = 60
"""Characters of a value in a message."""


def value_text(value: CellValue) -> str:
    """A value as it is written in a program; the beginning of a long one."""
    text = _written(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _written(value: CellValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
        case tuple():
            return f"({', '.join(map(_written, value))})"
        case _:
            return repr(value)
