"""Tells the type of an expression, and whether it can have no value: an overflow, a division by zero and the like.

A rewrite may never make such an error appear or disappear. So what can fail is evaluated for the valuations that
satisfy the rest of a body, for all of them and for no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from emberlog.datatypes import BOOL, UNKNOWN, DataType
from emberlog.diagnostics import InternalError
from emberlog.language.entry import UNSET, Function
from emberlog.language.faults import Fault
from emberlog.language.numbers import NEGATE, OPERATORS
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.semantics.model import Absent, Bind, Compare, Contribution, CoreRule, Holds, Match
from emberlog.syntax.ast import Binary, Call, Constant, Expression, Parameter, Unary, Variable, Wildcard

TRY = "try?"
"""`try?(e)` is the value of `e`, or null where it has none. Plans have it, programs cannot write it."""

FAILS = "fails?"
"""`fails?(e)` tells whether `e` has no value although nothing that it reads is null."""


def operation(
    expression: Unary | Binary | Call, functions: Functions = BUILT_IN
) -> tuple[Function | None, tuple[Expression, ...]]:
    """Returns the entry of the language that an expression applies, and its arguments; None for a user's function that
    is not among these."""
    match expression:
        case Unary(operand):
            return NEGATE, (operand,)
        case Binary(operator, left, right):
            return OPERATORS[operator.value], (left, right)
        case Call(function, arguments):
            return functions.find(function), arguments
    assert_never(expression)


def type_of(expression: Expression, types: Mapping[str, DataType], functions: Functions = BUILT_IN) -> DataType:
    """Returns the type of the expression's value, given those of the variables."""
    match expression:
        case Variable(name):
            return types.get(name, UNKNOWN)
        case Constant():
            return expression.type
        case Call(name, (argument,)) if name == TRY:
            return type_of(argument, types, functions)
        case Call(name) if name == FAILS:
            return BOOL
        case Unary() | Binary() | Call():
            function, arguments = operation(expression, functions)
            if function is None:
                return UNKNOWN
            return function.result([type_of(one, types, functions) for one in arguments])
        case Parameter():
            return UNKNOWN  # a program can be planned before its parameters have values
        case Wildcard():
            raise InternalError("DL901: a plan holds `_`, which analysis should have given a name")
    assert_never(expression)


def can_fail(expression: Expression, types: Mapping[str, DataType], *, beyond_range: bool = True) -> bool:
    """Tells whether the expression has no value for some values of its variables, which are of these types. Without
    `beyond_range`, operations do not count that only fail where the result would be out of range."""
    match expression:
        case Variable() | Constant() | Wildcard() | Parameter():
            return False
        case Call(name) if name in (TRY, FAILS):
            return False
        case Unary() | Binary() | Call():
            function, arguments = operation(expression)
            if function is None or any(can_fail(one, types, beyond_range=beyond_range) for one in arguments):
                return True
            if function.leaves_range and not beyond_range:
                return False
            constants = [_constant_value(one) for one in arguments]
            if UNSET not in constants:
                return _constant_value(expression) is UNSET
            return function.fails([type_of(one, types) for one in arguments], constants)
    assert_never(expression)


def _constant_value(expression: Expression) -> object:
    """Returns the value of an expression without variables, or UNSET."""
    match expression:
        case Constant(value):
            # Before types are written out, what a date or a decimal comes to in an operation is not known.
            return value if expression.meant is None else UNSET
        case Unary() | Binary() | Call():
            function, arguments = operation(expression)
            values = [_constant_value(one) for one in arguments]
            if function is None or UNSET in values or function.is_lazy:
                return UNSET
            if None in values and not function.takes_nulls:
                return None
            try:
                return function.python(*values)
            except Fault:
                return UNSET
        case _:
            return UNSET


def hands_on_fault(expression: Expression, name: str) -> bool:
    """Tells whether the expression has no value, too, where the variable has none: whatever else it reads is a constant
    and not null, and nothing chooses between values."""
    match expression:
        case Variable():
            return expression.name == name
        case Call(function) if function in (TRY, FAILS):
            return False
        case Unary() | Binary() | Call():
            entry, arguments = operation(expression)
            others = [one for one in arguments if not hands_on_fault(one, name)]
            is_strict = entry is not None and not entry.is_lazy and not entry.takes_nulls
            are_known = all(isinstance(one, Constant) and one.value is not None for one in others)
            return is_strict and are_known and len(others) < len(arguments)
        case _:
            return False


def condition_can_fail(condition: Compare | Holds, types: Mapping[str, DataType]) -> bool:
    """Tells whether a side of the condition can have no value."""
    sides = (condition.left, condition.right) if isinstance(condition, Compare) else (condition.test,)
    return any(can_fail(side, types) for side in sides)


def literal_can_fail(literal: Match | Absent | Bind | Compare | Holds, types: Mapping[str, DataType]) -> bool:
    """Tells whether an expression of the literal can have no value."""
    match literal:
        case Bind(_, expression):
            return can_fail(expression, types)
        case Compare() | Holds():
            return condition_can_fail(literal, types)
        case Match() | Absent():
            return False
    assert_never(literal)


def rule_can_fail(rule: CoreRule, *, beyond_range: bool = True) -> bool:
    """Tells whether an expression of the rule can have no value. Without `beyond_range`, operations do not count that
    only fail where the result would be out of range."""
    expressions = [
        expression
        for value in rule.head
        for expression in (value.arguments if isinstance(value, Contribution) else (value,))
    ]
    for literal in rule.body:
        match literal:
            case Bind(_, expression):
                expressions.append(expression)
            case Compare(_, left, right):
                expressions += (left, right)
            case Holds(test):
                expressions.append(test)
            case Match() | Absent():
                pass
    return any(can_fail(one, rule.types, beyond_range=beyond_range) for one in expressions)
