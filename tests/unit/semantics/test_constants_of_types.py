"""Constants whose type tells what they mean, before types are known."""

from __future__ import annotations

from decimal import Decimal

import pytest

from emberlog.database import Database
from emberlog.diagnostics import EmberlogError


def answer(text: str) -> list[tuple[object, ...]]:
    return list(Database(engine="local").datalog(text)["p"].collect())


def test_a_decimal_of_constants_can_be_compared() -> None:
    assert answer('q(1). p(X) :- q(X), D = decimal("2.505", 2), D = decimal(2.51, 2), D > decimal(1, 2).') == [(1,)]


def test_a_constant_that_is_no_number_fails_when_it_is_met() -> None:
    with pytest.raises(EmberlogError, match="DL503"):
        answer('q(1). p(D) :- q(_), D = decimal("a", 2).')
    assert answer('q(1). p(D) :- q(X), X > 1, D = decimal("a", 2).') == []


def test_a_moment_of_constants_behind_the_calendar_is_an_error_only_where_it_is_met() -> None:
    assert answer('q(1). p(D) :- q(X), D = add_months(date "9999-12-01", 1), X > 1.') == []
    with pytest.raises(EmberlogError, match="DL515"):
        answer('q(1). p(D) :- q(X), D = add_months(date "9999-12-01", 1), X > 0.')


def test_the_smallest_decimal_can_be_written() -> None:
    assert answer("p(-92233720368547758.08m).") == [(Decimal("-92233720368547758.08"),)]
    for text in ("p(92233720368547758.08m).", "p(-92233720368547758.09m).", "p(1.0m - 92233720368547758.08m)."):
        with pytest.raises(EmberlogError, match="DL105"):
            answer(text)
