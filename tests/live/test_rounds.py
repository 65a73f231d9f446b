"""Bounded and staged recursions as their rounds and stages, against evaluation from scratch after each transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import pytest

from emberlog.database import Database
from tests.live.random_views import Pools, Row, check_view
from tests.oracle.evaluate import evaluate
from tests.programs import checked

INPUTS = "declare edge(X: int, Y: int).\ndeclare node(X: int).\n"
KEPT = {
    "rounds": "@iterations(4)\nrank(X, sum<R>) :- node(X), R = 1.\nrank(Y, sum<R>) :- rank(X, R), edge(X, Y).",
    "rounds of a set": "@iterations(3)\nnear(X, Y) :- edge(X, Y).\nnear(X, Z) :- near(X, Y), near(Y, Z).",
    "stages": "rank(X, 0, sum<R>) :- node(X), R = 1.\nrank(Y, I + 1, sum<R>) :- rank(X, I, R), edge(X, Y), I < 4.\n"
    "best(X, max<R>) :- rank(X, _, R).",
    "two relations in a stage": "a(X, 1, sum<X>) :- node(X).\nb(Y, I, max<N>) :- a(X, I, N), edge(X, Y).\n"
    "a(Y, I + 2, sum<N>) :- b(X, I, N), edge(X, Y), I <= 5.\na(3, 2, 7).",
    "a first stage that the body names": "rank(X, J, sum<R>) :- node(X), J = 0, R = 1.\n"
    "rank(Y, J, sum<R>) :- rank(X, I, R), edge(X, Y), J = I + 1, I < 3.",
    "one relation read before the other is told": "a(X, 0, sum<N>) :- node(X), N = 1.\n"
    "a(Y, I + 1, sum<N>) :- b(X, I, N), edge(X, Y), I < 3.\nb(X, I, N) :- a(X, I, N).\n"
    "p(X, Y) :- edge(X, Y).\np(X, Z) :- a(X, Y, _), q(Y, Z).\nq(X, Y) :- p(X, Y), node(X).\nq(_, 1)?\nb(2, _, N)?",
    "as many stages as the query asks for": "rank(X, 0, sum<R>) :- node(X), R = 1.\n"
    "rank(Y, I + 1, sum<R>) :- rank(X, I, R), edge(X, Y).\nrank(X, 3, R)?",
}
BEGIN = "p(X, sum<R>) :- node(X), R = 1.\n"
POOLS = Pools({"edge": [(*range(6), None)] * 2, "node": [(*range(6), None)]})


@pytest.mark.parametrize("shape", KEPT)
def test_rounds_and_stages_follow_transactions(shape: str) -> None:
    text = INPUTS + KEPT[shape]
    program = checked(text, params={})

    def from_scratch(rows: Mapping[str, Sequence[Row]]) -> Mapping[str, frozenset[Row]]:
        return evaluate(program, rows)

    random = Random(shape)
    rows = {name: [POOLS.row(random, name) for _ in range(5)] for name in program.inputs}
    assert check_view(text, rows, POOLS, from_scratch, random, 40) == 40


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (
            "@iterations(33)\np(X, sum<R>) :- node(X), R = 1.\np(Y, sum<R>) :- p(X, R), edge(X, Y).",
            "more than 32 rounds",
        ),
        (
            "p(X, I, sum<X>) :- edge(X, I).\np(Y, I + 1, sum<N>) :- p(_, I, N), node(Y), I < 4.",
            "more than 32 stages",
        ),
    ],
)
def test_what_is_too_long_is_computed_anew(rules: str, why: str) -> None:
    db = Database(engine="local")
    db["edge"], db["node"] = [(1, 2)], [(1,)]
    explained = db.live(INPUTS + rules).explain()
    assert "p: computed anew" in explained
    assert why in explained


@pytest.mark.parametrize("shape", KEPT)
def test_nothing_is_computed_anew(shape: str) -> None:
    db = Database(engine="local")
    db["edge"], db["node"] = [(1, 2)], [(1,)]
    assert "anew" not in db.live(INPUTS + KEPT[shape]).explain()
