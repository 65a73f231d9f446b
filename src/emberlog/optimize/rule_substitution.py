"""The variables of literals and heads, and terms put in their places."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import assert_never

from emberlog.logical.expressions import substitute, substitute_in_condition
from emberlog.semantics.model import Absent, Bind, Compare, Contribution, HeadValue, Holds, Literal, Match, Term
from emberlog.syntax.ast import Variable, variables_of


def variable_names(literal: Literal) -> tuple[str, ...]:
    """In the order in which they occur, as often as they do."""
    match literal:
        case Match(_, terms) | Absent(_, terms):
            return tuple(term.name for term in terms if isinstance(term, Variable))
        case Bind(variable, expression):
            return (variable.name, *(one.name for one in variables_of(expression)))
        case Compare(_, left, right):
            return tuple(one.name for side in (left, right) for one in variables_of(side))
        case Holds(test):
            return tuple(one.name for one in variables_of(test))
    assert_never(literal)


def head_with(value: HeadValue, terms: Mapping[str, Term]) -> HeadValue:
    if isinstance(value, Contribution):
        return replace(value, arguments=tuple(substitute(argument, terms) for argument in value.arguments))
    return substitute(value, terms)


def literal_with(literal: Literal, terms: Mapping[str, Term]) -> Literal:
    """Returns a variable that the literal itself computes can get another name only."""
    match literal:
        case Match(_, old) | Absent(_, old):
            put = tuple(terms.get(term.name, term) if isinstance(term, Variable) else term for term in old)
            return replace(literal, terms=put)
        case Bind(variable, expression):
            computed = terms.get(variable.name, variable)
            assert isinstance(computed, Variable)
            return replace(literal, variable=computed, expression=substitute(expression, terms))
        case Compare() | Holds():
            return substitute_in_condition(literal, terms)
        case _:
            assert_never(literal)


def fresh_name(name: str, taken: Set[str]) -> str:
    """Returns the name, or one like it that is not taken."""
    fresh, number = name, 1
    while fresh in taken:
        number += 1
        fresh = f"{name}{number}"
    return fresh
