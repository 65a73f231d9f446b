from __future__ import annotations

import pytest

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, UNKNOWN, DataType, pair_of
from emberlog.logical.expressions import Risk, columns_of, risk_of, substitute, type_of
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
    ("text", "expected"),
    [
        ("I", Risk.NONE),
        ("cat(S, upper(S))", Risk.NONE),
        ("I + 1", Risk.OVERFLOW),
        ("abs(I)", Risk.OVERFLOW),
        ("I / 2", Risk.OVERFLOW),
        ("I / 0", Risk.FAULT),
        ("2 / I", Risk.FAULT),
        ("I mod I", Risk.FAULT),
        ("float(I)", Risk.NONE),
        ("float(S)", Risk.FAULT),
        ("int(F)", Risk.OVERFLOW),
        ("int(B)", Risk.NONE),
        ("sqrt(F)", Risk.FAULT),
        ("len(to_string(I / I))", Risk.FAULT),
        ("matches(S, 'a+')", Risk.NONE),
        ("matches(S, '[')", Risk.FAULT),
        ("matches(S, S)", Risk.FAULT),
        ("somebody_elses(I)", Risk.FAULT),
    ],
)
def test_risk_of(text: str, expected: Risk) -> None:
    assert risk_of(expression(text), TYPES) is expected


def test_substitute_replaces_columns_everywhere() -> None:
    replaced = substitute(expression("least(A + B, -A)"), {"A": Constant(3)})
    assert replaced == ast.Call("least", (expression("3 + B"), ast.Unary(Constant(3))))
    assert columns_of(replaced) == {"B"}


def test_substitute_returns_the_same_object_when_nothing_is_replaced() -> None:
    original = expression("least(A + B, -A)")
    assert substitute(original, {"C": Variable("D")}) is original
