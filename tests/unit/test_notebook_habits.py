"""Cells that are run again: rules that are replaced and taken back, and answers that are registered."""

from __future__ import annotations

import gc
import warnings
import weakref

import pytest

import emberlog
from emberlog.diagnostics import EmberlogError
from emberlog.io.local_relation import LocalRelation

REACH = "reach(X, Y) :- arc(X, Y). reach(X, Z) :- reach(X, Y), arc(Y, Z)."


@pytest.fixture
def db() -> emberlog.Database[LocalRelation]:
    database = emberlog.Database(engine="local")
    database["arc"] = [(1, 2), (2, 3)]
    return database


def test_rules_can_be_replaced_and_taken_back(db: emberlog.Database[LocalRelation]) -> None:
    db.rules("p(X) :- arc(X, _).", name="ends")
    db.rules("p(Y) :- arc(_, Y).", name="ends")
    assert set(db.query("p(X)?").collect()) == {(2,), (3,)}
    db.remove_rules("ends")
    with pytest.raises(EmberlogError, match=r"DL2\d\d|DL401"):
        db.query("p(X)?")
    with pytest.raises(EmberlogError, match=r"DL428.*`ends`"):
        db.remove_rules("ends")


def test_the_same_rules_count_once(db: emberlog.Database[LocalRelation]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", emberlog.EmberlogWarning)
        for _ in range(3):
            db.rules("p(X) :- arc(X, _).")
        assert set(db.query("p(X)?").collect()) == {(1,), (2,)}
    db.remove_rules()
    db.rules("p(X) :- arc(_, X).")
    assert set(db.query("p(X)?").collect()) == {(2,), (3,)}


def test_a_cell_that_registers_its_answer_can_be_run_again(db: emberlog.Database[LocalRelation]) -> None:
    def cell(program: str = REACH) -> set[tuple[int, ...]]:
        result = db.datalog(program)
        db["reach"] = result["reach"]
        return set(db["reach"].collect())

    first = cell()
    with pytest.warns(emberlog.EmberlogWarning, match=r"DL296.*`reach` has rules") as caught:
        assert cell() == first
    assert len(caught) == 1
    with pytest.warns(emberlog.EmberlogWarning, match=r"DL494.*`reach` has rules") as caught:
        assert cell(f"declare reach(x: int, y: int). {REACH}") == first
    assert len(caught) == 1
    del db["reach"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", emberlog.EmberlogWarning)
        result = db.datalog(REACH)
        db["way"] = result["reach"]
        assert db.datalog("p(X) :- way(X, X).")["p"].count() == 0
        assert db.datalog(REACH)["reach"].count() == 3


def test_a_local_result_stays_when_it_is_closed(db: emberlog.Database[LocalRelation]) -> None:
    with db.datalog(REACH) as result:
        db["way"] = result["reach"]
    assert not result.is_closed
    assert db.datalog("p(X) :- way(1, X).")["p"].count() == 2


def test_a_database_holds_no_result(db: emberlog.Database[LocalRelation]) -> None:
    result = db.datalog(REACH)
    watched = weakref.ref(result)
    del result
    gc.collect()
    assert watched() is None
