"""Workers and executors that are killed on a cluster: one layer of retries, each told with its cause."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pyspark import cloudpickle

from emberlog.config import Execution, Recovery
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.job import Phase
from emberlog.engines.spark.launcher import Launcher
from emberlog.engines.spark.task import TaskRun
from emberlog.events import Event, ExecutorChosen, IterationFinished, RecursionRetried
from tests.spark.answers import facts_of

CHAIN = [(number, number + 1) for number in range(12)]
TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
CLOSURE = {(a, b) for a in range(13) for b in range(a + 1, 13)}


@dataclass
class Kill:
    """Ends the process of worker 1 before its fourth exchange, or the one so many above it, in the first attempts."""

    above: int = 0
    attempts: int = 1
    later: int = 0
    """The same as `above`, in later attempts than the first."""
    reached: int = 0

    def at(self, phase: Phase, run: TaskRun) -> None:
        if phase is Phase.EXCHANGE and run.number == 1 and run.job.attempt <= self.attempts:
            self.reached += 1
            if self.reached == 4:
                process = os.getpid()
                for _ in range(self.above if run.job.attempt == 1 else self.later):
                    with open(f"/proc/{process}/stat") as file:
                        process = int(file.read().rpartition(")")[2].split()[1])
                os.kill(process, signal.SIGKILL)


@pytest.fixture(autouse=True)
def by_value() -> Iterator[None]:
    import tests.spark.other_sessions.test_lost_executors as here

    cloudpickle.register_pickle_by_value(here)  # type: ignore[no-untyped-call]
    yield
    cloudpickle.unregister_pickle_by_value(here)  # type: ignore[no-untyped-call]


@pytest.fixture
def arcs(database: Database) -> Database:
    database["arc"] = CHAIN
    return database


def run(
    arcs: Database, monkeypatch: pytest.MonkeyPatch, injector: Kill, recovery: Recovery, *, through_spark: bool = False
) -> tuple[object, list[Event]]:
    monkeypatch.setattr(Launcher, "injector", injector)
    events: list[Event] = []
    execution = Execution("cyclic", "bsp", representation="hash", recovery=recovery, through_spark=through_spark)
    try:
        with arcs.datalog(TC, execution=execution, listener=events.append) as result:
            return facts_of(result["tc"]), events
    except EmberlogError as error:
        return error, events


def retries(events: list[Event]) -> list[RecursionRetried]:
    return [event for event in events if isinstance(event, RecursionRetried)]


def test_it_runs_as_on_one_machine(arcs: Database) -> None:
    events: list[Event] = []
    for through_spark in (False, True):
        execution = Execution("cyclic", "bsp", through_spark=through_spark)
        with arcs.datalog(TC, execution=execution, listener=events.append) as result:
            assert facts_of(result["tc"]) == CLOSURE
    assert [event.how for event in events if isinstance(event, ExecutorChosen)] == [
        "one job, bsp, 2 workers, on 2 executors"
    ] * 2
    assert len([event for event in events if isinstance(event, IterationFinished)]) == 2 * 12


@pytest.mark.parametrize("through_spark", [False, True])
def test_a_killed_process(arcs: Database, monkeypatch: pytest.MonkeyPatch, through_spark: bool) -> None:
    answer, events = run(arcs, monkeypatch, Kill(), Recovery(), through_spark=through_spark)
    assert answer == CLOSURE
    (retry,) = retries(events)
    assert "the process of a worker ended" in retry.reason


def test_no_retries_are_none(arcs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark itself would try a task four times."""
    error, events = run(arcs, monkeypatch, Kill(), Recovery(retries=0))
    assert isinstance(error, EmberlogError)
    assert "error[DL521]: a recursion lost a worker: the process of a worker ended" in str(error)
    assert not retries(events)


def test_each_loss_is_told_with_its_own_cause(arcs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, events = run(arcs, monkeypatch, Kill(attempts=2, later=2), Recovery())
    assert answer == CLOSURE
    first, second = retries(events)
    assert "the process of a worker ended" in first.reason
    assert second.reason.startswith("Spark lost executor ")


def test_a_killed_executor(arcs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, events = run(arcs, monkeypatch, Kill(above=2), Recovery())
    assert answer == CLOSURE
    (retry,) = retries(events)
    assert retry.reason.startswith("Spark lost executor ")
    assert "on 127.0.0.1: " in retry.reason
