"""Live views of programs that generators rarely make: relations with a choice or a subsumption, declared types, values
at the edges of their types, and relations that have facts, rules and data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.io.local_relation import LocalRelation
from tests.live.random_views import Pools, Row, check_view
from tests.oracle.evaluate import evaluate
from tests.programs import checked

INTS: Sequence[Any] = (*range(6), None)
HUGE = (2**63 - 1, -(2**63), 2**62, 1, -1, None)
TEXTS = ("", "a", "b", "é", "ab", "A\u0301", "Á", "\n", "x\0y", None)
FLOATS = (0.0, -0.0, 0.5, 0.1, 1e308, -1e308, 5e-324, None)
DECLARED = "declare edge(X: int, Y: int).\ndeclare node(X: int).\n"
OF_INTS = {"edge": [INTS, INTS], "node": [INTS]}

PROGRAMS: Mapping[str, tuple[str, Mapping[str, Sequence[Sequence[Any]]]]] = {
    "choice": ("declare parent(p: int, c: int) choice c.\nparent(X, Y) :- edge(X, Y).", OF_INTS),
    "choice in a recursion": (
        "declare parent(p: int, c: int) choice c.\nparent(0, 0).  parent(X, Y) :- parent(_, X), edge(X, Y).",
        OF_INTS,
    ),
    "equivalence": (
        "declare same(a: int, b: int) equivalence.\nsame(X, Y) :- edge(X, Y).  same(1, 2).\n"
        "class(X, count<Y>) :- same(X, Y).  alone(X) :- node(X), !same(X, X).",
        OF_INTS,
    ),
    "equivalence in a recursion": (
        "declare same(a: int, b: int) equivalence.\nsame(X, Y) :- edge(X, Y).\n"
        "same(X, Y) :- same(X, Z), node(Z), edge(Z, Y).",
        OF_INTS,
    ),
    "subsumption": ("p(X, Y) :- edge(X, Y).  p(X, A) <= p(X, B) :- B < A.", OF_INTS),
    "subsumption of two columns": (
        "p(X, Y) :- edge(X, Y).  p(X, A) <= p(Y, B) :- X <= Y, B <= A.  q(X, count<Y>) :- p(X, Y).",
        OF_INTS,
    ),
    "records": (
        "type Expr = Num(value: int) | Add(left: Expr, right: Expr) | Unknown.\n"
        "e($Num(X)) :- node(X).  e($Add($Num(X), $Num(Y))) :- edge(X, Y).  e($Unknown) :- edge(1, _).\n"
        "side(L) :- e($Add(L, _)).  n(X) :- e($Num(X)), !e($Add(_, $Num(X))).  size(count<L>) :- e(L).",
        OF_INTS,
    ),
    "facts with nulls": (
        "tc(null, 1).  tc(1, null).  tc(X, Y) :- edge(X, Y).  tc(X, Z) :- tc(X, Y), edge(Y, Z).\n"
        "n(X) :- tc(X, _), is_null(X).  m(Z) :- tc(X, _), Z = coalesce(X, 9).",
        OF_INTS,
    ),
    "without columns": (
        "alarm :- node(_).  calm :- !alarm.  x(X) :- node(X), !calm.  deep :- edge(X, X).\n"
        "deep :- edge(X, Y), deep, edge(Y, X).  y(count<X>) :- node(X).",
        OF_INTS,
    ),
    "an atom with itself": (
        "p(X, Y) :- edge(X, Z), edge(Z, Y), !edge(X, Y).  q(X) :- edge(X, X).\n"
        "r(X) :- node(X), !edge(X, _), !edge(_, X).  t(X, Y) :- node(X), node(Y), !(edge(X, Z), edge(Z, Y)).",
        OF_INTS,
    ),
    "lists": (
        "l(X, [X, Y]) :- edge(X, Y).  longest(X, max<L>, min<L>) :- l(X, L).  c(L, count<X>) :- l(X, L).\n"
        "way(X, Y, [X, Y]) :- edge(X, Y), X < Y.  way(X, Z, append(L, Z)) :- way(X, Y, L), edge(Y, Z), Y < Z.",
        OF_INTS,
    ),
    "huge ints": (
        "s(X, sum<Y>, avg<Y>) :- edge(X, Y).  m(X, median<Y>) :- edge(X, Y).  next(Y + 1) :- edge(_, Y), Y < 9.\n"
        "tc(X, Y) :- edge(X, Y).  tc(X, Z) :- tc(X, Y), edge(Y, Z).",
        {"edge": [HUGE, HUGE]},
    ),
    "floats": (
        "declare v(K: int, X: float).\ns(K, sum<X>, avg<X>, min<X>, max<X>, countd<X>) :- v(K, X).\n"
        "j(X, K, L) :- v(K, X), v(L, X).  none(K) :- node(K), !v(K, 0.0).  meets(K) :- v(K, X), node(X).",
        {"v": [INTS, FLOATS], "node": [INTS]},
    ),
    "a closure of floats": (
        "declare f(X: float, Y: float).\ntc(X, Y) :- f(X, Y).  tc(X, Y) :- edge(X, Y).  tc(X, Z) :- tc(X, Y), f(Y, Z).",
        {"edge": [INTS, INTS], "f": [(-0.0, 0.0, 1.0, 2.0, 2.5), (-0.0, 0.0, 1.0, 3.0, 2.5)]},
    ),
    "texts": (
        "declare a(X: string, Y: string).\ntc(X, Y) :- a(X, Y).  tc(X, Z) :- tc(X, Y), a(Y, Z).\n"
        "m(X, min<Y>, max<Y>) :- a(X, Y).  l(len(X), count<Y>) :- a(X, Y).  k(cat(X, Y)) :- a(X, Y), X < Y.",
        {"a": [TEXTS, TEXTS]},
    ),
}

GIVEN: Mapping[str, tuple[str, Mapping[str, Sequence[Sequence[Any]]]]] = {
    "facts, rules and data": (
        "edge(1, 2).  edge(2, 3).  edge(Y, X) :- edge(X, Y), node(X).\n"
        "tc(X, Y) :- edge(X, Y).  tc(X, Z) :- tc(X, Y), edge(Y, Z).",
        OF_INTS,
    ),
    "decimals": (
        "declare v(K: int, X: decimal(2)).\ns(K, sum<X>, min<X>, max<X>, count<X>, avg<X>) :- v(K, X).\n"
        "m(K, median<X>) :- v(K, X).  j(X) :- v(_, X), node(X).",
        {"v": [INTS, (Decimal("0.10"), Decimal("1.25"), Decimal("-3.00"), None)], "node": [INTS]},
    ),
    "records that come in": (
        "type P = P(x: int, y: int).\ndeclare at(N: int, P: P).\nfar(N) :- at(N, $P(X, _)), X > 1.\n"
        "tc(P, Q) :- at(N, P), at(M, Q), N < M.  tc(P, R) :- tc(P, Q), at(N, Q), at(M, R), N < M.",
        {"at": [INTS, ("$P(1, 2)", "$P(2, 1)", "$P(1,2)", None, "$P(")]},
    ),
    "bounded ints": (
        "declare p(N: int, A: unsigned).\nold(N) :- p(N, A), A > 3.  s(sum<A>) :- p(_, A).",
        {"p": [INTS, (0, 4, 7, 7, 7, None, -1)]},
    ),
    "dates": (
        "declare d(N: int, D: date).\nfirst(N, min<D>, max<D>) :- d(N, D).\n"
        "j(A, B) :- d(A, X), d(B, Y), Y = X + 1 days.",
        {"d": [INTS, (date(2026, 1, 5), date(2026, 1, 6), date(2025, 1, 6), date(9999, 12, 31), None)]},
    ),
}


def _follows(text: str, pools: Pools, from_scratch: Any, seed: int) -> None:
    random = Random(seed)
    rows = {name: [pools.row(random, name) for _ in range(4)] for name in pools.columns}
    while from_scratch(rows) is None:
        rows = {name: [pools.row(random, name) for _ in range(4)] for name in pools.columns}
    assert check_view(text, rows, pools, from_scratch, random, 25) == 25


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", PROGRAMS)
def test_they_follow_transactions(kind: str, seed: int) -> None:
    rules, columns = PROGRAMS[kind]
    program = checked(DECLARED + rules, params={})

    def from_scratch(rows: Mapping[str, Sequence[Row]]) -> Mapping[str, frozenset[Row]] | None:
        try:
            return evaluate(program, rows)
        except EmberlogError:
            return None

    used = {
        name: one for name, one in columns.items() if name in {program.relations[i].data_name for i in program.inputs}
    }
    _follows(DECLARED + rules, Pools(used), from_scratch, seed)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", GIVEN)
def test_what_is_registered_follows_transactions(kind: str, seed: int) -> None:
    """Beside runs of the engine, which takes values in as a view does."""
    rules, columns = GIVEN[kind]
    text = DECLARED + rules

    def from_scratch(rows: Mapping[str, Sequence[Row]]) -> Mapping[str, frozenset[Row]] | None:
        database: Database[LocalRelation] = Database(engine="local")
        for name, given in rows.items():
            database[name] = list(given)
        try:
            answers = database.datalog(text)
            return {name: frozenset(answers[name].collect()) for name in answers}
        except EmberlogError:
            return None

    _follows(text, Pools(columns), from_scratch, seed)
