"""What a null does beside a fault, and that a choice meets only what it chooses."""

from __future__ import annotations

import pytest

from emberlog import Database, EmberlogError
from emberlog.provenance.asked import asked_in_text


def answers(program: str, **data: list[tuple[object, ...]]) -> set[tuple[object, ...]]:
    db = Database(engine="local")
    for name, rows in data.items():
        db[name] = rows
    return set(db.datalog(program)["p"].facts)


def test_a_null_makes_null_of_an_operation_although_another_operand_has_no_value() -> None:
    assert answers("p(X, (X div 0) + Y) :- t(X, Y).", t=[(1, None)]) == {(1, None)}
    assert answers("p(X, Y + (X div 0)) :- t(X, Y).", t=[(1, None)]) == {(1, None)}
    with pytest.raises(EmberlogError, match="DL501"):
        answers("p(X, Y + (X div 0)) :- t(X, Y).", t=[(1, 1)])


def test_what_stands_behind_a_value_is_not_computed() -> None:
    assert answers("p(X, coalesce(Y, X div 0)) :- t(X, Y).", t=[(1, 2)]) == {(1, 2)}
    with pytest.raises(EmberlogError, match="DL501"):
        answers("p(X, coalesce(Y, X div 0)) :- t(X, Y).", t=[(1, 2), (1, None)])


def test_a_null_in_a_question_is_refused() -> None:
    with pytest.raises(EmberlogError, match="asks for null"):
        asked_in_text("p(1, null)")


def test_a_constant_null_joins_nothing_after_all_rewrites() -> None:
    program = "a(null, 1). a(2, 2). c(null). c(2). b(Y, X) :- a(Y, X). p(X) :- b(Y, X), c(Y)."
    assert answers(program) == {(2,)}
    assert answers("n(X, Y) :- t(X), Y = null. p(X) :- n(X, Y), n(_, Y).", t=[(1,)]) == set()
    assert answers("n(X, Y) :- t(X), Y = null. p(X) :- n(X, Y), !n(_, Y).", t=[(1,)]) == {(1,)}
