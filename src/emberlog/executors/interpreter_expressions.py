"""Expressions and conditions, compiled to Python functions of a row."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, assert_never

from emberlog.diagnostics import InternalError
from emberlog.executors.interpreter_faults import Fault
from emberlog.executors.interpreter_functions import FUNCTIONS, OPERATORS, negated
from emberlog.executors.interpreter_registered import registered_scalar
from emberlog.logical.nodes import Condition
from emberlog.semantics.functions import BUILT_IN, Functions
from emberlog.semantics.model import CellValue, Compare, Fact, Holds
from emberlog.syntax.ast import (
    Binary,
    Call,
    ComparisonOperator,
    Constant,
    Expression,
    Parameter,
    Unary,
    Variable,
    Wildcard,
)

Compiled: TypeAlias = Callable[[Fact], CellValue]
Test: TypeAlias = Callable[[Fact], bool]

_COMPARISONS: dict[ComparisonOperator, Callable[[Any, Any], bool]] = {
    ComparisonOperator.EQUAL: operator.eq,
    ComparisonOperator.NOT_EQUAL: operator.ne,
    ComparisonOperator.LESS: operator.lt,
    ComparisonOperator.LESS_OR_EQUAL: operator.le,
    ComparisonOperator.GREATER: operator.gt,
    ComparisonOperator.GREATER_OR_EQUAL: operator.ge,
}


def compile_expression(expression: Expression, columns: Sequence[str], functions: Functions = BUILT_IN) -> Compiled:
    """A function that gives the expression's value for a row with these columns."""
    match expression:
        case Constant(value):
            return lambda _row: value
        case Variable(name):
            return operator.itemgetter(columns.index(name))
        case Unary(operand):
            return _applied(negated, (operand,), expression, columns, functions)
        case Binary(symbol, left, right):
            return _applied(OPERATORS[symbol], (left, right), expression, columns, functions)
        case Call(function, arguments):
            implementation = registered_scalar(functions, function) or FUNCTIONS.get(function)
            if implementation is None:
                raise InternalError(f"DL902: the interpreter has no function {function}")
            return _applied(implementation, arguments, expression, columns, functions)
        case Parameter(name):
            raise InternalError(f"DL902: the parameter ${name} has no value")
        case Wildcard():
            raise InternalError("DL902: `_` has no value")
    assert_never(expression)


def _applied(
    function: Callable[..., CellValue],
    arguments: Sequence[Expression],
    expression: Expression,
    columns: Sequence[str],
    functions: Functions,
) -> Compiled:
    """The function of the arguments; null as soon as one of them is."""
    compiled = [compile_expression(argument, columns, functions) for argument in arguments]

    def value(row: Fact) -> CellValue:
        values = [one(row) for one in compiled]
        if None in values:
            return None
        try:
            return function(*values)
        except Fault as fault:
            raise fault.at(expression, columns, row) from None

    return value


def compile_condition(condition: Condition, columns: Sequence[str], functions: Functions = BUILT_IN) -> Test:
    """A function that says whether a row with these columns satisfies the condition; null never does."""
    match condition:
        case Compare(symbol, left, right):
            first, second = (compile_expression(side, columns, functions) for side in (left, right))
            compare = _COMPARISONS[symbol]

            def compares(row: Fact) -> bool:
                one, other = first(row), second(row)
                if one is None or other is None:
                    return False
                try:
                    return compare(*as_one_type(one, other))
                except TypeError:
                    raise Fault("DL403", "these values have no order").at(left, columns, row) from None

            return compares
        case Holds(test, is_negated):
            compiled = compile_expression(test, columns, functions)
            wanted = not is_negated
            return lambda row: compiled(row) is wanted
    assert_never(condition)


def compile_conditions(
    conditions: Sequence[Condition], columns: Sequence[str], functions: Functions = BUILT_IN
) -> Test:
    """All conditions, from left to right: one that does not hold protects those behind it."""
    tests = [compile_condition(condition, columns, functions) for condition in conditions]
    return lambda row: all(test(row) for test in tests)


def as_one_type(one: CellValue, other: CellValue) -> tuple[CellValue, CellValue]:
    """An int beside a float is compared as a float."""
    if type(one) is float and type(other) is int:
        return one, float(other)
    if type(one) is int and type(other) is float:
        return float(one), other
    return one, other
