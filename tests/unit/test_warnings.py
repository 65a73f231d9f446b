"""Warnings reach whoever calls Emberlog: as warnings of Python, at their line, once, and as errors if they like."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

import emberlog
from emberlog import EmberlogWarning

ONCE = "p(X) :- e(X, Once)."


@pytest.fixture
def db() -> emberlog.Database[emberlog.LocalRelation]:
    database = emberlog.Database(engine="local")
    database["e"] = [(1, 2)]
    return database


def test_a_warning_of_a_program_is_one_of_python(db: emberlog.Database[emberlog.LocalRelation]) -> None:
    with pytest.warns(EmberlogWarning, match=r"warning\[DL290\]: the variable `Once` occurs only once") as caught:
        assert db.datalog(ONCE)["p"].collect() == [(1,)]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    message = caught[0].message
    assert isinstance(message, EmberlogWarning)
    assert message.diagnostic.code == "DL290"
    assert "DL290" in Path(__file__).read_text(encoding="utf-8").splitlines()[caught[0].lineno - 2]


def test_every_way_to_give_a_program_warns_once(db: emberlog.Database[emberlog.LocalRelation]) -> None:
    for ask in (db.datalog, db.check, db.cost):
        with pytest.warns(EmberlogWarning) as caught:
            ask(ONCE)
        assert [(one.filename, one.category) for one in caught] == [(__file__, EmberlogWarning)]
    db.rules(ONCE)
    with pytest.warns(EmberlogWarning) as caught:
        db.query("p(X)?")
    assert [one.filename for one in caught] == [__file__]


def test_warnings_can_be_errors_and_the_database_goes_on(db: emberlog.Database[emberlog.LocalRelation]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", emberlog.EmberlogWarning)
        with pytest.raises(EmberlogWarning, match="DL290"):
            db.datalog(ONCE)
        assert db.datalog("p(X) :- e(X, _).")["p"].collect() == [(1,)]


def test_one_line_of_a_loop_is_warned_once(db: emberlog.Database[emberlog.LocalRelation]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        sys.modules[__name__].__dict__.pop("__warningregistry__", None)
        for _ in range(3):
            db.datalog(ONCE)
    assert len(caught) == 1
