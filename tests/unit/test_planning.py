"""A program that is run again is not planned again, unless something else than the data's values is different."""

from __future__ import annotations

import pytest

import emberlog
from emberlog import Database, planning
from emberlog.io.local_relation import LocalRelation
from emberlog.optimize import pipeline
from emberlog.planning import MOST_KEPT

TC = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z). tc($from, _)?"


@pytest.fixture
def db() -> Database[LocalRelation]:
    db = Database(engine="local")
    db["arc"] = [(1, 2), (2, 3)]
    return db


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is planned."""
    seen: list[str] = []

    def counted(checked, **options):  # type: ignore[no-untyped-def]
        seen.append(checked.program.source.text)
        return pipeline.plan_program(checked, **options)

    monkeypatch.setattr(planning, "plan_program", counted)
    return seen


def answers(db: Database[LocalRelation], start: object = 1) -> set[tuple[object, ...]]:
    return set(db.datalog(TC, params={"from": start})["tc"].collect())


def test_a_second_run_is_not_planned_again(db: Database[LocalRelation], planned: list[str]) -> None:
    assert answers(db) == answers(db) == {(1, 2), (1, 3)}
    assert planned == [TC]
    assert answers(db, 2) == {(2, 3)}
    assert len(planned) == 2


def test_other_data_is_answered_for(db: Database[LocalRelation], planned: list[str]) -> None:
    answers(db)
    db["arc"] = [(1, 2), (2, 3)][:1]
    assert answers(db) == {(1, 2)}
    db["arc"] = [("a", "b")]
    assert answers(db, "a") == {("a", "b")}
    assert len(planned) == 3


def test_another_function_of_the_same_name_is_called(db: Database[LocalRelation]) -> None:
    program = "f(X, Y) :- arc(X, _), Y = twice(X). f(_, _)?"
    db.function("twice", lambda value: 2 * value, ["int"], "int")
    assert set(db.datalog(program)["f"].collect()) == {(1, 2), (2, 4)}
    db.function("twice", lambda value: 3 * value, ["int"], "int")
    assert set(db.datalog(program)["f"].collect()) == {(1, 3), (2, 6)}


def test_equal_parameters_of_other_types_are_others(db: Database[LocalRelation], planned: list[str]) -> None:
    program = "p(V) :- V = $v. p(_)?"
    for value in (1, 1.0, True, "1"):
        (row,) = db.datalog(program, params={"v": value})["p"].collect()
        assert type(row[0]) is type(value)
    assert len(planned) == 4


def test_warnings_are_told_each_time(db: Database[LocalRelation]) -> None:
    program = "p(X) :- arc(X, Y)."
    told = []
    for _ in range(2):
        with pytest.warns(emberlog.EmberlogWarning) as caught:
            db.datalog(program)
        told.append([str(one.message) for one in caught])
    assert told[0] == told[1] != []


def test_few_programs_are_kept(db: Database[LocalRelation]) -> None:
    for number in range(MOST_KEPT + 5):
        db.datalog(f"p(X) :- arc(X, _), X > {number}.")
    assert len(db._plans._kept) == MOST_KEPT
