"""Facts as a person reads them."""

from __future__ import annotations

import pytest

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, TIMESTAMP, DataType, list_of, pair_of
from emberlog.render.answer_text import Answer, answer_of, answer_text, value_text
from emberlog.semantics.model import CellValue
from tests.programs import checked


def test_columns_are_aligned_numbers_to_the_right() -> None:
    facts = (("Ann", 5, 1.5), ("Christopher", 1_000, 10.0))
    answer = Answer("p", "p(Name, N, F)", (STRING, INT, FLOAT), facts, 2)
    assert answer_text(answer) == "p(Name, N, F): 2 facts\n  Ann             5   1.5\n  Christopher  1000  10.0"


def test_what_is_left_out_is_said() -> None:
    answer = Answer("p", "p(X)", (INT,), ((1,),), 1_204)
    assert answer_text(answer, hint="ask for more").endswith("\n  …  (1 of 1,204 shown; ask for more)")
    assert answer_text(Answer("p", "p(X)", (INT,), (), 1_204)) == "p(X): 1,204 facts"


def test_no_facts() -> None:
    assert answer_text(Answer("p", "p(X)", (INT,), (), 0)) == "p(X): 0 facts"


@pytest.mark.parametrize(
    ("queries", "title"),
    [
        ("", "p(Name, Age)"),
        ('p("Ann", _)?', 'p("Ann", _)'),
        ("p(Who, Years)?", "p(Who, Years)"),
        ("p(_, _)?", "p(Name, Age)"),
        ('p("Ann", _)? p("Bob", _)?', "p(Name, Age)"),
    ],
)
def test_the_title_is_the_query(queries: str, title: str) -> None:
    program = checked(f"declare e(n: string, a: int).\np(Name, Age) :- e(Name, Age).\n{queries}")
    assert answer_of(program, "p", (), 0).title == title


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (None, INT, "null"),
        (True, BOOL, "true"),
        (1.0, FLOAT, "1.0"),
        ("a\tb", STRING, "a\\tb"),
        ("Köln", STRING, "Köln"),
        ((1, 2), list_of(INT), "[1, 2]"),
        ((), list_of(INT), "[]"),
        ((1.5, "x"), pair_of(FLOAT, STRING), "(1.5, x)"),
        (0, TIMESTAMP, "1970-01-01 00:00:00"),
        (1_500_000, TIMESTAMP, "1970-01-01 00:00:01.500000"),
        (2**62, TIMESTAMP, str(2**62)),
    ],
)
def test_values(value: CellValue, type_: DataType, text: str) -> None:
    assert value_text(value, type_) == text


def test_long_values_are_cut() -> None:
    shown = answer_text(Answer("p", "p(X)", (STRING,), (("x" * 100,),), 1)).splitlines()[1]
    assert len(shown) == 62
    assert shown.endswith("x…")
