"""Defines the run-time error of a program: an operation that has no value for its operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emberlog.source import Span


class Fault(Exception):
    """Says that an operation has no value. Whoever evaluates the rule adds the place and the values.

    A fault crosses processes, some of which know nothing of Emberlog: so it holds plain text, and of the place it keeps
    the name of the rule.
    """

    def __init__(self, code: str, message: str, *notes: str, rule: str = "", span: Span | None = None) -> None:
        super().__init__(code, message, notes, rule)
        self.code = code
        self.message = message
        self.notes = notes
        self.rule = rule
        self.span = span

    def at(self, span: Span, values: str) -> Fault:
        """Returns the fault with the place of the innermost expression that met it and the values it met."""
        if self.span is not None:
            return self
        notes = (values, *self.notes) if values else self.notes
        return Fault(self.code, self.message, *notes, rule=self.rule, span=span)
