"""Tells people of run-time errors that workers met, with the place of the rule."""

from __future__ import annotations

from collections.abc import Mapping

from emberlog.diagnostics import EmberlogError, fail
from emberlog.language.faults import Fault
from emberlog.language.values import OVERFLOW
from emberlog.source import NOWHERE, Span


def overflow(rule: str) -> Fault:
    """Returns the fault of a sum that does not fit, which a kernel met."""
    return Fault("DL502", f"{OVERFLOW} in rule {rule}", "float(…) of an operand makes it a float", rule=rule)


SUSPICION = "suspicion"
"""The code of what is no error yet: a value that is looked up does not exist. Whether that fails the program, another
executor says, which joins as written."""


class Refused(Exception):
    """Says why a stratum cannot be computed in the way that was tried. Another way may do."""


class HasNulls(Refused):
    """Says that relations have nulls where the plan expected none: it is to be made anew."""

    def __init__(self, columns: Mapping[str, frozenset[int]]) -> None:
        super().__init__(f"{', '.join(f'`{name}`' for name in sorted(columns))} has nulls")
        self.columns = columns
        """By relation."""


class Suspicious(Refused):
    """Says that another executor has to compute a stratum: a value that is looked up does not exist."""


def suspicion(rule: str) -> Fault:
    return Fault(SUSPICION, f"a value that rule {rule} looks up does not exist", rule=rule)


def told(fault: Fault, places: Mapping[str, Span]) -> EmberlogError:
    """Returns the error for people. `places` say where the rules stand."""
    span = places.get(fault.rule, NOWHERE)
    return fail(fault.code, fault.message, None if span is NOWHERE else span, *fault.notes)
