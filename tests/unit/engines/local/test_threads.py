"""How many workers a recursion has in this process, and that its facts do not depend on it."""

from __future__ import annotations

import os
import random

import numpy as np
import pyarrow as pa
import pytest

from emberlog import Database, Execution
from emberlog.engines.local import run
from emberlog.events import Event, ExecutorChosen, StratumFinished
from emberlog.io.local_relation import LocalRelation
from emberlog.workers.fixpoint import team
from emberlog.workers.store import stores

VERTICES = 300
ARCS = random.Random(7).sample([(a, b) for a in range(VERTICES) for b in range(VERTICES)], 1_500)
WEIGHTED = [(a, b, (7 * a + b) % 11 + 1) for a, b in ARCS]

TC = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z)."
COMPONENTS = "cc(X, min<X>) :- arc(X, _). cc(Y, min<Z>) :- cc(X, Z), arc(X, Y)."
FROM_ONE = "far(0). far(Y) :- far(X), arc(X, Y)."


def database(workers: int | None = None) -> Database[LocalRelation]:
    db = Database(engine="local", workers=workers)
    db["arc"] = ARCS
    db["road"] = WEIGHTED
    db["degree"] = [(a, sum(one == a for one, _ in ARCS)) for a in {a for a, _ in ARCS}]
    return db


@pytest.fixture
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "FEW_APART", len(ARCS))
    monkeypatch.setattr(run, "FEW_IN_STEP", len(ARCS))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)


def chosen(db: Database[LocalRelation], program: str, execution: Execution | None = None) -> list[str]:
    heard: list[Event] = []
    db.datalog(program, listener=heard.append, execution=execution or Execution())
    return [one.how for one in heard if isinstance(one, ExecutorChosen) and one.executor == "cyclic"]


@pytest.mark.usefixtures("three_cores")
def test_a_large_recursion_has_a_worker_for_each_core() -> None:
    assert chosen(database(), TC) == ["3 workers in this process, decomposed"]
    assert chosen(database(), COMPONENTS) == ["3 workers in this process, bsp"]
    assert "3 workers in this process, bsp" in str(database().check(COMPONENTS))


@pytest.mark.usefixtures("three_cores")
def test_a_small_recursion_in_step_has_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "FEW_IN_STEP", len(ARCS) + 1)
    assert chosen(database(), TC) == ["3 workers in this process, decomposed"]
    assert chosen(database(), COMPONENTS) == ["1 worker in this process"]
    assert "1 worker in this process" in str(database().check(COMPONENTS))


@pytest.mark.usefixtures("three_cores")
def test_the_number_that_is_asked_for_counts() -> None:
    assert chosen(database(2), COMPONENTS) == ["2 workers in this process, bsp"]
    assert chosen(database(2), COMPONENTS, Execution(workers=4)) == ["4 workers in this process, bsp"]
    assert chosen(database(1), COMPONENTS) == ["1 worker in this process"]


@pytest.mark.parametrize(
    "program",
    [
        COMPONENTS,
        FROM_ONE,
        "cost(0, min<C>) :- C = 0. cost(Y, min<C>) :- cost(X, D), road(X, Y, W), C = D + W.",
        "most(X, max<X>) :- arc(X, _). most(Y, max<Z>) :- most(X, Z), arc(X, Y), Z > Y.",
        "@iterations(6)\nn(X, sum<V>) :- arc(X, _), V = 1.\nn(Y, sum<V>) :- n(X, M), arc(X, Y), V = M % 1000.",
        "@iterations(6)\nr(X, sum<V>) :- arc(X, _), V = 0.5.\n"
        "r(Y, sum<V>) :- r(X, R), arc(X, Y), degree(X, D), V = R / D.",
        "odd(0, Y) :- arc(0, Y). odd(X, Y) :- even(X, Z), arc(Z, Y). even(X, Y) :- odd(X, Z), arc(Z, Y). even(_, Y)?",
    ],
)
def test_facts_and_rounds_do_not_depend_on_the_number_of_workers(program: str) -> None:
    found, rounds = [], set()
    for workers in (1, 2, 5):
        heard: list[Event] = []
        result = database(workers).datalog(program, listener=heard.append, execution=Execution(executor="cyclic"))
        rounds.add(tuple(one.iterations for one in heard if isinstance(one, StratumFinished)))
        (relation,) = [result[name] for name in result if name in ("cc", "far", "cost", "most", "n", "r", "even")]
        found.append(sorted(relation.collect()))
    assert len(found[0]) > 100
    for other in found[1:]:
        np.testing.assert_allclose(np.array(other, float), np.array(found[0], float), rtol=1e-12)
    assert len(rounds) == 1


def test_short_rounds_wake_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether workers go on in threads or one after the other, their facts are the same."""
    found = []
    for rounds in (0, 1 << 30):
        monkeypatch.setattr(team, "SHORT_ROUNDS", rounds)
        found.append(set(database(3).datalog(COMPONENTS, execution=Execution(executor="cyclic"))["cc"].collect()))
    assert found[0] == found[1] and len(found[0]) > 100


@pytest.mark.parametrize("repeated", [0, 3])
def test_pairs_are_seen_to_be_a_set_without_a_table_of_them(repeated: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "CHUNK", 16)
    rows = np.array([*ARCS, *ARCS[:repeated]], np.int64).T - 150
    once = stores.distinct_rows(np.ascontiguousarray(rows))
    assert (once is rows) is False
    assert once.shape[1] == len(ARCS)
    assert set(zip(*once.tolist(), strict=True)) == set(zip(*rows.tolist(), strict=True))


def test_numbers_of_several_chunks_come_in_at_the_same_time() -> None:
    chunks = [pa.array([1, 2]), pa.array([], pa.int64()), pa.array([3])]
    table = pa.table({"a": pa.chunked_array(chunks), "b": pa.chunked_array([pa.array([2, 3]), pa.array([4])])})
    db = Database(engine="local", workers=2)
    db["arc"] = table
    assert set(db.datalog(TC, execution=Execution(executor="cyclic"))["tc"].collect()) == {
        (1, 2),
        (1, 3),
        (1, 4),
        (2, 3),
        (2, 4),
        (3, 4),
    }
