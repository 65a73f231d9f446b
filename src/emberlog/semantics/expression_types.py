"""The type of an expression, and whether its parts fit each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from emberlog.datatypes import DATE, DURATION, FLOAT, INT, STRING, TIMESTAMP, UNKNOWN, DataType, join_types
from emberlog.diagnostics import Diagnostics
from emberlog.language.arithmetic import OF_TIME, arithmetic_type
from emberlog.language.choices import IF, TESTS
from emberlog.language.entry import ANY, LIST, NUMBER, ORDERED, PAIR, TEXT_OR_LIST, Function
from emberlog.language.lists import MAKE, MEMBER, element_of
from emberlog.language.moments import FORMAT_TIME, PARSE_DATE, PARSE_TIME, TRUNCATE, UNITS_OF_CALENDAR
from emberlog.language.registry import Functions
from emberlog.language.spellings import DAY
from emberlog.language.text_parts import REGULAR
from emberlog.language.texts import pattern_error
from emberlog.language.time_formats import format_error
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, Expression

ELEMENTS = ("list!", "member!", "append", "prepend", "concat")
"""Functions whose arguments are lists and their elements."""


class ExpressionTyper:
    def __init__(
        self,
        variables: Mapping[str, DataType],
        functions: Functions,
        diagnostics: Diagnostics,
        *,
        guesses: bool = True,
    ) -> None:
        """`guesses`, what has no type counts as a number where an operator needs one."""
        self.guesses = guesses
        self.variables = variables
        self.functions = functions
        self.diagnostics = diagnostics

    def type_of(self, expression: Expression) -> DataType:
        match expression:
            case ast.Variable(name):
                return self.variables.get(name, UNKNOWN)
            case ast.Constant():
                return expression.type
            case ast.Wildcard() | ast.Parameter():
                return UNKNOWN
            case ast.Unary(operand):
                return self._number(operand, "-")
            case ast.Binary():
                return self._arithmetic(expression)
            case ast.Call():
                return self._call(expression)
            case _:
                assert_never(expression)

    def _number(self, operand: Expression, operator: str) -> DataType:
        found = self.type_of(operand)
        if not found.is_known or found.is_numeric or (found == DURATION and operator == "-"):
            return found
        hint = "to_number(S) reads a number from text"
        if found == STRING and operator == "+":
            hint = "cat(S, T) joins strings"
        elif found in OF_TIME:
            hint = "int(T) gives the microseconds of a timestamp or a duration, and the days of a date"
        self.diagnostics.error(
            "DL221", f"`{operator}` needs numbers, and this is {found.described}", operand.span, hint
        )
        return UNKNOWN

    def _arithmetic(self, binary: ast.Binary) -> DataType:
        operator, left, right = binary.operator, binary.left, binary.right
        types = self.type_of(left), self.type_of(right)
        if any(one in OF_TIME for one in types):
            return self._with_time(binary, *types)
        sides = [self._number(side, operator.value) for side in (left, right)]
        if operator in (BinaryOperator.INTEGER_DIVIDE, BinaryOperator.MODULO):
            for side, found in zip((left, right), sides, strict=True):
                if found == FLOAT:
                    self.diagnostics.error(
                        "DL221",
                        f"`{operator.value}` needs ints, and this is a float",
                        side.span,
                        "`/` divides floats; int(X), floor(X) and round(X) convert",
                    )
            sides = [UNKNOWN if one == FLOAT else one for one in sides]
        return arithmetic_type(operator.value, sides[0], sides[1], guesses=self.guesses) or UNKNOWN

    def _with_time(self, binary: ast.Binary, left: DataType, right: DataType) -> DataType:
        symbol = binary.operator.value
        result = arithmetic_type(symbol, left, right)
        if result is None:
            self.diagnostics.error(
                "DL262",
                f"`{symbol}` does not take {left.described} and {right.described}",
                binary.span,
                _hint_of_time(symbol, left, right),
            )
            return UNKNOWN
        days = [
            side for side in (binary.left, binary.right) if isinstance(side, ast.Constant) and side.type == DURATION
        ]
        if result == DATE and days and isinstance(days[0].value, int) and days[0].value % DAY:
            self.diagnostics.error(
                "DL263",
                "a date and a duration that is not of whole days give no date",
                binary.span,
                "timestamp(D) is the midnight of a date: add the duration to it",
            )
        return result

    def _call(self, call: ast.Call) -> DataType:
        function = self.functions.find(call.function)
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
        if function.name in REGULAR:
            self._pattern(call.arguments[1])
        if call.arguments:
            self._constants_of_time(function, call)
        if function.is_mixed:
            self._one_type(call, types, "chooses between" if function.is_lazy else "compares")
        if function.name in ELEMENTS:
            self._one_element_type(call, types)
        if function in TESTS:
            self._one_type(call, types, "compares")
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

    def _constants_of_time(self, function: Function, call: ast.Call) -> None:
        """Reports a constant format, or a constant unit, that there is not."""
        given = call.arguments[-1]
        if not isinstance(given, ast.Constant) or not isinstance(given.value, str):
            return
        complaint, what = None, ""
        if function in (FORMAT_TIME, PARSE_TIME, PARSE_DATE):
            complaint, what = format_error(given.value, to_read=function is not FORMAT_TIME), "format of a moment"
        elif function is TRUNCATE and given.value not in UNITS_OF_CALENDAR:
            complaint, what = f"known are {', '.join(UNITS_OF_CALENDAR)}", "unit of the calendar"
        if complaint is not None:
            self.diagnostics.error("DL264", f"`{given.value}` is not a {what}", given.span, complaint)

    def _one_element_type(self, call: ast.Call, types: list[DataType]) -> None:
        """Reports a value that is of another type than the elements of the list beside it."""
        if call.function == MAKE.name:
            self._one_type(call, types, "holds")
            return
        whole, other = (types[1], types[0]) if call.function == MEMBER.name else (types[0], types[1])
        element = element_of(whole)
        found = element_of(other) if call.function == "concat" else other
        joined = join_types(element, found)
        is_kept = call.function == MEMBER.name or joined == element or not element.is_known
        is_mixed = call.function == "concat" and element != found and element.is_known and found.is_known
        if joined is None or not is_kept or is_mixed:
            name = "in" if call.function == MEMBER.name else call.function
            message = f"`{name}` has {whole.described} beside {other.described}"
            self.diagnostics.error("DL221", message, call.span, "the elements of a list are of one type")

    def _one_type(self, call: ast.Call, types: list[DataType], verb: str) -> None:
        widest = UNKNOWN
        for argument, found in zip(call.arguments, types, strict=True):
            joined = join_types(widest, found)
            if {widest, found} == {DATE, TIMESTAMP} and self.functions.find(call.function) in TESTS:
                joined = TIMESTAMP
            if joined is None:
                subject = "a list" if call.function == MAKE.name else f"`{call.function}`"
                message = f"{subject} {verb} values of one type, and this is {found.described}"
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
    if wanted in (LIST, TEXT_OR_LIST):
        return found.name == "list" or (wanted == TEXT_OR_LIST and found == STRING)
    if wanted.name == "one of":
        return found in wanted.parts
    return wanted == found


def _described(wanted: DataType) -> str:
    if wanted == NUMBER:
        return "a number"
    if wanted == ORDERED:
        return "a value with an order"
    if wanted == PAIR:
        return "a pair made by encd"
    if wanted in (LIST, TEXT_OR_LIST):
        return "a list" if wanted == LIST else "a string or a list"
    if wanted.name == "one of":
        *others, last = (one.described for one in wanted.parts)
        return f"{', '.join(others)} or {last}"
    return wanted.described


def _hint_of_time(symbol: str, left: DataType, right: DataType) -> str:
    if DURATION in (left, right) and FLOAT in (left, right):
        return "a duration is multiplied and divided by ints; round(X) converts"
    if INT in (left, right) and symbol in "+-":
        return "a length of time has a unit: `T + 3 days`; `N * 1 day` makes one of a number"
    if symbol == "+" and DURATION not in (left, right):
        return "the difference of two moments is a duration, and a moment and a duration can be added"
    return "moments can be subtracted, a duration can be added to one, and multiplied and divided by an int"
