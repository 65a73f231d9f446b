"""Core rules, literals and values as a person would write them."""

from __future__ import annotations

import re
from typing import assert_never

from emberlog.language.registry import AGGREGATES
from emberlog.language.spellings import Meant, MeantText, literal
from emberlog.semantics.model import (
    Absent,
    Bind,
    CellValue,
    CheckedProgram,
    CheckedQuery,
    Compare,
    Contribution,
    CoreRule,
    HeadValue,
    Holds,
    Literal,
    Match,
)
from emberlog.syntax.ast import Expression, Variable
from emberlog.syntax.printer import print_expression, print_value, print_window

_GENERATED = re.compile(r"_\d+")


def atom_text(relation: str, terms: tuple[Expression, ...]) -> str:
    return f"{relation}({', '.join(print_expression(term) for term in terms)})"


def head_text(relation: str, head: tuple[HeadValue, ...]) -> str:
    return f"{relation}({', '.join(head_value_text(value) for value in head)})"


def head_value_text(value: HeadValue) -> str:
    if isinstance(value, Contribution):
        return aggregate_text(value.function, tuple(print_expression(argument) for argument in value.arguments))
    return print_expression(value)


def aggregate_text(function: str, arguments: tuple[str, ...]) -> str:
    """`min<D>`, `count<_>`, `msum<(K, V)>`."""
    listed = ", ".join(arguments) or "_"
    if len(arguments) > 1 and function in AGGREGATES and AGGREGATES[function].by_key:
        listed = f"({listed})"
    return f"{function}<{listed}>"


def literal_text(literal: Literal) -> str:
    match literal:
        case Match(relation, terms):
            return atom_text(relation, terms)
        case Absent(relation, terms):
            return f"!{atom_text(relation, terms)}"
        case Bind(variable, expression):
            return f"{variable.name} = {print_expression(expression)}"
        case Compare(operator, left, right):
            return f"{print_expression(left)} {operator.value} {print_expression(right)}"
        case Holds(test, negated):
            return f"{'!' if negated else ''}{print_expression(test)}"
        case _:
            assert_never(literal)


def rule_text(rule: CoreRule) -> str:
    """With its name, so that a rule can be followed through what is done to it."""
    head = head_text(rule.relation, rule.head)
    body = ", ".join(literal_text(literal) for literal in rule.body)
    return f"{rule.name}: {head} :- {body}." if body else f"{rule.name}: {head}."


def program_lines(checked: CheckedProgram) -> tuple[str, ...]:
    """Returns the facts and rules of a program, relation by relation, then its queries."""
    facts = [
        f"{name}({', '.join(cell_text(cell) for cell in row)})." for name, rows in checked.facts.items() for row in rows
    ]
    rules = [rule_text(rule) for stratum in checked.strata for rule in stratum.rules]
    return (*facts, *rules, *(query_text(query) for query in checked.queries))


def query_text(query: CheckedQuery) -> str:
    """Returns the query as it was written: analysis gives each `_` a name of its own."""
    terms: tuple[Expression, ...] = tuple(
        Variable("_") if isinstance(term, Variable) and _GENERATED.fullmatch(term.name) else term
        for term in query.terms
    )
    atom = atom_text(query.relation, terms)
    return f"query {atom}, {print_window(query.window)}." if query.window else f"{atom}?"


def cell_text(value: CellValue) -> str:
    """Returns a value as a program writes it."""
    if value is None:
        return "null"
    if isinstance(value, tuple):
        return f"({', '.join(cell_text(part) for part in value)})"
    if isinstance(value, MeantText):
        return str(value)
    return literal(value, value.type) if isinstance(value, Meant) else print_value(value)
