"""Steps of rules as a person would write them."""

from __future__ import annotations

from typing import assert_never

from emberlog.logical.nodes import Version
from emberlog.logical.rule_text import literal_text
from emberlog.syntax.printer import print_expression
from emberlog.workers.plan.rules import Assign, Atom, Bound, Intersect, Keep, Probe, Refute, Send, Start, Step


def step_text(step: Step) -> str:
    match step:
        case Start(atom) | Probe(atom):
            return _atom(atom)
        case Intersect(variable, atoms, lows, highs):
            limits = [_bound(">", one) for one in lows] + [_bound("<", one) for one in highs]
            return f"{' ∩ '.join(map(_atom, atoms))} for {variable}{''.join(f' {limit}' for limit in limits)}"
        case Refute(relation, _, variables, guards):
            conditions = "".join(f", {literal_text(guard)}" for guard in guards)
            return f"!{relation}({', '.join(variables)}{conditions})"
        case Assign(variable, expression):
            return f"{variable} = {print_expression(expression)}"
        case Keep(condition):
            return literal_text(condition)
        case Send(variable, to_all):
            return "to every worker" if to_all else f"to the worker of {variable}"
    assert_never(step)


def _atom(atom: Atom) -> str:
    delta = "Δ" if atom.version is Version.DELTA else ""
    return f"{'∃ ' if atom.asks else ''}{delta}{atom.relation}({', '.join(atom.variables)})"


def _bound(sign: str, bound: Bound) -> str:
    return f"{sign if bound.is_excluded else f'{sign}='} {print_expression(bound.value)}"
