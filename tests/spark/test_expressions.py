"""Expressions on Spark: the values and the faults of the reference, for every operator and function."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, DataType
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.frames.columns import spark_name
from emberlog.engines.spark.frames.expressions import ExpressionCompiler
from emberlog.engines.spark.frames.faults import coded_errors
from emberlog.io.spark_conversions import fact_of, local_frame
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.language.spark_columns import Scope
from emberlog.semantics.model import CellValue, Fact
from emberlog.syntax.ast import (
    Binary,
    BinaryOperator,
    Call,
    Constant,
    Expression,
    Unary,
    Variable,
)
from tests.oracle import expressions as reference
from tests.programs import parsed

TYPES: dict[str, DataType] = {"I": INT, "J": INT, "X": FLOAT, "Y": FLOAT, "S": STRING, "T": STRING, "B": BOOL}

INTS = (0, 1, -1, 7, -7, 2**63 - 1, -(2**63), None)
FLOATS = (0.0, 1.5, -2.5, 0.1, 1e300, 1e-7, 123456789.123, 1e16, 1e22, 2.675, -0.5, None)
TEXTS = ("", "abc", "ABß", "12", " 7 ", "1.5e3", "x\ny", "-3", None)


def rows() -> list[Fact]:
    """Every value beside many others."""
    return [
        (
            INTS[index % len(INTS)],
            INTS[(index // 3) % len(INTS)],
            FLOATS[index % len(FLOATS)],
            FLOATS[(index // 5) % len(FLOATS)],
            TEXTS[index % len(TEXTS)],
            TEXTS[(index // 2) % len(TEXTS)],
            (True, False, None)[index % 3],
        )
        for index in range(72)
    ]


ROWS = rows()


def expression(text: str) -> Expression:
    """The expression as a program writes it."""
    (rule,) = parsed(f"p({text}) :- q(I).").statements
    (term,) = rule.head.terms  # type: ignore[union-attr]
    return term  # type: ignore[return-value]


ONE, OTHER, REAL, OTHER_REAL = map(Variable, "IJXY")

EXPRESSIONS = [
    *(Binary(operator, ONE, OTHER) for operator in BinaryOperator),
    *(Binary(operator, ONE, Constant(3)) for operator in BinaryOperator),
    *(
        Binary(operator, left, right)
        for operator in (
            BinaryOperator.ADD,
            BinaryOperator.SUBTRACT,
            BinaryOperator.MULTIPLY,
            BinaryOperator.DIVIDE,
        )
        for left, right in ((REAL, OTHER_REAL), (ONE, REAL))
    ),
    Unary(ONE),
    Unary(REAL),
    *(
        Call(name, (argument,))
        for name in ("abs", "floor", "ceil", "round", "sqrt", "exp", "log")
        for argument in (ONE, REAL)
    ),
    *map(
        expression,
        (
            "round(X, 2)",
            "round(I, -1)",
            "round(X, I mod 3)",
            "pow(X, Y)",
            "least(I, X)",
            'greatest(S, T, "b")',
            "cat(S, T)",
            "len(S)",
            "substr(S, 1, 1)",
            "substr(S, -1, 3)",
            "substr(S, I, J)",
            "lower(S)",
            "upper(S)",
            'contains(S, "b")',
            "starts_with(S, T)",
            'matches(S, "[a-c]*")',
            'matches(S, ".*")',
            'matches(S, "\\\\w+")',
            "to_string(I)",
            "to_string(X)",
            "to_string(B)",
            "to_string(encd(I, X))",
            "to_number(S)",
            "int(S)",
            "int(X)",
            "int(B)",
            "float(S)",
            "float(I)",
            "float(B)",
            "encd(I, S)",
            "decd_first(encd(I, S))",
            "decd_second(encd(I, S))",
            "(I mod 5) div (J mod 4)",
            "((I mod 5) + 1) * ((J mod 4) - 2) - X / 3",
        ),
    ),
]


def by_reference(one: Expression, row: Fact) -> CellValue | reference.Fault:
    try:
        return reference.evaluate_expression(one, dict(zip(TYPES, row, strict=True)), BUILT_IN.scalars)
    except reference.Fault as fault:
        return fault


def on_spark(
    spark: SparkSession, expressions: Sequence[Expression], given: Sequence[Fact], functions: Functions = BUILT_IN
) -> list[Fact]:
    """The values of all expressions, row by row."""
    frame = local_frame(spark, [spark_name(name) for name in TYPES], list(TYPES.values()), given).coalesce(1)
    scope = Scope("r1")
    compiler = ExpressionCompiler(TYPES, functions, scope)
    columns = [compiler.compile(one).column.alias(f"value {index}") for index, one in enumerate(expressions)]
    with coded_errors({}):
        return [fact_of(row) for row in scope.with_bindings(frame).select(*columns).collect()]


def is_same(expected: CellValue, actual: CellValue) -> bool:
    if isinstance(expected, float) and isinstance(actual, float):
        return math.isclose(expected, actual, rel_tol=1e-12) and repr(expected == 0) == repr(actual == 0)
    return type(expected) is type(actual) and expected == actual


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_values(spark: SparkSession, ansi: str) -> None:
    """Whatever the session's ANSI mode is."""
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        # Rows on which everything has a value are many enough to be looked at together.
        for one in _groups():
            expressions, given = one
            for row, found in zip(given, on_spark(spark, expressions, given), strict=True):
                for each, actual in zip(expressions, found, strict=True):
                    expected = by_reference(each, row)
                    assert not isinstance(expected, reference.Fault)
                    assert is_same(expected, actual), f"{each} of {row}: {expected!r}, not {actual!r}"
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(before))


