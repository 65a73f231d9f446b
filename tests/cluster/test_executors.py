"""Executors that are too few, busy, or come and go."""

from __future__ import annotations

import threading
import time

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.engines.spark.job import Phase
from emberlog.events import StratumFinished
from tests.cluster.conftest import GetSession
from tests.cluster.standalone import MOST_WORKERS, Standalone
from tests.cluster.strikes import Strike
from tests.cluster.test_pages import page_settings
from tests.cluster.trials import Ledger, Trial, chain_closure

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


FAIR = {
    "spark.scheduler.mode": "FAIR",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
}


def test_pools_and_speculation(session: GetSession, ledger: Ledger) -> None:
    """Several recursions at once, in two pools, of a Spark that starts second tasks for those that seem slow."""
    spark = session(FAIR)
    trials: list[Trial] = []

    def run(number: int) -> None:
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", f"pool-{number % 2}")
        trials.append(chain_closure(spark, ROUNDS, Execution(executor="cyclic", mode="bsp", workers=2 + number % 2)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.add("four recursions at once, in fair pools, with speculation", max(trials, key=lambda one: one.seconds))
    assert [trial.error for trial in trials] == [""] * 4
    assert all(trial.right and not trial.retries for trial in trials)


def test_fewer_machines_than_before(spark: SparkSession, cluster: Standalone, ledger: Ledger) -> None:
    """Nobody brings the lost one back, so the others go on without it."""
    strike = Strike("host", Phase.EXCHANGE, cluster.marks(), ROUNDS // 2)
    trial = chain_closure(spark, ROUNDS, IN_ROUNDS, strike=strike)
    ledger.add(f"one of {MOST_WORKERS} machines lost for good", trial)
    assert trial.right, trial.error
    finished = [event for event in trial.events if isinstance(event, StratumFinished)]
    assert len(finished[-1].workers) == MOST_WORKERS - 1
