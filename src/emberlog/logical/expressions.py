"""Answers questions about expressions and conditions: which columns they read, and what they are with others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from emberlog.logical.nodes import Condition
from emberlog.semantics.model import Compare, Holds
from emberlog.syntax.ast import (
    Binary,
    Call,
    Constant,
    Expression,
    Parameter,
    Unary,
    Variable,
    Wildcard,
    variables_of,
)


def columns_of(expression: Expression) -> frozenset[str]:
    """Returns the names of the columns that the expression reads."""
    return frozenset(variable.name for variable in variables_of(expression))


def condition_expressions(condition: Condition) -> tuple[Expression, ...]:
    match condition:
        case Compare(_, left, right):
            return (left, right)
        case Holds(test):
            return (test,)
    assert_never(condition)


def condition_columns(condition: Condition) -> frozenset[str]:
    return frozenset(name for expression in condition_expressions(condition) for name in columns_of(expression))


def substitute(expression: Expression, replacements: Mapping[str, Expression]) -> Expression:
    """Returns the expression with columns replaced; the same object when none of them occurs in it."""
    match expression:
        case Variable(name):
            return replacements.get(name, expression)
        case Constant() | Wildcard() | Parameter():
            return expression
        case Unary(operand, span):
            inner = substitute(operand, replacements)
            return expression if inner is operand else Unary(inner, span)
        case Binary(operator, left, right, span):
            first, second = substitute(left, replacements), substitute(right, replacements)
            return expression if first is left and second is right else Binary(operator, first, second, span)
        case Call(function, arguments, span):
            replaced = tuple(substitute(argument, replacements) for argument in arguments)
            if all(new is old for new, old in zip(replaced, arguments, strict=True)):
                return expression
            return Call(function, replaced, span)
    assert_never(expression)


def substitute_in_condition(condition: Condition, replacements: Mapping[str, Expression]) -> Condition:
    """Returns the condition with columns replaced; the same object when none of them occurs in it."""
    match condition:
        case Compare(operator, left, right, span):
            first, second = substitute(left, replacements), substitute(right, replacements)
            return condition if first is left and second is right else Compare(operator, first, second, span)
        case Holds(test, negated, span):
            replaced = substitute(test, replacements)
            return condition if replaced is test else Holds(replaced, negated, span)
    assert_never(condition)
