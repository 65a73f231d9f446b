"""Says what the functors and operators of Soufflé's language are here: functions of ours, or expressions of them."""

from __future__ import annotations

from emberlog.datatypes import FLOAT, INT_MAX, STRING, DataType
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, Constant, Expression
from emberlog.syntax.expression_parser import both, either

_FUNCTIONS = {
    "cat": "cat",
    "strlen": "len",
    "substr": "substr",
    "min": "least",
    "max": "greatest",
    "to_string": "string",
    "to_number": "int",
    "to_unsigned": "int",
    "to_float": "float",
    "ftoi": "int",
    "ftou": "int",
    "itof": "float",
    "utof": "float",
    "itou": "int",
    "utoi": "int",
    "band": "band",
    "bor": "bor",
    "bxor": "bxor",
    "bnot": "bnot",
    "bshl": "shl",
    "bshr": "shr",
}

OF_TEXT = frozenset({"cat", "substr", "to_string"})
"""Functors that give texts."""

OF_FLOATS = frozenset({"to_float", "itof", "utof"})

OF_THEIR_ARGUMENTS = frozenset({"min", "max", "^"})
"""Functors that give what they take."""

REFUSED = {
    "ord": "compare two of them, `ord(x) < ord(y)`, or the texts as they are, `x < y`",
    "autoinc": "a fact is known by its columns: give it a key of its own",
    "fold": "lattices are not there; count, sum, min, max and mean aggregate",
}
"""Functors that are not there, and what to write instead."""


def translated_call(call: ast.Call, arguments: tuple[Expression, ...], type_: DataType | None) -> Expression:
    """Returns a call of a functor, which gives a value of some type, as it is written here."""
    name, span = call.function, call.span
    match name, arguments:
        case "^", _:
            return ast.Call("pow" if type_ == FLOAT else "ipow", arguments, span)
        case "bshru", (value, places):
            return _unsigned_shift(value, places)
        case "lnot", (value,):
            return _chosen(_is("=", value), 1, 0)
        case "land", (left, right):
            return _chosen(both(_is("!=", left), _is("!=", right)), 1, 0)
        case "lor", (left, right):
            return _chosen(either(_is("!=", left), _is("!=", right)), 1, 0)
        case "lxor", (left, right):
            return _chosen(either(both(_is("!=", left), _is("=", right)), both(_is("=", left), _is("!=", right))), 1, 0)
        case _:
            return ast.Call(_FUNCTIONS.get(name, name.removeprefix("@")), arguments, span)


def translated_operation(
    operation: ast.Binary, left: Expression, right: Expression, type_: DataType | None
) -> Expression:
    """Returns an operation that gives a value of some type: between texts `+` puts them together, and a division of
    numbers cuts off the fraction."""
    match operation.operator:
        case BinaryOperator.ADD if type_ == STRING:
            return ast.Call("cat", (left, right), operation.span)
        case BinaryOperator.DIVIDE if type_ != FLOAT:
            return ast.Binary(BinaryOperator.INTEGER_DIVIDE, left, right, operation.span)
        case operator:
            return ast.Binary(operator, left, right, operation.span)


def _is(comparison: str, value: Expression) -> Expression:
    return ast.Call(comparison, (value, Constant(0, value.span)), value.span)


def _chosen(condition: Expression, first: int, second: int) -> Expression:
    return ast.Call("if", (condition, Constant(first), Constant(second)), condition.span)


def _unsigned_shift(value: Expression, places: Expression) -> Expression:
    """Returns the bits some places to the right, with zeros behind them in place of the sign."""
    fewer = ast.Binary(BinaryOperator.SUBTRACT, places, Constant(1, places.span), places.span)
    kept = ast.Call("shr", (Constant(INT_MAX), fewer), value.span)
    shifted = ast.Call("band", (ast.Call("shr", (value, places), value.span), kept), value.span)
    return ast.Call("if", (_is("=", places), value, shifted), value.span)
