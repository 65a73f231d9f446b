"""Runs the conformance table on columns of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import SparkSession

from emberlog.datatypes import INT
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.frames.aggregates import Aggregator
from emberlog.engines.spark.frames.columns import spark_name
from emberlog.engines.spark.frames.expressions import ExpressionCompiler
from emberlog.engines.spark.frames.faults import coded_errors
from emberlog.io.spark_conversions import fact_of, local_frame
from emberlog.language.registry import BUILT_IN
from emberlog.language.spark_columns import Scope
from emberlog.language.values import CellValue
from emberlog.logical.nodes import AggregateColumn, Field
from emberlog.semantics.model import Compare
from emberlog.semantics.totality import FAILS, TRY, can_fail
from emberlog.syntax.ast import Call, Expression
from tests.conformance.bags import Bag, Bags, all_bags
from tests.conformance.table import Row, is_code, rows

TABLE = list(rows())
AT_ONCE = 12
"""Rows of the table that go into one frame: their columns stand side by side."""

IN_DEFAULT_RUN = 3
"""One code in so many is asked for by default, in a job of its own; `python3 dev.py spark-full` asks for all."""


def by_types() -> Iterator[tuple[Row, ...]]:
    """Yields parts of the table whose rows have the same arguments."""
    same: dict[tuple[object, ...], list[Row]] = {}
    for row in TABLE:
        same.setdefault((row.types, row.arguments), []).append(row)
    for found in same.values():
        for begin in range(0, len(found), AT_ONCE):
            yield tuple(found[begin : begin + AT_ONCE])


def compiled(
    spark: SparkSession, part: Sequence[Row], columns: Sequence[tuple[str, Expression | Compare]]
) -> list[tuple[CellValue, ...]]:
    first = part[0]
    names = [spark_name(name) for name in first.names]
    rows = [(number, *one) for number, one in enumerate(first.arguments)]
    frame = local_frame(spark, ["number", *names], [INT, *first.types], rows)
    scope = Scope("r1")
    compiler = ExpressionCompiler(first.scope, BUILT_IN, scope)
    selected = []
    for name, subject in columns:
        if isinstance(subject, Compare):
            selected.append(compiler.conditions([subject])[0].alias(name))
        else:
            selected.append(compiler.compile(subject).column.alias(name))
    found = scope.with_bindings(frame).select("number", *selected).collect()
    ordered = sorted(found, key=lambda one: one["number"])
    return [fact_of(one)[1:] for one in ordered]


@pytest.mark.spark
@pytest.mark.parametrize("part", list(by_types()), ids=lambda part: f"{part[0].title} and {len(part) - 1} more")
def test_columns_of_spark(spark: SparkSession, part: tuple[Row, ...]) -> None:
    columns: list[tuple[str, Expression | Compare]] = []
    for number, row in enumerate(part):
        if isinstance(row.subject, Compare):
            columns += [(f"value {number}", row.subject), (f"fails {number}", row.subject)]
        else:
            columns.append((f"value {number}", Call(TRY, (row.subject,))))
            columns.append((f"fails {number}", Call(FAILS, (row.subject,))))
    found = compiled(spark, part, columns)
    for place, arguments in enumerate(part[0].arguments):
        for number, row in enumerate(part):
            value, fails = found[place][2 * number : 2 * number + 2]
            expected = row.expected(arguments)
            if isinstance(row.subject, Compare):
                assert (value is True) == expected, (row.title, arguments, value, expected)
                continue
            assert fails is is_code(expected), (row.title, arguments, value, expected)
            if not fails:
                assert row.agrees(value, expected), (row.title, arguments, value, expected)


MAY_FAIL = [row for row in TABLE if not isinstance(row.subject, Compare) and can_fail(row.subject, row.scope)]
FAILING = [
    pytest.param(row, id=row.title, marks=() if number % IN_DEFAULT_RUN == 0 else pytest.mark.slow)
    for number, row in enumerate(row for row in MAY_FAIL if any(map(is_code, map(row.expected, row.arguments))))
]


@pytest.mark.spark
@pytest.mark.parametrize("row", FAILING)
def test_codes_of_spark(spark: SparkSession, row: Row) -> None:
    """The first row of each code that an entry fails with."""
    firsts = {expected: one for one in reversed(row.arguments) if is_code(expected := row.expected(one))}
    for expected, arguments in firsts.items():
        alone = Row(row.entry, row.types, row.subject, (arguments,), row.ulps)
        with pytest.raises(EmberlogError) as caught, coded_errors({}):
            compiled(spark, [alone], [("value", row.subject)])
        assert caught.value.diagnostics[0].code == expected, arguments


@pytest.mark.spark
@pytest.mark.parametrize("bags", list(all_bags()), ids=lambda bags: bags.title)
def test_aggregates_of_spark(spark: SparkSession, bags: Bags) -> None:
    """All bags that have a value at once, as groups; then one that has none."""
    failing = [bag for bag in bags.bags if is_code(bags.expected(bag))]
    groups = [bag for bag in bags.bags if bag and not is_code(bags.expected(bag))]
    found = aggregated(spark, bags, groups)
    for number, bag in enumerate(groups):
        assert bags.agrees(found[number], bags.expected(bag), bag), (bag, found[number], bags.expected(bag))
    if failing:
        with pytest.raises(EmberlogError) as caught, coded_errors({}):
            aggregated(spark, bags, failing[:1])
        assert caught.value.diagnostics[0].code == bags.expected(failing[0])


def aggregated(spark: SparkSession, bags: Bags, groups: Sequence[Bag]) -> dict[int, CellValue]:
    names = [f"V{place}" for place in range(len(bags.types))]
    types = {spark_name(name): type_ for name, type_ in zip(("G", *names), (INT, *bags.types), strict=True)}
    rows = [(number, *arguments) for number, bag in enumerate(groups) for arguments in bag]
    frame = local_frame(spark, list(types), list(types.values()), rows)
    column = AggregateColumn(Field("value", bags.result), bags.aggregate.name, tuple(names))
    made = Aggregator(("G",), (column,), BUILT_IN, "r1").combine(frame, types).collect()
    return {fact[0]: fact[1] for fact in map(fact_of, made)}  # type: ignore[misc]
