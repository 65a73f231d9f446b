"""Proofs show dates, moments, durations and decimals as programs write them, and not the ints that they are kept as."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from emberlog import Database
from emberlog.io.local_relation import LocalRelation
from emberlog.result import Result

PROGRAM = """
best(X, Y, min<F>) :- fare(X, Y, F, _, _).
best(X, Z, min<F + G>) :- best(X, Y, F), fare(Y, Z, G, _, _).
total(X, sum<F>, collect<D>) :- fare(X, _, F, D, _).
late(X, D, T - timestamp "2026-01-05 10:00:00") :- fare(X, _, _, D, T), D > date "2026-01-05".
"""


@pytest.fixture
def result() -> Result[LocalRelation]:
    database = Database(engine="local")
    database["fare"] = [
        ("a", "b", Decimal("0.10"), date(2026, 1, 5), datetime(2026, 1, 5, 10, 30)),
        ("b", "c", Decimal("0.20"), date(2026, 1, 6), datetime(2026, 1, 6, 10)),
    ]
    return database.datalog(PROGRAM, provenance=True)


def test_a_proof(result: Result[LocalRelation]) -> None:
    text = str(result.why("best", ("a", "c", Decimal("0.30"))))
    assert 'best("a", "c", 0.30m)' in text and "G = 0.20m, F = 0.10m" in text
    assert 'fare("a", "b", 0.10m, date "2026-01-05", timestamp "2026-01-05 10:30:00")' in text


def test_conditions_and_durations(result: Result[LocalRelation]) -> None:
    proof = result.why("late", ("b", date(2026, 1, 6), None))
    assert 'late("b", date "2026-01-06", 1 day)' in str(proof)
    assert 'date "2026-01-06" > date "2026-01-05"   holds' in str(proof)
    assert proof.to_json()["nodes"][0]["fact"] == ["b", "2026-01-06", "P1D"]  # type: ignore[index]


def test_contributions(result: Result[LocalRelation]) -> None:
    text = str(result.why("total", ("a", None, None)))
    assert 'total("a", 0.10m, (date "2026-01-05"))' in text and "sum<0.10m>" in text and 'collect<date "' in text


def test_what_is_not_there_and_traces(result: Result[LocalRelation]) -> None:
    refuted = str(result.why_not("best", ("a", "c", Decimal("0.40"))))
    assert 'best("a", "c", 0.40m)' in refuted and 'another value: best("a", "c", 0.30m)' in refuted
    assert 'best("a", "c", 0.30m)' in str(result.trace("best", ("a", "c", None)))
