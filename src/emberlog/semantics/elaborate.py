"""Writes out what only types tell, so that every backend computes with plain ints.

A date that stands beside a timestamp becomes one, a moment and a duration are put together by `later!`, and `string` of
a date names the type that it spells. What is of numbers and text only stays the same object.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from emberlog.datatypes import DATE, DURATION, INT, TIMESTAMP, DataType
from emberlog.language.choices import TESTS
from emberlog.language.moments import EARLIER, LATER, MIDNIGHT, MOMENT, TEXT, WHOLE_DAY
from emberlog.semantics.expression_types import ExpressionTyper
from emberlog.semantics.model import Compare
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
)


def elaborated(expression: Expression, typer: ExpressionTyper) -> Expression:
    """Returns the expression with what its types mean written out."""
    match expression:
        case Variable() | Constant() | Parameter() | Wildcard():
            return expression
        case Unary(operand):
            inner = elaborated(operand, typer)
            return expression if inner is operand else replace(expression, operand=inner)
        case Binary():
            return _binary(expression, typer)
        case Call():
            return _call(expression, typer)
    assert_never(expression)


def elaborated_comparison(comparison: Compare, typer: ExpressionTyper) -> Compare:
    """Returns the comparison; a date beside a timestamp is its midnight."""
    types = typer.type_of(comparison.left), typer.type_of(comparison.right)
    left, right = elaborated(comparison.left, typer), elaborated(comparison.right, typer)
    if set(types) == {DATE, TIMESTAMP}:
        left, right = _moment(left, types[0]), _moment(right, types[1])
    if left is comparison.left and right is comparison.right:
        return comparison
    return replace(comparison, left=left, right=right)


def _binary(binary: Binary, typer: ExpressionTyper) -> Expression:
    types = typer.type_of(binary.left), typer.type_of(binary.right)
    left, right = elaborated(binary.left, typer), elaborated(binary.right, typer)
    is_same = left is binary.left and right is binary.right
    same = binary if is_same else Binary(binary.operator, left, right, binary.span)
    match binary.operator, types:
        case ((BinaryOperator.ADD | BinaryOperator.SUBTRACT), (first, second)) if first in (DATE, TIMESTAMP):
            if second == DURATION:
                return _later(left, first, right, binary)
            if second in (DATE, TIMESTAMP):
                return Binary(binary.operator, _moment(left, first), _moment(right, second), binary.span)
        case BinaryOperator.ADD, (first, second) if first == DURATION and second in (DATE, TIMESTAMP):
            return _later(right, second, left, binary)
        case BinaryOperator.DIVIDE, (first, second) if (first, second) == (DURATION, INT):
            return Binary(BinaryOperator.INTEGER_DIVIDE, left, right, binary.span)
        case _:
            pass
    return same


def _later(moment: Expression, type_: DataType, duration: Expression, binary: Binary) -> Expression:
    function = EARLIER if binary.operator is BinaryOperator.SUBTRACT else LATER
    later = Call(function.name, (_moment(moment, type_), duration), binary.span)
    return Call(WHOLE_DAY.name, (later,), binary.span) if type_ == DATE else later


def _moment(expression: Expression, type_: DataType) -> Expression:
    return Call(MIDNIGHT.name, (expression,), expression.span) if type_ == DATE else expression


def _call(call: Call, typer: ExpressionTyper) -> Expression:
    types = [typer.type_of(argument) for argument in call.arguments]
    arguments = tuple(elaborated(argument, typer) for argument in call.arguments)
    function = typer.functions.find(call.function)
    if function is None or not types:
        return call
    if function in TESTS and {DATE, TIMESTAMP} <= set(types):
        arguments = tuple(_moment(one, type_) for one, type_ in zip(arguments, types, strict=True))
    match call.function, types[0]:
        case (("string" | "to_string"), type_) if type_.is_told_by_type:
            return Call(TEXT.name, (arguments[0], Constant(str(type_))), call.span)
        case "date", type_ if type_ == DATE:
            return arguments[0]
        case "timestamp", type_ if type_ in (DATE, TIMESTAMP):
            return _moment(arguments[0], type_)
        case _, type_ if type_ == DATE and function.parameter(0) == MOMENT:
            of_moment = Call(call.function, (_moment(arguments[0], DATE), *arguments[1:]), call.span)
            return Call("date", (of_moment,), call.span) if function.result(types) == DATE else of_moment
        case _:
            pass
    is_same = all(a is b for a, b in zip(arguments, call.arguments, strict=True))
    return call if is_same else replace(call, arguments=arguments)
