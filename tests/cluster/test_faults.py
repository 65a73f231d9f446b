"""What becomes of a recursion on the cluster when something under one of its workers is killed."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution, Recovery
from emberlog.engines.spark.job import Phase
from tests.cluster.conftest import GetSession
from tests.cluster.standalone import MOST_WORKERS, Standalone
from tests.cluster.strikes import Strike
from tests.cluster.test_pages import page_settings
from tests.cluster.trials import Ledger, chain_closure

ROUNDS = 1_500
AT_NINE_TENTHS = 1_350
FEW_ROUNDS = 40

IN_ROUNDS = Execution(executor="cyclic", mode="bsp")

SOON = {
    "spark.network.timeout": "30s",
    "spark.network.timeoutInterval": "5s",
    "spark.executor.heartbeatInterval": "5s",
}
"""Spark waits two minutes before it misses a machine that went silently; tests are less patient."""


@pytest.mark.slow
def test_a_run_without_faults(spark: SparkSession, ledger: Ledger) -> None:
    chain_closure(spark, FEW_ROUNDS, IN_ROUNDS)  # the first run loads libraries and kernels
    trial = chain_closure(spark, ROUNDS, IN_ROUNDS)
    ledger.add(f"nothing: {ROUNDS:,} rounds on {MOST_WORKERS} executors", trial)
    assert trial.right, trial.error
    assert trial.retries == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("what", ["Python worker", "executor", "Worker daemon", "host"])
def test_killed_at_nine_tenths(what: str, spark: SparkSession, cluster: Standalone, ledger: Ledger) -> None:
    strike = Strike(what, Phase.EXCHANGE, cluster.marks(), AT_NINE_TENTHS)
    trial = chain_closure(spark, ROUNDS, IN_ROUNDS, strike=strike)
    ledger.add(f"{what} killed in round {AT_NINE_TENTHS:,} of {ROUNDS:,}", trial)
    assert trial.right, trial.error


def test_a_killed_python_worker(spark: SparkSession, cluster: Standalone, ledger: Ledger) -> None:
    strike = Strike("Python worker", Phase.EXCHANGE, cluster.marks(), FEW_ROUNDS // 2)
    trial = chain_closure(spark, FEW_ROUNDS, IN_ROUNDS, strike=strike)
    ledger.add(f"Python worker killed in round {FEW_ROUNDS // 2} of {FEW_ROUNDS}", trial)
    assert trial.right, trial.error


@pytest.mark.slow
def test_a_killed_python_worker_that_is_made_with_everything_loaded(
    session: GetSession, cluster: Standalone, ledger: Ledger
) -> None:
    spark = session(page_settings("daemon"))
    chain_closure(spark, FEW_ROUNDS, IN_ROUNDS)
    strike = Strike("Python worker", Phase.EXCHANGE, cluster.marks(), AT_NINE_TENTHS)
    trial = chain_closure(spark, ROUNDS, IN_ROUNDS, strike=strike)
    ledger.add(f"Python worker killed in round {AT_NINE_TENTHS:,}, spark.python.daemon.module set", trial)
    assert trial.right, trial.error
    assert len(trial.retries) == 1
    assert all(node.processes("emberlog.daemon") for node in cluster.nodes)


@pytest.mark.slow
def test_a_stalled_worker(spark: SparkSession, cluster: Standalone, ledger: Ledger) -> None:
    """Its process is there, and does nothing any more: Spark would wait for ever."""
    strike = Strike("stalled Python worker", Phase.EXCHANGE, cluster.marks(), FEW_ROUNDS // 2)
    execution = Execution(executor="cyclic", mode="bsp", recovery=Recovery(stall_seconds=5))
    trial = chain_closure(spark, FEW_ROUNDS, execution, strike=strike)
    ledger.add("Python worker stopped in the middle, Recovery(stall_seconds=5)", trial)
    assert trial.right, trial.error
    assert "no sign of life for 5 seconds" in trial.retries[0].reason


MOMENTS = {
    "before it reads": Phase.READ,
    "before its first round": Phase.FIRST_ROUND,
    "while it writes results": Phase.WRITE,
    "when all is written": Phase.RESULT_READ,
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("what", ["Python worker", "executor", "host"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_other_moments(
    what: str, moment: str, spark: SparkSession, cluster: Standalone, ledger: Ledger
) -> None:
    strike = Strike(what, MOMENTS[moment], cluster.marks())
    trial = chain_closure(spark, FEW_ROUNDS, IN_ROUNDS, strike=strike)
    ledger.add(f"{what} killed {moment}", trial)
    assert trial.right, trial.error


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_machine_that_goes_silently(isolated: None, session: GetSession, cluster: Standalone, ledger: Ledger) -> None:
    strike = Strike("host, silently", Phase.EXCHANGE, cluster.marks(), FEW_ROUNDS // 2)
    trial = chain_closure(session(SOON), FEW_ROUNDS, IN_ROUNDS, strike=strike)
    ledger.add("host without power: nothing is heard of it", trial)
    assert trial.right, trial.error


@pytest.mark.slow
def test_no_retries_means_none(spark: SparkSession, cluster: Standalone, ledger: Ledger) -> None:
    strike = Strike("Python worker", Phase.EXCHANGE, cluster.marks(), FEW_ROUNDS // 2)
    execution = Execution(executor="cyclic", mode="bsp", recovery=Recovery(retries=0))
    trial = chain_closure(spark, FEW_ROUNDS, execution, strike=strike)
    ledger.add("Python worker killed, Recovery(retries=0)", trial)
    assert "DL521" in trial.error
    assert trial.retries == []
