"""How many workers a recursion has in this process, and that its facts do not depend on it."""

from __future__ import annotations

import os
import random
from functools import partial
from threading import Barrier
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from emberlog import Database, EmberlogError, Execution
from emberlog.engines.local import run
from emberlog.events import Event, ExecutorChosen, StratumFinished
from emberlog.io.local_relation import LocalRelation
from emberlog.workers.fixpoint import team, worker
from emberlog.workers.fixpoint.factored_worker import FactoredWorker
from emberlog.workers.kernels import indexes, threads
from emberlog.workers.store import stores

VERTICES = 300
ARCS = random.Random(7).sample([(a, b) for a in range(VERTICES) for b in range(VERTICES)], 1_500)
WEIGHTED = [(a, b, (7 * a + b) % 11 + 1) for a, b in ARCS]

TC = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z)."
COMPONENTS = "cc(X, min<X>) :- arc(X, _). cc(Y, min<Z>) :- cc(X, Z), arc(X, Y)."
SAME_GENERATION = "sg(X, Y) :- arc(P, X), arc(P, Y). sg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y)."
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
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)


def chosen(db: Database[LocalRelation], program: str, execution: Execution | None = None) -> list[str]:
    heard: list[Event] = []
    db.datalog(program, listener=heard.append, execution=execution or Execution())
    return [one.how for one in heard if isinstance(one, ExecutorChosen) and one.executor == "cyclic"]


@pytest.mark.usefixtures("three_cores")
def test_a_large_recursion_has_a_worker_for_each_core() -> None:
    assert chosen(database(), TC) == ["3 workers in this process, decomposed"]
    assert chosen(database(), COMPONENTS) == ["1 worker in this process, 3 threads"]
    assert "1 worker in this process, 3 threads" in str(database().check(COMPONENTS))
    assert chosen(database(), SAME_GENERATION) == ["3 workers in this process, bsp"]


@pytest.mark.usefixtures("three_cores")
def test_a_small_recursion_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "FEW_APART", len(ARCS) + 1)
    for program in (TC, COMPONENTS):
        assert chosen(database(), program) == ["1 worker in this process"]
        assert "1 worker in this process" in str(database().check(program))


@pytest.mark.usefixtures("three_cores")
def test_the_number_that_is_asked_for_counts() -> None:
    assert chosen(database(2), COMPONENTS) == ["1 worker in this process, 2 threads"]
    assert chosen(database(2), COMPONENTS, Execution(workers=4)) == ["1 worker in this process, 4 threads"]
    assert chosen(database(2), COMPONENTS, Execution(mode="bsp")) == ["2 workers in this process, bsp"]
    assert chosen(database(1), COMPONENTS) == ["1 worker in this process"]