def _groups() -> list[tuple[list[Expression], list[Fact]]]:
    """Expressions together with the rows on which they have a value."""
    groups: dict[tuple[int, ...], list[Expression]] = {}
    for one in EXPRESSIONS:
        fine = tuple(i for i, row in enumerate(ROWS) if not isinstance(by_reference(one, row), reference.Fault))
        groups.setdefault(fine, []).append(one)
    return [(expressions, [ROWS[i] for i in fine]) for fine, expressions in groups.items()]


FAULTS = [
    "I div 0",
    "I mod 0",
    "1 / (I - I)",
    "9223372036854775807 + I",
    "-9223372036854775808 - I",
    "4611686018427387904 * (I + 1)",
    "abs(-9223372036854775808)",
    "(-9223372036854775807 - 1) div (0 - I)",
    "1e308 * 10.0",
    "sqrt(0 - I)",
    "log(I - 1)",
    "exp(1000.0)",
    "pow(10.0, 400)",
    "floor(1e19)",
    "int(1e19)",
    'int("99999999999999999999")',
    'int("1.5")',
    'float("twelve")',
    'to_number("1e999")',
    'matches("a", "(")',
]


@pytest.mark.parametrize("text", FAULTS)
def test_faults(spark: SparkSession, text: str) -> None:
    row: Fact = (1, 1, 1.0, 1.0, "", "", True)
    expected = by_reference(expression(text), row)
    assert isinstance(expected, reference.Fault), f"{text} has a value"
    with pytest.raises(EmberlogError) as caught:
        on_spark(spark, [expression(text)], [row])
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == expected.code
    assert ("regular expression" if text.startswith("matches") else "in rule r1") in diagnostic.message


def test_a_deep_expression_stays_small(spark: SparkSession) -> None:
    """Otherwise Spark would look at fifty operands 2⁵⁰ times."""
    sums: Expression = ONE
    quotients: Expression = ONE
    calls: Expression = ONE
    for _ in range(50):
        sums = Binary(BinaryOperator.ADD, sums, Constant(1))
    for _ in range(12):
        quotients = Binary(BinaryOperator.INTEGER_DIVIDE, Binary(BinaryOperator.ADD, quotients, Constant(1)), ONE)
        calls = Call("least", (Call("int", (Call("to_string", (calls,)),)), Constant(5)))
    assert on_spark(spark, [sums, quotients, calls], [(1, 1, 1.0, 1.0, "", "", True)]) == [(51, 13, 1)]


def test_a_chain_of_python_functions_stays_small(spark: SparkSession) -> None:
    """Spark would write each call into the four places that read it: 4¹² calls."""
    texts: Expression = REAL
    for _ in range(12):
        texts = Call("to_number", (Call("to_string", (texts,)),))
    assert on_spark(spark, [texts], [(1, 1, 1.5, 1.0, "", "", True)]) == [(1.5,)]


def test_a_registered_function_is_not_called_for_nulls_and_may_give_them(spark: SparkSession) -> None:
    functions = BUILT_IN.with_scalar("half", lambda n: n // 2 if n % 2 == 0 else None, [INT], INT)
    one = Binary(BinaryOperator.ADD, Call("half", (ONE,)), Constant(1))
    given: list[Fact] = [(value, 1, 1.0, 1.0, "", "", True) for value in (4, 3, None)]
    assert on_spark(spark, [one], given, functions) == [(3,), (None,), (None,)]


@pytest.mark.parametrize(
    ("implementation", "code"),
    [
        (lambda _: 1 // 0, "DL505"),
        (lambda _: "text", "DL505"),
        (lambda _: 2**64, "DL502"),
    ],
)
def test_a_registered_function_that_fails(spark: SparkSession, implementation: object, code: str) -> None:
    functions = BUILT_IN.with_scalar("bad", implementation, [INT], INT)  # type: ignore[arg-type]
    with pytest.raises(EmberlogError) as caught:
        on_spark(spark, [Call("bad", (ONE,))], [(1, 1, 1.0, 1.0, "", "", True)], functions)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]


def test_names_of_variables_never_meet() -> None:
    names = ("x", "X", "_x", "_X", "x_", "xX", "x_x", "arc.1", "arc_1", "arc_46_1", "ä", "Ä")
    encoded = {spark_name(name).lower() for name in names}
    assert len(encoded) == len(names)
