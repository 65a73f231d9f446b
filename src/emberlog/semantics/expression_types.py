"""The type of an expression, and whether its parts fit each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from emberlog.datatypes import DATE, DURATION, FLOAT, INT, STRING, TIMESTAMP, UNKNOWN, DataType, decimal_of, join_types
from emberlog.diagnostics import Diagnostics
from emberlog.language.choices import IF, TESTS
from emberlog.language.decimals import DECIMAL, decimal_literal
from emberlog.language.entry import ANY, LIST, NUMBER, OF_TIME, ORDERED, PAIR, TEXT_OR_LIST, Function, arithmetic_type
from emberlog.language.lists import MAKE, MEMBER, element_of
from emberlog.language.moments import FORMAT_TIME, PARSE_DATE, PARSE_TIME, TRUNCATE, UNITS_OF_CALENDAR
from emberlog.language.records import BRANCH, FIELD, READ, RECORD
from emberlog.language.registry import Functions
from emberlog.language.spellings import DAY, LARGEST_SCALE, format_error
from emberlog.language.text_parts import REGULAR
from emberlog.language.texts import pattern_error
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, Expression

ELEMENTS = ("list!", "member!", "append", "prepend", "concat")
"""Functions whose arguments are lists and their elements."""


KEEPING_TYPES = ("add_months", "truncate", "round")
"""Functions that give a date for a date and a decimal for a decimal: of what has no type yet nothing can be said."""


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
        self.has_met_unknown = False
        """Whether an operator had an operand of no type: there it matters whether one guesses."""

    def type_of(self, expression: Expression) -> DataType:
        match expression:
            case ast.Variable(name):
                return self.variables.get(name, UNKNOWN)
            case ast.Constant():
                return expression.type
            case ast.Wildcard() | ast.Parameter():
                return UNKNOWN
            case ast.Unary(operand):
                return self._number(operand, self.type_of(operand), "-")
            case ast.Binary():
                return self._arithmetic(expression)
            case ast.Call():
                return self._call(expression)
            case _:
                assert_never(expression)

    def _number(self, operand: Expression, found: DataType, operator: str) -> DataType:
        """Returns the type of an operand if it is a number; reports it if it is not."""
        if not found.is_known or found.is_numeric or (found == DURATION and operator == "-"):
            return found.underlying
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
        if any(one.is_decimal for one in types):
            return self._with_decimals(binary, *types)
        sides = [self._number(side, found, operator.value) for side, found in zip((left, right), types, strict=True)]
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
        self.has_met_unknown |= UNKNOWN in types
        return arithmetic_type(operator.value, sides[0], sides[1], guesses=self.guesses) or UNKNOWN

    def _with_decimals(self, binary: ast.Binary, left: DataType, right: DataType) -> DataType:
        symbol = binary.operator.value
        own, other = left, right
        left = beside_decimal(binary.left, left, right).type if isinstance(binary.left, ast.Constant) else left
        right = beside_decimal(binary.right, right, left).type if isinstance(binary.right, ast.Constant) else right
        for side, found in ((binary.left, own), (binary.right, other)):
            if self._number(side, found, symbol) == UNKNOWN != found:
                return UNKNOWN
        self.has_met_unknown |= UNKNOWN in (own, other)
        result = arithmetic_type(symbol, left, right, guesses=self.guesses)
        if result is None and symbol == "*":
            digits = (left.scale or 0) + (right.scale or 0)
            self.diagnostics.error(
                "DL266",
                f"this product would have {digits} digits behind the point, and {LARGEST_SCALE} is the most",
                binary.span,
                "round an operand before, decimal(X, 4), or take floats, float(X)",
            )
        elif result is None:
            self.diagnostics.error(
                "DL221",
                f"`{symbol}` needs ints, and here is a decimal",
                binary.span,
                "int(X), floor(X) and round(X) convert",
            )
        return result or UNKNOWN

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
        if function is READ:
            return self.type_of(call.arguments[1])
        if function in (RECORD, BRANCH, FIELD):
            return self._record(call)
        types = [self.type_of(argument) for argument in call.arguments]
        if function is None or not function.accepts(len(types)):
            return UNKNOWN
        if function.name in KEEPING_TYPES and types[0] == UNKNOWN:
            self.has_met_unknown = True
            if not self.guesses:
                return UNKNOWN
        if function.is_mixed or function in TESTS or function in (IF, MAKE):
            constants = beside_decimals(call.arguments, types)
            types = [
                one.type if isinstance(one, ast.Constant) else found
                for one, found in zip(constants, types, strict=True)
            ]
        for index, (argument, found) in enumerate(zip(call.arguments, types, strict=True)):
            wanted = function.parameter(index)
            takes_decimals = function.is_real or function.name in OF_DECIMALS
            if not _accepts(wanted, found) or (found.is_decimal and wanted == NUMBER and not takes_decimals):
                self.diagnostics.error(
                    "DL221",
                    f"`{call.function.removesuffix('!')}` needs {_described(wanted)}, and this is {found.described}",
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
        if function is DECIMAL or (function.name == "round" and types[0].is_decimal and len(types) == 2):
            return self._scale(call.arguments[1])
        if function.name in ("floor", "ceil", "round") and types[0].is_decimal:
            return INT
        return function.result(types).underlying

    def _record(self, call: ast.Call) -> DataType:
        """Returns the type of a value that is made or taken apart; reports a field or a value of another type."""
        function = self.functions[call.function]
        types = [self.type_of(argument) for argument in call.arguments]
        if function is not RECORD:
            if join_types(types[0], types[1]) is None:
                self.diagnostics.error(
                    "DL223",
                    f"{types[0].described} cannot be compared with {types[1].described}",
                    call.span,
                    "a pattern takes apart values of its own type",
                )
            return function.result(types)
        assert types[0].named is not None
        opening = call.arguments[0]
        branches = types[0].named.branches
        branch = next(one for one in branches if isinstance(opening, ast.Constant) and one.opening == opening.value)
        for (name, wanted), argument, found in zip(branch.fields, call.arguments[2:], types[2:], strict=True):
            joined = join_types(wanted, found)
            is_wider = joined is not None and joined != wanted and wanted.is_known
            is_literal = isinstance(argument, ast.Constant) and _has_digits_of(argument, found, wanted)
            if (joined is None or is_wider) and not is_literal:
                self.diagnostics.error(
                    "DL275",
                    f"the field `{name}` of `${branch.name}` is {wanted.described}, and this is {found.described}",
                    argument.span,
                )
        return types[0]

    def _scale(self, digits: Expression) -> DataType:
        """Returns the decimal with so many digits behind the point; reports what is no constant, or too large."""
        if isinstance(digits, ast.Constant) and type(digits.value) is int and 0 <= digits.value <= LARGEST_SCALE:
            return decimal_of(digits.value)
        self.diagnostics.error(
            "DL266",
            "the digits of a decimal behind its point are a constant",
            digits.span,
            f"write decimal(X, 2); the type of the result has them, and {LARGEST_SCALE} is the most",
        )
        return UNKNOWN

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
        # Decimals of two scales would be the same number, and different ints.
        has_scales = (
            (element.is_decimal or found.is_decimal) and element != found and element.is_known and found.is_known
        )
        if joined is None or not is_kept or is_mixed or has_scales:
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


class SettledTyper(ExpressionTyper):
    """Types each expression once: for variables whose types do not change any more."""

    def __init__(self, variables: Mapping[str, DataType], functions: Functions, diagnostics: Diagnostics) -> None:
        super().__init__(variables, functions, diagnostics)
        self._known: dict[int, tuple[Expression, DataType]] = {}
        """By the identity of the expression, which is kept so that nothing else gets it."""

    def type_of(self, expression: Expression) -> DataType:
        if isinstance(expression, ast.Variable | ast.Constant):
            return super().type_of(expression)
        known = self._known.get(id(expression))
        if known is None:
            known = self._known[id(expression)] = (expression, super().type_of(expression))
        return known[1]


OF_DECIMALS = ("abs", "floor", "ceil", "round", "order!")
"""Functions of numbers that know decimals as such; those of reals take them as floats."""


def _has_digits_of(constant: ast.Constant, own: DataType, wanted: DataType) -> bool:
    """Tells whether a number that is written beside a decimal has no more digits behind the point."""
    found = beside_decimal(constant, own, wanted).type
    return found.is_decimal and wanted.is_decimal and (found.scale or 0) <= (wanted.scale or 0)


def beside_decimal(constant: ast.Constant, own: DataType, other: DataType) -> ast.Constant:
    """Returns a number that stands beside a decimal: one with a fraction is the decimal that is written."""
    found = decimal_literal(constant.value) if own == FLOAT and other.is_decimal else None
    return constant if found is None else ast.Constant(found[0], constant.span, decimal_of(found[1]))


def beside_decimals(arguments: Sequence[Expression], types: Sequence[DataType]) -> list[Expression]:
    """Returns arguments that are compared or chosen from, the constants beside a decimal as decimals."""
    decimal = next((type_ for type_ in types if type_.is_decimal), UNKNOWN)
    return [
        beside_decimal(one, type_, decimal) if isinstance(one, ast.Constant) else one
        for one, type_ in zip(arguments, types, strict=True)
    ]


def _accepts(wanted: DataType, found: DataType) -> bool:
    if not found.is_known or wanted == ANY:
        return True
    if found.is_record:
        return False
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
