"""Dynamic allocation, speculation and fair pools: the cyclic executor works with all of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark import gathering
from emberlog.events import Event, ExecutorChosen, IterationFinished, RecursionRetried
from tests.spark.answers import facts_of

CHAIN = [(number, number + 1) for number in range(12)]
TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
CLOSURE = {(a, b) for a in range(13) for b in range(a + 1, 13)}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with much to do takes its time to start executors."""
    monkeypatch.setattr(gathering, "PATIENCE_SECONDS", 250)


@pytest.fixture
def arcs(database: Database) -> Database:
    database["arc"] = CHAIN
    return database


def test_spark_brings_executors_for_the_workers(arcs: Database) -> None:
    """There are none in the beginning, and as many as Spark may have are wanted."""
    for execution in (Execution("cyclic", "bsp"), Execution("cyclic", "bsp", through_spark=True)):
        events: list[Event] = []
        with arcs.datalog(TC, execution=execution, listener=events.append) as result:
            assert facts_of(result["tc"]) == CLOSURE
        (chosen,) = [event for event in events if isinstance(event, ExecutorChosen)]
        assert "3 workers, on " in chosen.how
        assert not [event for event in events if isinstance(event, RecursionRetried)]
        assert len([event for event in events if isinstance(event, IterationFinished)]) == 12


def test_more_than_spark_may_have(arcs: Database) -> None:
    with pytest.raises(EmberlogError, match=r"DL331.*4 workers are asked for, and Spark can run 3"):
        arcs.datalog(TC, execution=Execution(workers=4))


def test_several_at_once_in_pools(arcs: Database, spark: SparkSession) -> None:
    def run(number: int) -> object:
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", f"pool-{number % 2}")
        with Database(spark) as database:
            database["arc"] = CHAIN
            with database.datalog(TC, execution=Execution("cyclic", workers=2 + number % 2)) as result:
                return facts_of(result["tc"])

    with ThreadPoolExecutor(4) as threads:
        assert all(answer == CLOSURE for answer in threads.map(run, range(4)))
