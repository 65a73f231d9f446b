"""Executors that are too few, busy, or come and go."""

from __future__ import annotations

import threading
import time

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.engines.spark.fault_injection import Phase
from emberlog.events import StratumFinished
from tests.cluster.conftest import GetSession
from tests.cluster.standalone import MOST_WORKERS, Standalone
from tests.cluster.strikes import Strike
from tests.cluster.test_pages import page_settings
from tests.cluster.trials import Ledger, chain_closure

pytestmark = pytest.mark.slow

ROUNDS = 40
IN_ROUNDS = Execution(executor="cyclic", mode="bsp")


def test_more_workers_than_slots(spark: SparkSession, ledger: Ledger) -> None:
    trial = chain_closure(spark, ROUNDS, Execution(executor="cyclic", workers=MOST_WORKERS + 2))
    ledger.add(f"{MOST_WORKERS + 2} workers asked for, {MOST_WORKERS} slots", trial)
    assert "DL331" in trial.error


def test_another_job_in_the_slots(spark: SparkSession, ledger: Ledger) -> None:
    def sleep(batches: object) -> object:
        import time

        time.sleep(15)
        return batches

    other = spark.range(0, MOST_WORKERS, 1, MOST_WORKERS).mapInArrow(sleep, "id long")  # type: ignore[arg-type]
    thread = threading.Thread(target=other.count)
    thread.start()
    time.sleep(3)
    trial = chain_closure(spark, ROUNDS, IN_ROUNDS)
    thread.join()
    ledger.add("another job in all slots for 15 s", trial)
    assert trial.right, trial.error
    assert trial.retries == []


def test_dynamic_allocation(session: GetSession, ledger: Ledger) -> None:
    settings = page_settings("dynamic-allocation")
    spark = session(settings, executors=0)
    trial = chain_closure(spark, ROUNDS, Execution(workers=3))
    ledger.add("dynamic allocation, from no executor on, 3 workers", trial)
    assert trial.right, trial.error
    assert [event.executor for event in trial.chosen] == ["cyclic"]


def test_fewer_machines_than_before(spark: SparkSession, cluster: Standalone, ledger: Ledger) -> None:
    """Nobody brings the lost one back, so the others go on without it."""
    strike = Strike("host", Phase.EXCHANGE, cluster.marks(), ROUNDS // 2)
    trial = chain_closure(spark, ROUNDS, IN_ROUNDS, strike=strike)
    ledger.add(f"one of {MOST_WORKERS} machines lost for good", trial)
    assert trial.right, trial.error
    finished = [event for event in trial.events if isinstance(event, StratumFinished)]
    assert len(finished[-1].workers) == MOST_WORKERS - 1
