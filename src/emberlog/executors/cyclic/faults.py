"""Run-time errors of a program: raised by workers, told to people with the place of the rule."""

from __future__ import annotations

from collections.abc import Mapping

from emberlog.diagnostics import EmberlogError, fail
from emberlog.source import NOWHERE, Span


class Fault(Exception):
    """An error of the program at run time. It crosses processes as plain text."""

    def __init__(self, code: str, message: str, rule: str = "", notes: tuple[str, ...] = ()) -> None:
        super().__init__(code, message, rule, notes)
        self.code = code
        self.message = message
        self.rule = rule
        self.notes = notes


def overflow(rule: str) -> Fault:
    hint = "float(…) of an operand makes it a float"
    return Fault("DL502", f"the result does not fit in a 64-bit int in rule {rule}", rule, (hint,))


def told(fault: Fault, places: Mapping[str, Span]) -> EmberlogError:
    """The error for people. `places` say where the rules stand."""
    span = places.get(fault.rule, NOWHERE)
    return fail(fault.code, fault.message, None if span is NOWHERE else span, *fault.notes)
