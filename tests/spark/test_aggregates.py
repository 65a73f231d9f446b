"""Aggregates on Spark: each gives what the reference gives, with nulls, ties, pairs and without groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, DataType, list_of, pair_of
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.frames.aggregates import Aggregator
from emberlog.engines.spark.frames.columns import spark_name
from emberlog.engines.spark.frames.faults import coded_errors
from emberlog.io.spark_conversions import fact_of, local_frame
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.logical.nodes import AggregateColumn, Field
from emberlog.semantics.model import CellValue, Fact
from tests.oracle.aggregates import aggregate

PAIR = pair_of(INT, STRING)
TYPES: dict[str, DataType] = {"G": INT, "k": INT, "N": INT, "X": FLOAT, "S": STRING, "B": BOOL, "P": PAIR}

ROWS: list[Fact] = [
    (1, 1, 5, 0.5, "a", True, (1, "a")),
    (1, 2, 5, 2.0, "b", False, (2, "b")),
    (1, 1, 2**62, None, None, None, None),
    (1, None, 0, 0.0, "a", True, (1, "c")),
    (2, 3, None, 0.5, "b", None, (2, "a")),
    (2, 3, 1, 1.5, "b", False, (2, "b")),
    (None, 1, 1, 1.0, "c", True, (0, "z")),
    (None, 1, 1, 1.0, "c", True, (0, "z")),
    (3, None, None, None, None, None, None),
]

COLUMNS = (
    ("count", ()),
    ("count", ("S",)),
    ("countd", ("S",)),
    ("sum", ("N",)),
    ("sum", ("X",)),
    ("avg", ("N",)),
    ("avg", ("X",)),
    ("min", ("S",)),
    ("max", ("P",)),
    ("mmin", ("X",)),
    ("mmax", ("N",)),
    ("any", ("B",)),
    ("all", ("B",)),
    ("argmin", ("N", "S")),
    ("argmax", ("N", "S")),
    ("argmax", ("S", "k")),
    ("argmax", ("P", "k")),
    ("argmax", ("X", "k")),
    ("argmax", ("B", "N")),
    ("collect", ("X",)),
    ("collect", ("P",)),
    ("mcount", ("k",)),
    ("mcount", ("k", "X")),
    ("msum", ("S", "X")),
    ("msum", ("S", "N")),
)


def result_type(function: str, arguments: Sequence[str]) -> DataType:
    return BUILT_IN.aggregates[function].result([TYPES[name] for name in arguments])


def aggregates() -> list[AggregateColumn]:
    return [
        AggregateColumn(Field(f"a{index}", result_type(function, arguments)), function, tuple(arguments))
        for index, (function, arguments) in enumerate(COLUMNS)
    ]


def on_spark(
    spark: SparkSession,
    keys: Sequence[str],
    columns: Sequence[AggregateColumn],
    rows: Sequence[Fact] = ROWS,
    functions: Functions = BUILT_IN,
) -> list[Fact]:
    frame = local_frame(spark, [spark_name(name) for name in TYPES], list(TYPES.values()), rows)
    types = {spark_name(name): type_ for name, type_ in TYPES.items()}
    with coded_errors({}):
        return [fact_of(row) for row in Aggregator(keys, columns, functions, "r1").combine(frame, types).collect()]


def is_same(actual: CellValue, expected: CellValue) -> bool:
    if isinstance(actual, float) and isinstance(expected, float):
        return math.isclose(actual, expected, rel_tol=1e-12)
    return type(actual) is type(expected) and actual == expected


@pytest.mark.parametrize("keys", [("G",), ()])
def test_every_aggregate(spark: SparkSession, keys: tuple[str, ...]) -> None:
    names = list(TYPES)
    groups: dict[Fact, list[Fact]] = {}
    for row in ROWS:
        groups.setdefault(tuple(row[names.index(key)] for key in keys), []).append(row)
    found = {fact[: len(keys)]: fact[len(keys) :] for fact in on_spark(spark, keys, aggregates())}
    assert found.keys() == groups.keys()
    for key, members in groups.items():
        for one, actual in zip(aggregates(), found[key], strict=True):
            bag = [tuple(row[names.index(name)] for name in one.arguments) for row in members]
            expected = aggregate(BUILT_IN.aggregates[one.function], bag)
            if one.field.type == FLOAT and expected == 0:
                expected = 0.0
            assert is_same(actual, expected), f"{one.function}<{one.arguments}> of {key}: {expected}, not {actual}"


@pytest.mark.parametrize(
    ("functions", "expected"),
    [(("count", "countd"), [(0, 0)]), (("count", "mcount"), [(0, 0)]), (("count", "min"), []), (("msum",), [])],
)
def test_no_rows_and_no_group(spark: SparkSession, functions: tuple[str, ...], expected: list[Fact]) -> None:
    """Only counts have a value for nothing."""
    arguments = {"count": (), "countd": ("S",), "mcount": ("k",), "min": ("N",), "msum": ("S", "N")}
    columns = [
        AggregateColumn(Field(f"a{index}", INT), function, arguments[function])
        for index, function in enumerate(functions)
    ]
    assert on_spark(spark, (), columns, ()) == expected


def test_a_sum_that_only_overflows_on_the_way_is_exact(spark: SparkSession) -> None:
    rows: list[Fact] = [(1, 1, n, 0.0, "", True, None) for n in (2**63 - 1, 2**63 - 1, -(2**63 - 1), -5)]
    column = AggregateColumn(Field("total", INT), "sum", ("N",))
    assert on_spark(spark, ("G",), [column], rows) == [(1, 2**63 - 6)]


@pytest.mark.parametrize(
    ("function", "arguments", "values", "code"),
    [
        ("sum", ("N",), (2**63 - 1, 1), "DL502"),
        ("msum", ("k", "N"), (1, -1), "DL504"),
        ("mcount", ("k", "N"), (1, -1), "DL504"),
    ],
)
def test_faults(
    spark: SparkSession, function: str, arguments: tuple[str, ...], values: tuple[int, ...], code: str
) -> None:
    rows: list[Fact] = [(1, index, value, 0.0, "", True, None) for index, value in enumerate(values)]
    column = AggregateColumn(Field("total", INT), function, arguments)
    with pytest.raises(EmberlogError) as caught:
        on_spark(spark, ("G",), [column], rows)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, "in rule r1" in diagnostic.message) == (code, True)


def test_a_registered_aggregate(spark: SparkSession) -> None:
    functions = BUILT_IN.with_aggregate("middle", lambda values: values[len(values) // 2], INT)
    column = AggregateColumn(Field("m", INT), "middle", ("k",))
    assert set(on_spark(spark, ("G",), [column], functions=functions)) == {(1, 1), (2, 3), (None, 1), (3, None)}


def test_lists_keep_repeats_in_order(spark: SparkSession) -> None:
    column = AggregateColumn(Field("all", list_of(STRING)), "collect", ("S",))
    assert set(on_spark(spark, ("G",), [column])) == {
        (1, ("a", "a", "b")),
        (2, ("b", "b")),
        (None, ("c", "c")),
        (3, ()),
    }