@pytest.fixture
def everything_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little there is to do."""
    for module, name, value in (
        (stores, "WORTH_A_THREAD", 1),
        (stores, "PLACES_PER_ROW", 1 << 20),
        (stores, "PLACES_PER_MORE", 1 << 20),
        (worker, "FEWEST_AHEAD", 7),
        (worker, "MOST_AHEAD", 50),
        (indexes, "MANY_ROWS", 8),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.mark.usefixtures("everything_in_threads")
@pytest.mark.parametrize("mode", ["auto", "bsp"])
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
def test_facts_and_rounds_do_not_depend_on_the_number_of_workers(program: str, mode: str) -> None:
    found, rounds = [], set()
    for workers in (1, 2, 5):
        heard: list[Event] = []
        result = database(workers).datalog(
            program, listener=heard.append, execution=Execution(executor="cyclic", mode=mode)
        )
        rounds.add(tuple(one.iterations for one in heard if isinstance(one, StratumFinished)))
        (relation,) = [result[name] for name in result if name in ("cc", "far", "cost", "most", "n", "r", "even")]
        found.append(sorted(relation.collect()))
    assert len(found[0]) > 100
    for other in found[1:]:
        np.testing.assert_allclose(np.array(other, float), np.array(found[0], float), rtol=1e-12)
    assert len(rounds) == 1


@pytest.mark.usefixtures("everything_in_threads")
def test_rows_come_in_the_same_order_from_any_number_of_threads() -> None:
    program = "p(X, Y) :- arc(X, Y), X < 40. p(X, Z) :- p(X, Y), p(Y, Z), Z > X."
    tables = []
    for workers in (1, 2, 4):
        result = database(workers).datalog(program, execution=Execution(executor="cyclic"))
        tables.append(result["p"].to_arrow())
    assert tables[0].num_rows > 500
    assert tables[0].to_pydict() == tables[1].to_pydict()
    assert tables[0].to_pydict() == tables[2].to_pydict()


@pytest.mark.usefixtures("everything_in_threads")
@pytest.mark.parametrize("least", [0, 2**63 - 1 - 400])
def test_the_largest_int_is_a_minimum_like_others(least: int) -> None:
    """By place it stands for nothing: such values are combined by row."""
    db = Database(engine="local", workers=3)
    db["arc"] = ARCS
    db["start"] = [(a, least + a) for a in range(400)] + [(a, 2**63 - 1) for a in range(500, 600)]
    program = "low(X, min<V>) :- start(X, V). low(Y, min<V>) :- low(X, V), arc(X, Y)."
    expected = db.datalog(program, execution=Execution(executor="cyclic", workers=1, mode="bsp"))["low"].collect()
    assert set(db.datalog(program, execution=Execution(executor="cyclic"))["low"].collect()) == set(expected)
    assert (599, 2**63 - 1) in expected


@pytest.mark.usefixtures("everything_in_threads")
def test_a_sum_that_is_too_large_is_told_by_any_thread() -> None:
    db = Database(engine="local", workers=3)
    db["road"] = [(a, a + 1, 2**62) for a in range(300)]
    program = "far(0, min<D>) :- D = 0. far(Y, min<D>) :- far(X, C), road(X, Y, W), D = C + W."
    with pytest.raises(EmberlogError, match="does not fit in a 64-bit int"):
        db.datalog(program, execution=Execution(executor="cyclic"))


def test_what_fails_first_in_order_is_raised_and_nothing_goes_on_behind() -> None:
    done: list[int] = []

    def one(number: int) -> int:
        if number in (3, 5):
            raise ValueError(str(number))
        done.append(number)
        return number

    with threads.threads_allowed(3), pytest.raises(ValueError, match="3"):
        list(threads.mapped(one, range(1_000)))
    so_far = len(done)
    assert so_far < 20
    with threads.threads_allowed(3):
        assert list(threads.mapped(str, range(50))) == [str(number) for number in range(50)]
    assert threads.threads_here() == 1


def test_short_rounds_wake_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether workers go on in threads or one after the other, their facts are the same."""
    found = []
    for rounds in (0, 1 << 30):
        monkeypatch.setattr(team, "SHORT_ROUNDS", rounds)
        execution = Execution(executor="cyclic", mode="bsp")
        found.append(set(database(3).datalog(COMPONENTS, execution=execution)["cc"].collect()))
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


def test_workers_number_the_steps_of_a_closure_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[FactoredWorker] = []
    make = FactoredWorker._all_steps

    def counted(worker: FactoredWorker) -> Any:
        made.append(worker)
        return make(worker)

    monkeypatch.setattr(FactoredWorker, "_all_steps", counted)
    for workers in (1, 3):
        db = Database(engine="local", workers=workers)
        db["arc"] = [(number, number + 1) for number in range(20)]
        for representation in ("marks", "lanes", "rows"):
            made.clear()
            execution = Execution(executor="cyclic", representation=representation)
            result = db.datalog(TC, execution=execution)
            assert set(result["tc"].collect()) == {(x, y) for x in range(20) for y in range(x + 1, 21)}
            assert len(made) == 1


def test_who_waits_for_another_thread_takes_what_is_behind() -> None:
    both = Barrier(2)

    def meet(number: int) -> int:
        both.wait(60)  # for another thread: one alone never gets any further
        return number

    assert list(threads.mapped(meet, range(12), threads=2)) == list(range(12))
    assert threads.in_threads([partial(meet, number) for number in range(4)], 2) == [0, 1, 2, 3]
