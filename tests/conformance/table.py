"""Lists the rows of the conformance table: every entry of the language, for all types that it takes, on hostile values.

A cell is one entry on one backend with one row of arguments. A new entry is in the table by itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from emberlog.datatypes import (
    BOOL,
    DATE,
    DURATION,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    DataType,
    decimal_of,
    list_of,
    pair_of,
)
from emberlog.diagnostics import Diagnostics
from emberlog.language.choices import NOT, TESTS
from emberlog.language.comparisons import COMPARISONS
from emberlog.language.entry import ANY, LIST, NUMBER, ORDERED, PAIR, TEXT_OR_LIST, Function, arithmetic_type
from emberlog.language.numbers import NEGATE, OPERATORS
from emberlog.language.records import INTERNAL as RECORDS
from emberlog.language.records import RECORD, kind_of_field, otherwise
from emberlog.language.registry import BUILT_IN, INTERNAL, SCALAR_FUNCTIONS
from emberlog.language.text_parts import REGULAR
from emberlog.language.values import CellValue
from emberlog.semantics.elaborate import elaborated, elaborated_comparison, scaled
from emberlog.semantics.expression_types import ELEMENTS, ExpressionTyper
from emberlog.semantics.model import Compare
from emberlog.syntax.ast import (
    Binary,
    BinaryOperator,
    Call,
    ComparisonOperator,
    Constant,
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
DAYS: tuple[CellValue, ...] = (
    *(0, 1, -1, 58, 59, 60, 365, -365, 11_016, 11_017, 19_782, 20_089, 20_453, 20_484, 47_540, 47_541),
    *(-719_162, -719_161, -719_104, 2_932_896, 2_932_895, 2_932_866, -134_774, None),
)
"""Ends of months, of leap years and of the calendar."""
MOMENTS: tuple[CellValue, ...] = (
    *(
        0,
        1,
        -1,
        86_400_000_000,
        86_399_999_999,
        -86_400_000_000,
        -86_400_000_001,
        1_767_609_000_000_000,
        951_782_400_000_000,
    ),
    *(
        1_709_164_800_123_456,
        1_735_603_200_000_000,
        1_735_689_599_999_999,
        -2_208_988_800_000_000,
        -62_135_596_800_000_000,
    ),
    *(
        -62_135_596_800_000_001,
        253_402_300_799_999_999,
        253_402_300_800_000_000,
        2**63 - 1,
        -(2**63),
        -11_644_473_600_000_000,
    ),
    *(4_107_542_400_000_000, None),
)
LENGTHS: tuple[CellValue, ...] = (
    *(0, 1, -1, 1000, 1_000_000, -90_000_000, 3_600_000_000, 86_400_000_000, -86_400_000_000, 259_200_000_000),
    *(86_400_000_001, 123_456_789_012, 315_537_897_599_999_999, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1, None),
)
MOMENT_TEXTS: tuple[CellValue, ...] = (
    *(
        "2026-01-05",
        "2026-1-5",
        "2024-02-29",
        "2025-02-29",
        "0001-01-01",
        "0000-01-01",
        "9999-12-31",
        "10000-01-01",
        "",
    ),
    *(
        "2026-01-05 10:30:00",
        "2026-01-05T10:30:00Z",
        "2026-01-05 10:30",
        "2026-01-05T10:30:00.5+01:00",
        "2026-01-05T10",
    ),
    *("2026-01-05T10:30:00+0130", "2026-01-05T10:30:00-08", "2026-01-05 10:30:00 Z", "2026-01-05 24:00:00", "20260105"),
    *("2026-01-05T10:30:00.123456", "2026-01-05T10:30:00.123456000", "2026-01-05T10:30:00.1234567", "2026-13-01", "x"),
    *(
        "9999-12-31T23:59:59.999999-01:00",
        "0001-01-01T00:00:00+01:00",
        "٢٠٢٦-٠١-٠٥",
        " 2026-01-05",
        "2026-01-05 10:60:00",
    ),
    *("05/01/2026", "05.01.2026 10:30", "31/02/2026", "100%", "10:30:07", None),
)
TIME_FORMATS: tuple[CellValue, ...] = (
    *("%Y-%m-%d", "%d/%m/%Y", "%Y%m%d", "%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%d.%m.%Y %H:%M", "%f%%", "%%", "", "x"),
    *("%j", "%u %V", "%Y-%Y", "%", "%x", "%5", "%Y%", "\n%d", None),
)
TIME_UNITS: tuple[CellValue, ...] = (
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "days",
    "",
    None,
)
LIKE_PATTERNS: tuple[CellValue, ...] = (
    *(
        "",
        "%",
        "_",
        "a%",
        "%c",
        "%b%",
        "a_c",
        "__",
        "%%",
        "a%_",
        "\\%",
        "\\_",
        "\\\\",
        "\\",
        "a\\",
        "%😀%",
        "a_b",
        "x_y",
        "%a%b%",
    ),
    *("_%_", "é", "%9%9%9%", None),
)
REPLACEMENTS: tuple[CellValue, ...] = ("", "x", r"<\0>", r"\1", r"\9", "\\", r"\\", r"\x", "😀", None)
SMALL: tuple[CellValue, ...] = (*range(-3, 8), 9, 10, 63, 64, -(2**63), 2**63 - 1, None)
CENTS: tuple[CellValue, ...] = (
    *(0, 1, -1, 5, -5, 49, 50, 51, 99, 100, -150, 250, 1005, 9_007_199_254_740_993, 2**62, 2**63 - 1, -(2**63)),
    *(-(2**63) + 1, 92_233_720_368_547_758, 90_071_992_547_409_931, None),
)
BOOLS: tuple[CellValue, ...] = (True, False, None)
INT_TEXT, REAL_INT = pair_of(INT, STRING), pair_of(FLOAT, INT)
DEC2, DEC5 = decimal_of(2), decimal_of(5)
VALUES: dict[DataType, tuple[CellValue, ...]] = {
    INT: INTS,
    FLOAT: FLOATS,
    STRING: TEXTS,
    BOOL: BOOLS,
    DATE: DAYS,
    TIMESTAMP: MOMENTS,
    DURATION: LENGTHS,
    DEC2: CENTS,
    DEC5: CENTS,
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
    for types in ((INT,), (FLOAT,), (DURATION,), (DEC2,)):
        yield _row("-X", NEGATE, types, Unary(_variables(types)[0]))
    for operator in BinaryOperator:
        function = OPERATORS[operator.value]
        numbers = (INT,) if operator in (BinaryOperator.INTEGER_DIVIDE, BinaryOperator.MODULO) else (INT, FLOAT)
        for pair in product(numbers, numbers):
            left, right = _variables(pair)
            yield _row(operator.value, function, pair, Binary(operator, left, right))
        for one, other in ((DEC2, DEC2), (DEC2, DEC5), (INT, DEC2), (DEC5, INT), (FLOAT, DEC2), (DEC5, FLOAT)):
            if arithmetic_type(operator.value, one, other):
                left, right = _variables((one, other))
                yield _row(operator.value, function, (one, other), Binary(operator, left, right))
        for one, other in product((*OF_TIME, INT), (*OF_TIME, INT)):
            if (one, other) != (INT, INT) and arithmetic_type(operator.value, one, other):
                left, right = _variables((one, other))
                yield _row(operator.value, function, (one, other), Binary(operator, left, right))
    for type_, scale in product((INT, FLOAT, STRING, DEC2, DEC5), (0, 3, 18)):
        (number,) = _variables((type_,))
        digits = Constant(scale)
        yield _row("decimal", SCALAR_FUNCTIONS["decimal"], (type_,), Call("decimal", (number, digits)))
        if type_ in (DEC2, DEC5):
            yield _row("round", SCALAR_FUNCTIONS["round"], (type_,), Call("round", (number, digits)))
    for wide, narrow in ((DEC5, DEC2), (DEC2, INT)):
        (number,) = _variables((wide,))
        yield _row("unscaled!", INTERNAL["unscaled!"], (wide,), scaled(number, wide, narrow))
    yield from _rows_of_records()
    yield from _rows_of_data()
    for symbol in ComparisonOperator:
        assert symbol.value in COMPARISONS
        for pair in (*product((INT, FLOAT), (INT, FLOAT)), *_COMPARED):
            left, right = _variables(pair)
            subject = elaborated_comparison(Compare(symbol, left, right), _typer(pair))
            yield Row(symbol.value, pair, subject, _arguments(symbol.value, pair))


def _rows_of_records() -> Iterator[Row]:
    """Yields what values of declared types are made of, and taken apart to."""
    for one in (INT, FLOAT, STRING, BOOL, *OF_TIME, DEC2):
        values = _variables((one, STRING))
        opening, kinds = Constant("$Of("), Constant(f"{kind_of_field(one)};string")
        yield Row("record!", (one, STRING), Call("record!", (opening, kinds, *values)), _arguments("", (one, STRING)))
        (value,) = _variables((STRING,))
        texts = tuple(
            (None if given is None else str(RECORD.python("$Of(", kinds.value, given, 'a, ("b]')),)
            for given in VALUES[one]
            if one not in (DATE, TIMESTAMP) or given is None or abs(given) < 10**6  # type: ignore[arg-type]
        )
        nested = tuple((f"$In({text}, [1, nil])",) for (text,) in texts if text is not None)
        empty = Constant.of(otherwise(one), one)
        field = Call("field!", (value, opening, Constant(0), Constant(kind_of_field(one)), empty))
        yield Row("field!", (STRING,), field, (*texts, *nested, ("$Other",), ("$Other(1)",)))
        inside = (value, Constant("$In("), Constant(0), Constant("record"), Constant(""))
        yield Row("field!", (STRING,), Call("field!", inside), (*nested, ("$Other",)))
        of_branch = Call("branch!", (value, opening))
        yield Row("branch!", (STRING,), of_branch, (*texts, *nested, ("$Other",), ("$Of",), ("$Off(1)",)))


def _rows_of_data() -> Iterator[Row]:
    """Yields what data of declared types and of types with bounds goes through."""
    (text,), (number,) = _variables((STRING,)), _variables((INT,))
    yield Row("read!", (STRING,), Call("read!", (text, Constant(GRAMMAR))), tuple((one,) for one in WRITTEN))
    for least, greatest in ((0, 2**63 - 1), (-(2**31), 2**31 - 1)):
        limits = (Constant(least), Constant(greatest), Constant("unsigned"))
        yield Row("bounded!", (INT,), Call("bounded!", (number, *limits)), _arguments("", (INT,)))


GRAMMAR = json.dumps(
    [
        "T",
        {
            "T": [
                ["$A(", ["int", "string"]],
                ["$Ab", []],
                ["$F(", ["float", "bool"]],
                ["$R(", ["=P", "=T"]],
                ["$D(", ["date"]],
            ],
            "P": [["[", ["int", "=P"]], ["nil", []]],
        },
    ]
)
WRITTEN: tuple[CellValue, ...] = (
    *(
        "$A(1, x)",
        '$A( -7 ,"a, (\\"b\\") \\\\ \\n")',
        '$A(1, "")',
        "$A(1,)",
        "$A(1, a b )",
        "$A(1)",
        "$A(1, a, b)",
        "$A(1, a",
        "$A",
    ),
    *(
        "$Ab",
        " $Ab ",
        "$Ab()",
        "$Ab( )",
        "$Ab(1)",
        "$Abc",
        "Ab",
        "",
        "null",
        "$F(1, true)",
        "$F(-0.0, false)",
        "$F(1e400, true)",
    ),
    *(
        "$F(x, true)",
        "$F(1, 1)",
        '$F("1", true)',
        "$R(nil, $Ab)",
        "$R([1,[2, nil]],$R( [ 3 , nil ] , $A(1, [x)))",
        "$R([1], $Ab)",
    ),
    *(
        "$R([1, nil], nil)",
        "$R($Ab, $Ab)",
        "$D(2026-01-05)",
        "$D(2026-02-30)",
        "$A(9223372036854775808, x)",
        "$A(1.5, x)",
        None,
    ),
)


OF_TIME = (DATE, TIMESTAMP, DURATION)
_COMPARED = (
    *((one, one) for one in (STRING, BOOL, INT_TEXT, REAL_INT, *OF_TIME)),
    *((DATE, TIMESTAMP), (TIMESTAMP, DATE)),
    *((DEC2, DEC2), (DEC2, DEC5), (DEC5, DEC2), (DEC2, INT), (FLOAT, DEC2)),
)


def _row(name: str, function: Function, types: tuple[DataType, ...], subject: Expression) -> Row:
    return Row(name, types, elaborated(subject, _typer(types)), _arguments(name, types), function.ulps)


def _typer(types: Sequence[DataType]) -> ExpressionTyper:
    scope = {variable.name: type_ for variable, type_ in zip(_variables(types), types, strict=True)}
    return ExpressionTyper(scope, BUILT_IN, Diagnostics())


def _variables(types: Sequence[DataType]) -> tuple[Variable, ...]:
    return tuple(Variable(f"V{place}") for place in range(len(types)))


def _arguments(name: str, types: Sequence[DataType]) -> tuple[tuple[CellValue, ...], ...]:
    columns = [VALUES[type_] for type_ in types]
    if name in REGULAR:
        columns[1] = PATTERNS
    if name in ("format_time", "parse_time", "parse_date"):
        columns[1] = TIME_FORMATS
    if name in ("date", "timestamp", "parse_time", "parse_date") and types[0] == STRING:
        columns[0] = MOMENT_TEXTS
    if name == "truncate":
        columns[1] = TIME_UNITS
    if name == "like!":
        columns[1] = LIKE_PATTERNS
    if name == "regex_replace":
        columns[2] = REPLACEMENTS
    if name in ("regex_extract", "split_part", "repeat", "shl", "shr", "nth") and len(columns) > 1 and types[-1] == INT:
        columns[-1] = SMALL
    if name in ("pad_left", "pad_right"):
        columns[1] = SMALL
    everything = list(product(*columns))
    step = len(everything) // MOST_ROWS + 1
    while step > 1 and math.gcd(step, *map(len, columns)) > 1:
        step += 1
    taken = everything[::step] if len(types) > 2 else everything
    return tuple(taken)


_TAKEN: dict[DataType, tuple[DataType, ...]] = {
    NUMBER: (INT, FLOAT),
    ANY: (INT, FLOAT, STRING, BOOL, *OF_TIME, DEC2, INT_TEXT, REAL_INT, list_of(INT), list_of(FLOAT)),
    ORDERED: (INT, FLOAT, STRING, BOOL, DATE),
    PAIR: (INT_TEXT, REAL_INT),
    LIST: (list_of(INT), list_of(FLOAT)),
    TEXT_OR_LIST: (STRING, list_of(INT), list_of(FLOAT)),
}


def _type_choices(function: Function) -> Iterator[tuple[DataType, ...]]:
    """Yields the types of arguments that a function takes: all combinations, where they may differ."""
    if function.name in ("int", "float"):
        yield from ((INT,), (FLOAT,), (STRING,), (BOOL,))
        yield from ((one,) for one in OF_TIME if function.name == "int")
        yield from ((DEC2,), (DEC5,))
        return
    if function in RECORDS:  # whose first arguments are constants, below
        return
    if function.name in ("text!", "decimal"):  # by `string`, which becomes it, and below
        return
    if function.name in ELEMENTS:
        for one in (INT, FLOAT):
            whole = list_of(one)
            yield from {
                "list!": ((one,), (one, one)),
                "member!": ((INT, whole), (FLOAT, whole)),
                "concat": ((whole, whole),),
            }.get(function.name, ((whole, one),))
        return
    if function in TESTS and function is not NOT:
        plain = ((one, one) for one in (STRING, BOOL, INT_TEXT, REAL_INT))
        yield from (*product((INT, FLOAT), (INT, FLOAT)), *plain)
        return
    if function.name in ("scaled!", "unscaled!", "float_of!", "whole!", "order!", "decimal!"):
        return  # by what becomes them
    if function.name in ("abs", "floor", "ceil", "round", "sqrt"):
        yield from ((DEC2,), (DEC5,))
    if function.name in ("least", "greatest", "coalesce"):
        yield from ((DEC2, DEC5), (INT, DEC2))
    if function.is_lazy:  # the type checker gives what it chooses from one type
        conditions = (BOOL,) if function.parameters[0] == BOOL else ()
        yield from ((*conditions, one, one) for one in _TAKEN[ANY])
        return
    counts = range(len(function.parameters) - function.optional, len(function.parameters) + 1 + function.variadic)
    for count in counts:
        wanted = [function.parameter(place) for place in range(count)]
        choices = [_TAKEN.get(one, one.parts if one.name == "one of" else (one,)) for one in wanted]
        for types in product(*choices):
            if not function.is_mixed or len(set(types)) == 1 or set(types) <= {INT, FLOAT}:
                yield types
