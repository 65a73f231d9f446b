"""Runs whose files are in a folder that driver and executors share, where each is a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

from emberlog.config import Execution, Recovery
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.job import Phase
from emberlog.engines.spark.launcher import Launcher
from emberlog.events import Event, ExecutorChosen, RecursionRetried
from tests.spark import saboteurs
from tests.spark.answers import facts_of
from tests.spark.saboteurs import Break

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
LENGTH = 30
CHAIN = [(number, number + 1) for number in range(LENGTH)]
CLOSURE = {(a, b) for a in range(LENGTH + 1) for b in range(a + 1, LENGTH + 1)}


@pytest.fixture(scope="module", autouse=True)
def saboteurs_reach_workers() -> Iterator[None]:
    cloudpickle.register_pickle_by_value(saboteurs)  # type: ignore[no-untyped-call]
    yield
    cloudpickle.unregister_pickle_by_value(saboteurs)  # type: ignore[no-untyped-call]


@pytest.fixture
def arcs(database: Database, tmp_path: Path) -> Database:
    pq.write_table(pa.table({"a": [a for a, _ in CHAIN], "b": [b for _, b in CHAIN]}), tmp_path / "arc.parquet")
    database["arc"] = str(tmp_path / "arc.parquet")
    return database


def stored(location: Path) -> Execution:
    recovery = Recovery(location=str(location), checkpoint_rounds=1)
    return Execution(executor="cyclic", mode="bsp", representation="hash", recovery=recovery)


def test_results_are_files_of_the_store(arcs: Database, tmp_path: Path) -> None:
    location, events = tmp_path / "store", list[Event]()
    with arcs.datalog(TC, execution=stored(location), listener=events.append) as result:
        assert facts_of(result["tc"]) == CLOSURE
        (run,) = location.glob("emberlog-run-*")
        assert list(run.glob("attempt-1/relation-0/*.parquet"))
        assert not list(run.glob("attempt-1/checkpoints/*"))
    (chosen,) = (event for event in events if isinstance(event, ExecutorChosen))
    assert f"files in {location.as_uri()}" in chosen.how
    assert list(location.iterdir()) == []


def test_a_lost_worker_costs_some_rounds(arcs: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Launcher, "injector", Break("kill", Phase.EXCHANGE, worker=0, times=LENGTH - 5))
    location, events = tmp_path / "store", list[Event]()
    with arcs.datalog(TC, execution=stored(location), listener=events.append) as result:
        assert facts_of(result["tc"]) == CLOSURE
    (retry,) = (event for event in events if isinstance(event, RecursionRetried))
    assert retry.since > LENGTH // 2
    assert list(location.iterdir()) == []


def test_a_place_that_nobody_can_write_is_an_error(arcs: Database) -> None:
    with pytest.raises(EmberlogError, match=r"DL338.*cannot be used: `/proc/emberlog` cannot be opened"):
        arcs.datalog(TC, execution=stored(Path("/proc/emberlog")))
    recovery = Recovery(location="nowhere://bucket")
    with pytest.raises(EmberlogError, match=r"DL338.*unrecognized filesystem type"):
        arcs.datalog(TC, execution=Execution(recovery=recovery))
