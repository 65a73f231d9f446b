"""Questions about expressions and conditions: which columns they read, their type, whether they can fail."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from enum import IntEnum
from typing import assert_never

from emberlog.datatypes import BOOL, FLOAT, INT, UNKNOWN, DataType, join_types, type_of_value
from emberlog.diagnostics import InternalError
from emberlog.logical.nodes import Condition
from emberlog.semantics.functions import CAN_FAULT, SCALAR_FUNCTIONS
from emberlog.semantics.model import Compare, Holds
from emberlog.syntax.ast import (
    Binary,
    BinaryOperator,
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
    """The names of the columns that the expression reads."""
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
    """The expression with columns replaced; the same object when none of them occurs in it."""
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
    """The condition with columns replaced; the same object when none of them occurs in it."""
    match condition:
        case Compare(operator, left, right, span):
            first, second = substitute(left, replacements), substitute(right, replacements)
            return condition if first is left and second is right else Compare(operator, first, second, span)
        case Holds(test, negated, span):
            replaced = substitute(test, replacements)
            return condition if replaced is test else Holds(replaced, negated, span)
    assert_never(condition)


def type_of(expression: Expression, types: Mapping[str, DataType]) -> DataType:
    """The type of the expression's value, given those of the columns."""
    match expression:
        case Variable(name):
            return types.get(name, UNKNOWN)
        case Constant(value):
            return type_of_value(value)
        case Unary(operand):
            return type_of(operand, types)
        case Binary(BinaryOperator.DIVIDE):
            return FLOAT
        case Binary(BinaryOperator.INTEGER_DIVIDE):
            return INT
        case Binary(_, left, right):
            return join_types(type_of(left, types), type_of(right, types)) or UNKNOWN
        case Call(function, arguments):
            known = SCALAR_FUNCTIONS.get(function)
            return known.result([type_of(argument, types) for argument in arguments]) if known else UNKNOWN
        case Parameter():
            return UNKNOWN  # a program can be planned before its parameters have values
        case Wildcard():
            raise InternalError("DL901: a plan holds `_`, which analysis should have given a name")
    assert_never(expression)


class Risk(IntEnum):
    """How an expression can end in a run-time error. A rewrite may never make an error appear: an expression with
    any risk is not evaluated for more rows than the program says. It may hide an overflow of a value that
    nobody needs, but never a fault, which people expect to hear of."""

    NONE = 0
    OVERFLOW = 1
    """Only by leaving the range of numbers."""
    FAULT = 2
    """Division by zero, text that is no number, the root of a negative number and the like."""


_RISKS_OF_FUNCTIONS = dict.fromkeys(("abs", "floor", "ceil", "round"), Risk.OVERFLOW) | dict.fromkeys(
    CAN_FAULT, Risk.FAULT
)
"""Every other function of the language is total; a function that is not the language's own can do anything."""


def risk_of(expression: Expression, types: Mapping[str, DataType]) -> Risk:
    match expression:
        case Variable() | Constant() | Wildcard() | Parameter():
            return Risk.NONE
        case Unary(operand):
            return max(Risk.OVERFLOW, risk_of(operand, types))
        case Binary(operator, left, right):
            return max(_operator_risk(operator, right), risk_of(left, types), risk_of(right, types))
        case Call(function, arguments):
            inner = max((risk_of(argument, types) for argument in arguments), default=Risk.NONE)
            return max(inner, _function_risk(function, arguments, types))
    assert_never(expression)


def condition_risk(condition: Condition, types: Mapping[str, DataType]) -> Risk:
    return max(risk_of(expression, types) for expression in condition_expressions(condition))


def _operator_risk(operator: BinaryOperator, divisor: Expression) -> Risk:
    match operator:
        case BinaryOperator.ADD | BinaryOperator.SUBTRACT | BinaryOperator.MULTIPLY:
            return Risk.OVERFLOW
        case BinaryOperator.DIVIDE | BinaryOperator.INTEGER_DIVIDE | BinaryOperator.MODULO:
            is_safe = isinstance(divisor, Constant) and divisor.value != 0
            return Risk.OVERFLOW if is_safe else Risk.FAULT
    assert_never(operator)


def _function_risk(function: str, arguments: tuple[Expression, ...], types: Mapping[str, DataType]) -> Risk:
    if function not in SCALAR_FUNCTIONS:
        return Risk.FAULT
    if function == "matches":
        return Risk.NONE if _is_pattern(arguments[1]) else Risk.FAULT
    if function in ("int", "float"):
        argument = type_of(arguments[0], types)
        if argument in (INT, BOOL) or (argument == FLOAT and function == "float"):
            return Risk.NONE
        return Risk.OVERFLOW if argument == FLOAT else Risk.FAULT
    return _RISKS_OF_FUNCTIONS.get(function, Risk.NONE)


def _is_pattern(expression: Expression) -> bool:
    if not isinstance(expression, Constant) or not isinstance(expression.value, str):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about patterns that Python may read differently one day
            re.compile(expression.value)
    except (re.error, RecursionError, OverflowError):  # the last two from deep nesting and huge repetitions
        return False
    return True
