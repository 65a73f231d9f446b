"""Runs the conformance table on plain Python and on vectors."""

from __future__ import annotations

import numpy as np
import pytest

from emberlog.language.comparisons import COMPARISONS
from emberlog.language.faults import Fault
from emberlog.language.registry import BUILT_IN
from emberlog.language.values import CellValue
from emberlog.language.vectors import Vector, apply, compare, dtype_of
from emberlog.logical.python_evaluation import evaluate, holds
from emberlog.semantics.model import Compare
from emberlog.semantics.totality import can_fail, condition_can_fail, operation, type_of
from emberlog.syntax.ast import Binary, Call, Constant, Expression, Unary, Variable
from tests.conformance.table import Row, code, is_code, rows

TABLE = list(rows())


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.title)
def test_plain_python(row: Row) -> None:
    for arguments in row.arguments:
        values = dict(zip(row.names, arguments, strict=True))
        found: CellValue
        try:
            found = holds(row.subject, values) if isinstance(row.subject, Compare) else evaluate(row.subject, values)
        except Fault as fault:
            found = code(fault.code)
        expected = row.expected(arguments)
        assert row.agrees(found, expected), (arguments, found, expected)


def vector_of(values: list[CellValue], dtype: object) -> Vector:
    null = np.array([value is None for value in values])
    filled = np.empty(len(values), dtype)  # type: ignore[call-overload]
    some = next((value for value in values if value is not None), 0)
    for place, value in enumerate(values):
        filled[place] = some if value is None else value
    return Vector(filled, None, null if null.any() else None)


def over_vectors(row: Row) -> Vector:
    columns = {
        row.names[place]: vector_of([arguments[place] for arguments in row.arguments], dtype_of(type_))
        for place, type_ in enumerate(row.types)
    }

    def vector(expression: Expression) -> Vector:
        match expression:
            case Variable(name):
                return columns[name]
            case Constant(value):
                return vector_of([value] * len(row.arguments), dtype_of(type_of(expression, row.scope)))
            case Unary() | Binary() | Call():
                function, arguments = operation(expression)
                assert function is not None
                types = [type_of(one, row.scope) for one in arguments]
                return apply(function, [vector(one) for one in arguments], types)
            case _:
                raise AssertionError(expression)

    if isinstance(row.subject, Compare):
        return compare(COMPARISONS[row.subject.operator.value], vector(row.subject.left), vector(row.subject.right))
    return vector(row.subject)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.title)
def test_vectors(row: Row) -> None:
    found = over_vectors(row)
    for place, arguments in enumerate(row.arguments):
        expected = row.expected(arguments)
        is_bad = found.bad is not None and bool(found.bad[place])
        assert is_bad == is_code(expected), (arguments, expected)
        if is_bad:
            continue
        if found.null is not None and found.null[place]:
            assert expected is None or isinstance(row.subject, Compare), arguments
            continue
        value = found.values[place : place + 1].tolist()[0]
        value = value + 0.0 if isinstance(value, float) else value
        assert row.agrees(value, expected), (arguments, value, expected)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.title)
def test_what_is_said_to_have_a_value_always_has_one(row: Row) -> None:
    if isinstance(row.subject, Compare):
        assert not condition_can_fail(row.subject, row.scope)
    may_fail = not isinstance(row.subject, Compare) and can_fail(row.subject, row.scope)
    fails = any(is_code(row.expected(arguments)) for arguments in row.arguments)
    assert may_fail or not fails


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.title)
def test_values_are_of_the_type_that_the_entry_says(row: Row) -> None:
    if isinstance(row.subject, Compare):
        return
    result = dtype_of(type_of(row.subject, row.scope))
    values = [value for value in map(row.expected, row.arguments) if value is not None and not is_code(value)]
    kinds = {np.dtype(np.int64): int, np.dtype(np.float64): float, np.dtype(np.bool_): bool}
    assert {type(value) for value in values} <= {
        kinds.get(np.dtype(result), str),
        *([tuple] if result is object else []),
    }


def test_the_table_has_every_entry() -> None:
    assert {row.entry for row in TABLE} >= {*BUILT_IN.scalars, *COMPARISONS}
    assert sum(len(row.arguments) for row in TABLE) > 50_000
