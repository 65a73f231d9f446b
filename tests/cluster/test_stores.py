"""What machines share, and what a recursion makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution, Recovery
from emberlog.engines.spark.job import Phase
from tests.cluster.conftest import GetSession
from tests.cluster.standalone import MOST_WORKERS, Standalone
from tests.cluster.strikes import Strike
from tests.cluster.trials import Ledger, chain_closure

pytestmark = pytest.mark.slow

ROUNDS = 40


def with_store(folder: Path) -> Execution:
    """Checkpoints that any number of workers can go on from: an executor may be back in time, or not."""
    recovery = Recovery(location=str(folder), checkpoint_rounds=10)
    return Execution(executor="cyclic", mode="bsp", representation="hash", recovery=recovery)


@pytest.fixture
def store(cluster: Standalone) -> Path:
    folder = cluster.network.shared / "runs"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize("what", ["Python worker", "executor"])
def test_a_shared_folder_keeps_checkpoints(
    what: str, spark: SparkSession, cluster: Standalone, store: Path, ledger: Ledger
) -> None:
    strike = Strike(what, Phase.EXCHANGE, cluster.marks(), ROUNDS - 5)
    trial = chain_closure(spark, ROUNDS, with_store(store), strike=strike)
    ledger.add(f"{what} killed, checkpoints in a shared folder", trial)
    assert trial.right, trial.error
    assert [retry.since >= 10 for retry in trial.retries] == [True]
    assert list(store.iterdir()) == []


def test_workers_read_parquet_in_a_shared_folder(
    spark: SparkSession, cluster: Standalone, store: Path, ledger: Ledger
) -> None:
    arcs = cluster.network.shared / "arcs"
    rows = spark.range(0, ROUNDS).selectExpr("id AS x", "id + 1 AS y")
    rows.write.mode("overwrite").parquet(arcs.as_uri())
    trial = chain_closure(spark, ROUNDS, with_store(store), inputs=arcs.as_uri())
    ledger.add("inputs and results in a shared folder", trial)
    assert trial.right, trial.error
    assert "rows through Spark" not in trial.chosen[-1].how


def test_a_folder_that_one_machine_does_not_see(
    isolated: None, cluster: Standalone, session: GetSession, store: Path, ledger: Ledger
) -> None:
    cluster.remove(cluster.nodes[-1])
    odd = cluster.add(shares=False)
    try:
        cluster.wait_for(MOST_WORKERS)
        trial = chain_closure(session(), ROUNDS, with_store(store))
    finally:
        cluster.remove(odd)
    ledger.add("Recovery(location=…) that one machine does not see", trial)
    assert "DL338" in trial.error and odd.address in trial.error


def test_no_shared_disk(isolated: None, spark: SparkSession, ledger: Ledger) -> None:
    """Every machine has a disk of its own here, and nobody named a folder that they share."""
    trial = chain_closure(spark, ROUNDS, Execution(executor="cyclic", mode="bsp"))
    ledger.add("no shared disk", trial)
    assert trial.right, trial.error
    assert "no checkpoints" in trial.chosen[-1].how
