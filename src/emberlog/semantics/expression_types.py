"""The type of an expression, and whether its parts fit each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from emberlog.datatypes import FLOAT, INT, STRING, TIMESTAMP, UNKNOWN, DataType, join_types, type_of_value
from emberlog.diagnostics import Diagnostics
from emberlog.language.choices import IF
from emberlog.language.entry import ANY, NUMBER, ORDERED, PAIR
from emberlog.language.registry import Functions
from emberlog.language.texts import MATCHES, pattern_error
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, Expression


class ExpressionTyper:
    def __init__(self, variables: Mapping[str, DataType], functions: Functions, diagnostics: Diagnostics) -> None:
        self.variables = variables
        self.functions = functions
        self.diagnostics = diagnostics

    def type_of(self, expression: Expression) -> DataType:
        match expression:
            case ast.Variable(name):
                return self.variables.get(name, UNKNOWN)
            case ast.Constant():
                return type_of_value(expression.value)
            case ast.Wildcard() | ast.Parameter():
                return UNKNOWN
            case ast.Unary(operand):
                return self._number(operand, "-")
            case ast.Binary(operator, left, right):
                return self._arithmetic(operator, left, right)
            case ast.Call():
                return self._call(expression)
            case _:
                assert_never(expression)

    def _number(self, operand: Expression, operator: str) -> DataType:
        found = self.type_of(operand)
        if not found.is_known or found.is_numeric:
            return found
        hint = "to_number(S) reads a number from text"
        if found == STRING and operator == "+":
            hint = "cat(S, T) joins strings"
        elif found == TIMESTAMP:
            hint = "int(T) gives the microseconds of a timestamp"
        self.diagnostics.error(
            "DL221", f"`{operator}` needs numbers, and this is {found.described}", operand.span, hint
        )
        return UNKNOWN

    def _arithmetic(self, operator: BinaryOperator, left: Expression, right: Expression) -> DataType:
        sides = [self._number(side, operator.value) for side in (left, right)]
        if operator is BinaryOperator.DIVIDE:
            return FLOAT
        if operator in (BinaryOperator.INTEGER_DIVIDE, BinaryOperator.MODULO):
            for side, found in zip((left, right), sides, strict=True):
                if found == FLOAT:
                    self.diagnostics.error(
                        "DL221",
                        f"`{operator.value}` needs ints, and this is a float",
                        side.span,
                        "`/` divides floats; int(X), floor(X) and round(X) convert",
                    )
            return INT
        if UNKNOWN in sides:
            # One float makes it a float whatever the other is; an int says nothing about it.
            return FLOAT if FLOAT in sides else UNKNOWN
        return join_types(sides[0], sides[1]) or UNKNOWN

    def _call(self, call: ast.Call) -> DataType:
        function = self.functions.scalars.get(call.function)
        types = [self.type_of(argument) for argument in call.arguments]
        if function is None or not function.accepts(len(types)):
            return UNKNOWN
        for index, (argument, found) in enumerate(zip(call.arguments, types, strict=True)):
            wanted = function.parameter(index)
            if not _accepts(wanted, found):
                self.diagnostics.error(
                    "DL221",
                    f"`{call.function}` needs {_described(wanted)}, and this is {found.described}",
                    argument.span,
                    f"{function.signature}: {function.meaning}",
                )
        if function is MATCHES:
            self._pattern(call.arguments[1])
        if function.is_mixed:
            self._one_type(call, types, "chooses between" if function.is_lazy else "compares")
        if function is IF:
            self._one_type(replace(call, arguments=call.arguments[1:]), types[1:], "chooses between")
        return function.result(types)

    def _pattern(self, pattern: Expression) -> None:
        """Reports a constant pattern that is no regular expression."""
        if not isinstance(pattern, ast.Constant) or not isinstance(pattern.value, str):
            return
        complaint = pattern_error(pattern.value)
        if complaint is not None:
            self.diagnostics.error(
                "DL226",
                f"`{pattern.value}` is not a regular expression",
                pattern.span,
                complaint,
                "patterns are those of RE2: no look-around, no references to groups",
            )

    def _one_type(self, call: ast.Call, types: list[DataType], verb: str) -> None:
        widest = UNKNOWN
        for argument, found in zip(call.arguments, types, strict=True):
            joined = join_types(widest, found)
            if joined is None:
                message = f"`{call.function}` {verb} values of one type, and this is {found.described}"
                self.diagnostics.error("DL221", f"{message} beside {widest.described}", argument.span)
                return
            widest = joined


def _accepts(wanted: DataType, found: DataType) -> bool:
    if not found.is_known or wanted == ANY:
        return True
    if wanted == NUMBER:
        return found.is_numeric
    if wanted == ORDERED:
        return found.name != "list"
    if wanted == PAIR:
        return found.name == "pair"
    return wanted == found


def _described(wanted: DataType) -> str:
    if wanted == NUMBER:
        return "a number"
    if wanted == ORDERED:
        return "a value with an order"
    if wanted == PAIR:
        return "a pair made by encd"
    return wanted.described
