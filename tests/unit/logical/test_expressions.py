from __future__ import annotations

import pytest

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, UNKNOWN, DataType, pair_of
from emberlog.logical.expressions import columns_of, substitute
from emberlog.semantics.totality import FAILS, TRY, can_fail, type_of
from emberlog.syntax import ast
from emberlog.syntax.ast import Constant, Expression, Variable
from tests.programs import parsed

TYPES = {"I": INT, "F": FLOAT, "S": STRING, "B": BOOL}


def expression(text: str) -> Expression:
    (rule,) = parsed(f"p({text}) :- q(X).").statements
    assert isinstance(rule, ast.Rule)
    (term,) = rule.head.terms
    assert not isinstance(term, ast.AggregateTerm)
    return term


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I", INT),
        ("I + 1", INT),
        ("I + F", FLOAT),
        ("I / 2", FLOAT),
        ("I div 2", INT),
        ("-F", FLOAT),
        ("'a'", STRING),
        ("true", BOOL),
        ("cat(S, S)", STRING),
        ("encd(I, S)", pair_of(INT, STRING)),
        ("decd_second(encd(I, S))", STRING),
        ("greatest(I, F)", FLOAT),
        ("$p", UNKNOWN),
        ("Unheard", UNKNOWN),
    ],
)
def test_type_of(text: str, expected: DataType) -> None:
    assert type_of(expression(text), TYPES) == expected


@pytest.mark.parametrize(
    ("text", "fails", "fails_within_range"),
    [
        ("I", False, False),
        ("cat(S, upper(S))", False, False),
        ("I + 1", True, False),
        ("1 + 1", False, False),
        ("9223372036854775807 + 1", True, False),
        ("abs(I)", True, False),
        ("abs(F)", False, False),
        ("floor(I)", False, False),
        ("floor(F)", True, False),
        ("floor(1e20 * 2.0)", True, False),
        ("I / 2", False, False),
        ("I / 0", True, True),
        ("2 / I", True, True),
        ("I div 2", False, False),
        ("I div -1", True, True),
        ("I mod I", True, True),
        ("float(I)", False, False),
        ("float(S)", True, True),
        ("int(F)", True, True),
        ("int(B)", False, False),
        ("sqrt(F)", True, True),
        ("len(to_string(I / I))", True, True),
        ("matches(S, 'a+')", False, False),
        ("matches(S, '[')", True, True),
        ("matches(S, S)", True, True),
        ("somebody_elses(I)", True, True),
    ],
)
def test_what_can_fail(text: str, fails: bool, fails_within_range: bool) -> None:
    assert can_fail(expression(text), TYPES) is fails
    assert can_fail(expression(text), TYPES, beyond_range=False) is fails_within_range


def test_what_is_tried_cannot_fail() -> None:
    quotient = expression("2 / I")
    assert not can_fail(ast.Call(TRY, (quotient,)), TYPES)
    assert not can_fail(ast.Call(FAILS, (quotient,)), TYPES)
    assert type_of(ast.Call(TRY, (quotient,)), TYPES) == FLOAT
    assert type_of(ast.Call(FAILS, (quotient,)), TYPES) == BOOL


def test_substitute_replaces_columns_everywhere() -> None:
    replaced = substitute(expression("least(A + B, -A)"), {"A": Constant(3)})
    assert replaced == ast.Call("least", (expression("3 + B"), ast.Unary(Constant(3))))
    assert columns_of(replaced) == {"B"}


def test_substitute_returns_the_same_object_when_nothing_is_replaced() -> None:
    original = expression("least(A + B, -A)")
    assert substitute(original, {"C": Variable("D")}) is original
