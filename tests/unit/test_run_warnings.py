"""Warnings about runs: recursions that were cut off, and duplicate rows that do not count."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest

import emberlog
from emberlog.config import Execution
from emberlog.events import Event, RecursionCutOff
from emberlog.io.local_relation import LocalRelation

PIECES = """
    @iterations(20).
    pieces(P, sum<N>) :- order(P, N).
    pieces(P, sum<M>) :- pieces(W, N), part(W, P, K), M = N * K.
"""
"""How many pieces of each part an order needs."""

TREE = [("car", "wheel", 4), ("wheel", "screw", 5)]
CYCLE = [*TREE, ("screw", "wheel", 1)]

HOW = {
    "interpreter": Execution(),
    "one worker": Execution(workers=1),
    "three workers": Execution(workers=3),
}


@pytest.fixture
def db() -> emberlog.Database[LocalRelation]:
    database = emberlog.Database(engine="local")
    database["order"] = [("car", 1)]
    return database


def told(caught: pytest.WarningsRecorder, code: str) -> list[str]:
    messages = (one.message for one in caught if isinstance(one.message, emberlog.EmberlogWarning))
    return [str(one) for one in messages if one.diagnostic.code == code]


@pytest.mark.parametrize("how", HOW)
def test_a_recursion_that_is_cut_off_says_so(db: emberlog.Database[LocalRelation], how: str) -> None:
    db["part"] = CYCLE
    heard: list[Event] = []
    with pytest.warns(emberlog.EmberlogWarning) as caught:
        result = db.datalog(PIECES, execution=HOW[how], listener=heard.append)
    (text,) = told(caught, "DL491")
    assert "`pieces` had not come to rest: the last of 20 rounds changed 1 fact" in text
    assert caught[0].filename == __file__
    assert result.cut_off == (RecursionCutOff(result.cut_off[0].stratum, ("pieces",), 20, 1),)
    assert [one for one in heard if isinstance(one, RecursionCutOff)] == list(result.cut_off)


@pytest.mark.parametrize("how", HOW)
def test_a_recursion_that_came_to_rest_does_not(db: emberlog.Database[LocalRelation], how: str) -> None:
    db["part"] = TREE
    with warnings.catch_warnings():
        warnings.simplefilter("error", emberlog.EmberlogWarning)
        result = db.datalog(PIECES, execution=HOW[how])
    assert result.cut_off == ()
    assert set(result["pieces"].collect()) == {("car", 1), ("wheel", 4), ("screw", 20)}


def test_a_warning_about_a_run_can_be_an_error(db: emberlog.Database[LocalRelation]) -> None:
    db["part"] = CYCLE
    with warnings.catch_warnings():
        warnings.simplefilter("error", emberlog.EmberlogWarning)
        with pytest.raises(emberlog.EmberlogWarning, match="DL491"):
            db.datalog(PIECES)
        db["part"] = TREE
        assert db.datalog(PIECES)["pieces"].count() == 3


SALES = [("tea", 3), ("tea", 3), ("tea", 3), ("jam", 2)]
TOTAL = "total(I, sum<P>) :- sale(I, P)."


def csv(folder: Path) -> Path:
    (folder / "sale.csv").write_text("".join(f"{item},{price}\n" for item, price in SALES))
    return folder / "sale.csv"


@pytest.mark.parametrize("source", [lambda _: SALES, lambda _: pd.DataFrame(SALES), csv])
@pytest.mark.parametrize("program", [TOTAL, "n(count<_>) :- sale(I, P).", "a(avg<P>) :- sale(I, P), P > 1."])
def test_duplicate_rows_that_would_change_a_sum_are_told_once(
    db: emberlog.Database[LocalRelation], source: object, program: str, tmp_path: Path
) -> None:
    db["sale"] = source(tmp_path)  # type: ignore[operator]
    with pytest.warns(emberlog.EmberlogWarning) as caught:
        db.datalog(program)
        db.datalog(program)
    (text,) = told(caught, "DL492")
    assert "2 duplicate rows of `sale` do not count in rule r1: relations are sets" in text


@pytest.mark.parametrize(
    "program", ["m(I, max<P>) :- sale(I, P).", "p(I) :- sale(I, P).", "n(countd<P>) :- sale(_, P)."]
)
def test_duplicate_rows_that_change_nothing_are_not_told(db: emberlog.Database[LocalRelation], program: str) -> None:
    db["sale"] = SALES
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        db.datalog(program)
    assert not any("DL492" in str(one.message) for one in caught)
