"""A program is compiled once, whoever asks, and every stratum goes through one runner."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from emberlog import Database, EmberlogError, Execution
from emberlog.engines.local import encoding
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.store.stores import distinct_rows
from tests.compilations import Compilations, counted_compilations

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Compilations:
    return counted_compilations(monkeypatch)


@pytest.mark.parametrize("name", ["access_rights", "data_lineage", "bill_of_materials"])
def test_a_stratum_is_compiled_once_however_it_is_explained_and_run(name: str, compilations: Compilations) -> None:
    db = Database(engine="local")
    folder = EXAMPLES / name
    for path in sorted((folder / "facts").iterdir()):
        db.register(path.stem, path)
    result = db.datalog(folder / "program.dl", execution=Execution(workers=2))
    assert compilations, "the workers had nothing to do"
    assert set(compilations.values()) == {1}
    result.explain()
    assert set(compilations.values()) == {1}


def test_nothing_is_compiled_for_an_explanation_that_nobody_asks_for(compilations: Compilations) -> None:
    db = Database(engine="local")
    db["arc"] = [(1, 2), (2, 3)]
    program = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z)."
    explained = db.check(program)
    assert not compilations
    assert "1 worker in this process" in str(explained)
    assert compilations == {("tc",): 1}


def test_a_run_is_explained_as_it_was_run() -> None:
    db = Database(engine="local")
    db["arc"] = [(number, number + 1) for number in range(2_000)]
    program = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z). tc(1, Y)?"
    result = db.datalog(program, execution=Execution(workers=3, mode="bsp"))
    assert "3 workers in this process, bsp" in result.explain()


def test_an_input_that_several_strata_read_is_made_a_set_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: Counter[int] = Counter()

    def counting(rows: Lanes) -> Lanes:
        counted[rows.shape[0]] += 1
        return distinct_rows(rows)

    monkeypatch.setattr(encoding, "distinct_rows", counting)
    db = Database(engine="local")
    arcs = [(number % 500, number) for number in range(30_000)]
    db["arc"] = pa.table({"x": [x for x, _ in arcs + arcs], "y": [y for _, y in arcs + arcs]})
    program = "degree(X, count<Y>) :- arc(X, Y). reach(0). reach(Y) :- reach(X), arc(X, Y), degree(X, _). reach(X)?"
    reached = {0}
    while more := {y for x, y in arcs if x in reached} - reached:
        reached |= more
    assert {x for (x,) in db.datalog(program)["reach"]} == reached
    assert counted == {2: 1}


@pytest.mark.parametrize("provenance", [False, True])
def test_a_result_that_nobody_holds_is_gone_at_once(provenance: bool) -> None:
    """What it holds in Spark's memory goes with it; nobody should have to wait for the garbage collector."""
    db = Database(engine="local")
    db["arc"] = [(1, 2), (2, 3)]
    program = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z)."
    gc.disable()
    try:
        result = db.datalog(program, provenance=provenance)
        held = weakref.ref(result._outputs)
        del result
        assert held() is None
    finally:
        gc.enable()


def test_what_is_planned_is_planned_for_the_workers_that_run_it() -> None:
    """A local database has one worker unless it is told otherwise, and one worker exchanges nothing with others."""
    db = Database(engine="local")
    db["arc"] = [(1, 2), (2, 3), (3, 1)]
    located = "tc(X, #Y) :- arc(X, Y). tc(X, #Z) :- tc(X, Y), arc(Y, Z)."
    for execution in (Execution(representation="marks"), Execution(representation="marks", workers=1)):
        assert len(db.datalog(located, execution=execution)["tc"]) == 9
    with pytest.raises(EmberlogError, match="DL337"):
        db.datalog(located, execution=Execution(representation="marks", workers=2))
