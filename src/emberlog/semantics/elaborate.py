"""Writes out what only types tell, so that every backend computes with plain ints.

A date that stands beside a timestamp becomes one, a moment and a duration are put together by `later!`, and `string` of
a date names the type that it spells. What is of numbers and text only stays the same object.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import assert_never

from emberlog.datatypes import DATE, DURATION, FLOAT, INT, INT_MAX, INT_MIN, TIMESTAMP, UNKNOWN, DataType, join_types
from emberlog.language.choices import TESTS
from emberlog.language.conversions import WIDEN
from emberlog.language.decimals import (
    CEIL,
    DECIMAL,
    DECIMAL_OF,
    FLOOR,
    NEAREST_FLOAT,
    ORDER,
    ROUNDED,
    SCALED,
    TRUNCATED,
    UNSCALED,
    WHOLE,
    decimal_literal,
)
from emberlog.language.entry import Function
from emberlog.language.faults import Fault
from emberlog.language.lists import MAKE
from emberlog.language.moments import EARLIER, LATER, MIDNIGHT, MOMENT, TEXT, WHOLE_DAY
from emberlog.language.records import RECORD
from emberlog.semantics.expression_types import ExpressionTyper, beside_decimal, beside_decimals
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
    elif any(one.is_decimal for one in types) and types[0] != types[1] and all(one.is_numeric for one in types):
        left, right = _compared(left, types[0], right, types[1])
    if left is comparison.left and right is comparison.right:
        return comparison
    return replace(comparison, left=left, right=right)


def _compared(left: Expression, own: DataType, right: Expression, other: DataType) -> tuple[Expression, Expression]:
    """Returns two numbers of different types, of which one is a decimal, such that they compare as ints."""
    for constant, variable, type_ in ((left, right, other), (right, left, own)):
        found = decimal_constant(constant, type_) if isinstance(constant, Constant) else None
        if found is not None:
            return (found, variable) if constant is left else (variable, found)
    order = Call(ORDER.name, (left, _power(own), right, _power(other)), left.span.to(right.span))
    return order, Constant(0)


def decimal_constant(constant: Constant, type_: DataType) -> Constant | None:
    """Returns the decimal of a type that is equal to a constant; None if there is none."""
    if not type_.is_decimal:
        return None
    own = constant.type
    if own.is_decimal and isinstance(constant.value, int):
        up = (type_.scale or 0) - (own.scale or 0)
        value = constant.value * 10**up if up >= 0 else constant.value // 10**-up
        is_equal = up >= 0 or constant.value % 10**-up == 0
        found = (value, 0) if is_equal and INT_MIN <= value <= INT_MAX else None
    else:
        found = decimal_literal(constant.value, type_.scale)
    return None if found is None else Constant(found[0], constant.span, type_)


def scaled(expression: Expression, own: DataType, wanted: DataType) -> Expression:
    """Returns a number as the decimal of a larger scale, or of a smaller one if it has no more digits."""
    if own == wanted or not all(one.is_decimal or one == INT for one in (own, wanted)):
        return expression
    found = decimal_constant(expression, wanted) if isinstance(expression, Constant) else None
    if found is not None:
        return found
    up = (wanted.scale or 0) - (own.scale or 0)
    function = SCALED if up >= 0 else UNSCALED
    return Call(function.name, (expression, Constant.of(10 ** abs(up), wanted)), expression.span)


def _power(type_: DataType) -> Constant:
    return Constant(10 ** (type_.scale or 0))


def _as_float(expression: Expression, own: DataType) -> Expression:
    return Call(NEAREST_FLOAT.name, (expression, _power(own)), expression.span) if own.is_decimal else expression


def _with_decimals(binary: Binary, types: tuple[DataType, DataType], typer: ExpressionTyper) -> Expression:
    left, right = elaborated(binary.left, typer), elaborated(binary.right, typer)
    first, second = types
    if isinstance(left, Constant):
        left = beside_decimal(left, first, second)
        first = left.type
    if isinstance(right, Constant):
        right = beside_decimal(right, second, first)
        second = right.type
    if binary.operator is BinaryOperator.DIVIDE or FLOAT in (first, second):
        return Binary(binary.operator, _as_float(left, first), _as_float(right, second), binary.span)
    if binary.operator in (BinaryOperator.ADD, BinaryOperator.SUBTRACT):
        wanted = join_types(first, second)
        if wanted is not None and wanted.is_decimal:
            left, right = scaled(left, first, wanted), scaled(right, second, wanted)
    return Binary(binary.operator, left, right, binary.span)


def _binary(binary: Binary, typer: ExpressionTyper) -> Expression:
    types = typer.type_of(binary.left), typer.type_of(binary.right)
    if any(one.is_decimal for one in types):
        return _with_decimals(binary, types, typer)
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


_TO_INTS = {"int": TRUNCATED, "floor": FLOOR, "ceil": CEIL, "round": ROUNDED}
_CHOOSING = ("least", "greatest", "coalesce", "if", MAKE.name)


def _of_decimals(
    call: Call, function: Function, arguments: tuple[Expression, ...], types: list[DataType], typer: ExpressionTyper
) -> Expression | None:
    """Returns the call of a function that takes or makes a decimal; None if there is nothing to write out."""
    first, own = arguments[0], types[0]
    result = typer.type_of(call)
    if function is DECIMAL or (call.function == "round" and len(types) == 2 and own.is_decimal):
        return Call(DECIMAL_OF.name, (first, _power(own), Constant.of(10 ** (result.scale or 0), result)), call.span)
    if call.function in _TO_INTS and own.is_decimal:
        return Call(WHOLE.name, (first, _power(own), Constant(_TO_INTS[call.function])), call.span)
    if call.function == "float" and own.is_decimal:
        return _as_float(first, own)
    if function.is_real:
        return replace(call, arguments=tuple(_as_float(*one) for one in zip(arguments, types, strict=True)))
    if call.function in _CHOOSING or function in TESTS:
        chosen = beside_decimals(arguments, types)
        pairs = zip(chosen, types, strict=True)
        own_types = [one.type if isinstance(one, Constant) else type_ for one, type_ in pairs]
        if function in TESTS and len(chosen) == 2:
            if own_types[0] == own_types[1]:
                return replace(call, arguments=tuple(chosen))
            return replace(call, arguments=_compared(chosen[0], own_types[0], chosen[1], own_types[1]))
        wanted = reduce(lambda one, other: join_types(one, other) or one, own_types[call.function == "if" :], UNKNOWN)
        return replace(call, arguments=tuple(scaled(*one, wanted) for one in zip(chosen, own_types, strict=True)))
    return None


def _call(call: Call, typer: ExpressionTyper) -> Expression:
    types = [typer.type_of(argument) for argument in call.arguments]
    arguments = tuple(elaborated(argument, typer) for argument in call.arguments)
    function = typer.functions.find(call.function)
    if function is None or not types:
        return call
    if function is RECORD:
        return _record(call, arguments, types)
    if function in TESTS and {DATE, TIMESTAMP} <= set(types):
        arguments = tuple(_moment(one, type_) for one, type_ in zip(arguments, types, strict=True))
    if any(type_.is_decimal for type_ in types) or function is DECIMAL:
        found = _of_decimals(call, function, arguments, types, typer)
        if found is not None:
            return found
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


def _record(call: Call, arguments: tuple[Expression, ...], types: list[DataType]) -> Expression:
    """Returns the value of a branch, with fields of the types that it declares; a constant, if all of them are."""
    opening = arguments[0]
    assert isinstance(opening, Constant) and types[0].named is not None
    branch = next(one for one in types[0].named.branches if one.opening == opening.value)
    fields = tuple(
        _as_field(argument, found, wanted)
        for argument, found, (_, wanted) in zip(arguments[2:], types[2:], branch.fields, strict=True)
    )
    known = (*arguments[:2], *fields)
    values = [one.value for one in known if isinstance(one, Constant)]
    if len(values) == len(known) and None not in values:
        try:
            return Constant(RECORD.python(*values), call.span, types[0])  # type: ignore[arg-type]
        except Fault:
            pass  # it is met where the rule is
    return replace(call, arguments=known)


def _as_field(argument: Expression, found: DataType, wanted: DataType) -> Expression:
    if wanted.is_decimal:
        if isinstance(argument, Constant):
            return decimal_constant(argument, wanted) or argument
        return scaled(argument, found, wanted)
    if wanted == FLOAT and found == INT:
        return Call(WIDEN.name, (argument,), argument.span)
    if wanted == TIMESTAMP and found == DATE:
        return _moment(argument, found)
    return argument
