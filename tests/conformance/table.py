"""Lists the rows of the conformance table: every entry of the language, for all types that it takes, on hostile values.

A cell is one entry on one backend with one row of arguments. A new entry is in the table by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, DataType, list_of, pair_of
from emberlog.language.comparisons import COMPARISONS
from emberlog.language.entry import ANY, NUMBER, ORDERED, PAIR, Function
from emberlog.language.numbers import NEGATE, OPERATORS
from emberlog.language.registry import INTERNAL, SCALAR_FUNCTIONS
from emberlog.language.values import CellValue
from emberlog.semantics.model import Compare
from emberlog.syntax.ast import (
    Binary,
    BinaryOperator,
    Call,
    ComparisonOperator,
    Expression,
    Unary,
    Variable,
)
from tests.oracle.expressions import Fault, agrees, evaluate_expression

LONG = "ab" * 600
INTS: tuple[CellValue, ...] = (
    *(0, 1, -1, 2, 3, 7, -7, 10, 400, -400, 2**31 - 1, 2**31, -(2**31) - 1, 2**32, 3037000500),
    *(2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, 2**63 - 512, -(2**63), -(2**63) + 1, None),
)
FLOATS: tuple[CellValue, ...] = (
    *(0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 0.1, 0.2, 0.1 + 0.2, 1.005, 2.675, -1.005, 1.0049999999999999),
    *(0.49999999999999994, 0.5000000000000001, 4503599627370496.5, 4503599627370497.5, 9007199254740993.0, 1e15 + 0.3),
    *(1e16, 1e22, 1e23, 2e23, 8.41e21, 123456789.125, 1e-7, -1e300, 1e300, 2.0**63, -(2.0**63), 2.0**63 - 1024.0),
    *(1.7976931348623157e308, 5e-324, -5e-324, 2.2250738585072014e-308, 2.0**-44, 700.5, None),
)
TEXTS: tuple[CellValue, ...] = (
    *("", "a", "A", "b", "ab", "abc", "a.c", "dig", "d]", ":]]", "ß", "İ", "Σ", "ὈΔΥΣΣΕΎΣ", "ﬁ", "ǅ", "e\u0301", "é"),
    *(
        "😀",
        "👨‍👩‍👧",
        "a😀b",
        "\ud7ff",
        "\ue000",
        "\x00",
        "x\ny",
        "\u2028",
        "12",
        " 7 ",
        "\t8\n",
        "\u00a07",
        "\x1c5",
        "١٢",
    ),
    *("1.5e3", "-3", "+3", "1e400", "1e-400", ".5", "5.", ".", "0x10", "1_000", "NaN", "inf", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775808", "9" * 60, "0" * 60 + "7", "0.1", "1.0049999999999999", "[", LONG),
    None,
)
PATTERNS: tuple[CellValue, ...] = (
    *("[[:digit:]]+", "fo{x}b.*", "(a+)+b", ".*", "(?s).*", "\\w+", "\\d+", "\\s*\\d\\s*", "(?i)ABC", "a|ab", "", "["),
    *(
        "(?=a)",
        "(a)\\1",
        "a{1001}",
        "\\Qa.c",
        "\\Qa.c\\E",
        "x.y",
        "x\\ny",
        "\\pL+",
        "[^a]",
        ")(",
        "(?P<n>a)",
        "^a$",
        "é",
    ),
    *(".", "(?:ab)*", "a**", "\\C", "[a-c]*", "\\x{1F600}", None),
)
BOOLS: tuple[CellValue, ...] = (True, False, None)
INT_TEXT, REAL_INT = pair_of(INT, STRING), pair_of(FLOAT, INT)
VALUES: dict[DataType, tuple[CellValue, ...]] = {
    INT: INTS,
    FLOAT: FLOATS,
    STRING: TEXTS,
    BOOL: BOOLS,
    INT_TEXT: (*((one, other) for one in (1, 2**53 + 1, -(2**63)) for other in ("", "a", "😀")), None),
    REAL_INT: (*((one, other) for one in (0.1, 1e23, 5e-324) for other in (0, 2**63 - 1)), None),
    list_of(INT): ((), (1,), (1, 2, 2**63 - 1), None),
    list_of(FLOAT): ((0.1, 1e16, 1e23), (5e-324,), None),
}
MOST_ROWS = 900
"""Of one entry with arguments of certain types: pairs of values are all taken, of triples as many."""


@dataclass(frozen=True, slots=True)
class Row:
    """Holds one expression, or comparison, of the table, with the rows of arguments that it is evaluated for."""

    entry: str
    types: tuple[DataType, ...]
    subject: Expression | Compare
    arguments: tuple[tuple[CellValue, ...], ...]
    ulps: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"V{place}" for place in range(len(self.types)))

    @property
    def title(self) -> str:
        return f"{self.entry}({', '.join(map(str, self.types))})"

    @property
    def scope(self) -> dict[str, DataType]:
        return dict(zip(self.names, self.types, strict=True))

    def expected(self, arguments: Sequence[CellValue]) -> CellValue | str:
        """Returns what the oracle says: a value, or the code of the error."""
        valuation = dict(zip(self.names, arguments, strict=True))
        try:
            if isinstance(self.subject, Compare):
                return agrees(
                    evaluate_expression(self.subject.left, valuation, SCALAR_FUNCTIONS),
                    self.subject.operator,
                    evaluate_expression(self.subject.right, valuation, SCALAR_FUNCTIONS),
                )
            return evaluate_expression(self.subject, valuation, SCALAR_FUNCTIONS)
        except Fault as fault:
            return _Code(fault.code)

    def agrees(self, found: CellValue, expected: CellValue) -> bool:
        """Tells whether a backend's value is the oracle's, to the precision that the entry states."""
        if isinstance(found, float) and isinstance(expected, float) and not isinstance(found, bool):
            return abs(found - expected) <= self.ulps * math.ulp(expected) and repr(found + 0.0) == repr(found)
        return type(found) is type(expected) and found == expected


class _Code(str):
    """The code of an error, which no value is equal to."""


def is_code(value: object) -> bool:
    return isinstance(value, _Code)


def code(name: str) -> str:
    return _Code(name)


def rows() -> Iterator[Row]:
    """Yields the whole table."""
    for name, function in {**SCALAR_FUNCTIONS, **INTERNAL}.items():
        for types in _type_choices(function):
            yield _row(name, function, types, Call(name, _variables(types)))
    for types in ((INT,), (FLOAT,)):
        yield _row("-X", NEGATE, types, Unary(_variables(types)[0]))
    for operator in BinaryOperator:
        function = OPERATORS[operator.value]
        numbers = (INT,) if operator in (BinaryOperator.INTEGER_DIVIDE, BinaryOperator.MODULO) else (INT, FLOAT)
        for pair in product(numbers, numbers):
            left, right = _variables(pair)
            yield _row(operator.value, function, pair, Binary(operator, left, right))
    for symbol in ComparisonOperator:
        assert symbol.value in COMPARISONS
        for pair in (*product((INT, FLOAT), (INT, FLOAT)), *((one, one) for one in (STRING, BOOL, INT_TEXT, REAL_INT))):
            left, right = _variables(pair)
            yield Row(symbol.value, pair, Compare(symbol, left, right), _arguments(symbol.value, pair))


def _row(name: str, function: Function, types: tuple[DataType, ...], subject: Expression) -> Row:
    return Row(name, types, subject, _arguments(name, types), function.ulps)


def _variables(types: Sequence[DataType]) -> tuple[Variable, ...]:
    return tuple(Variable(f"V{place}") for place in range(len(types)))


def _arguments(name: str, types: Sequence[DataType]) -> tuple[tuple[CellValue, ...], ...]:
    columns = [VALUES[type_] for type_ in types]
    if name == "matches":
        columns[1] = PATTERNS
    everything = list(product(*columns))
    step = len(everything) // MOST_ROWS + 1
    while step > 1 and math.gcd(step, *map(len, columns)) > 1:
        step += 1
    taken = everything[::step] if len(types) > 2 else everything
    return tuple(taken)


_TAKEN: dict[DataType, tuple[DataType, ...]] = {
    NUMBER: (INT, FLOAT),
    ANY: (INT, FLOAT, STRING, BOOL, INT_TEXT, REAL_INT, list_of(INT), list_of(FLOAT)),
    ORDERED: (INT, FLOAT, STRING, BOOL),
    PAIR: (INT_TEXT, REAL_INT),
}


def _type_choices(function: Function) -> Iterator[tuple[DataType, ...]]:
    """Yields the types of arguments that a function takes: all combinations, where they may differ."""
    if function.name in ("int", "float"):
        yield from ((INT,), (FLOAT,), (STRING,), (BOOL,))
        return
    if function.is_lazy:  # the type checker gives what it chooses from one type
        conditions = (BOOL,) if function.parameters[0] == BOOL else ()
        yield from ((*conditions, one, one) for one in _TAKEN[ANY])
        return
    counts = range(len(function.parameters) - function.optional, len(function.parameters) + 1 + function.variadic)
    for count in counts:
        choices = [_TAKEN.get(function.parameter(place), (function.parameter(place),)) for place in range(count)]
        for types in product(*choices):
            if not function.is_mixed or len(set(types)) == 1 or set(types) <= {INT, FLOAT}:
                yield types
