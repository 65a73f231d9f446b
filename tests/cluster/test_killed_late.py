"""How much is lost when something under a worker is killed late, with checkpoints in a folder that machines share."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution, Recovery
from emberlog.engines.spark.fault_injection import Phase
from tests.cluster.standalone import Standalone
from tests.cluster.strikes import Strike
from tests.cluster.trials import Ledger, chain_closure

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROUNDS = 3_000
AT_NINE_TENTHS = 2_700


@pytest.mark.parametrize("what", ["nothing", "Python worker", "executor", "Worker daemon", "host"])
def test_killed_at_nine_tenths(what: str, spark: SparkSession, cluster: Standalone, ledger: Ledger) -> None:
    store = Path(cluster.network.shared) / "runs"
    recovery = Recovery(location=str(store), checkpoint_seconds=1.0)
    execution = Execution(executor="cyclic", mode="bsp", representation="hash", recovery=recovery)
    strike = None if what == "nothing" else Strike(what, Phase.EXCHANGE, cluster.marks(), AT_NINE_TENTHS)
    trial = chain_closure(spark, ROUNDS, execution, strike=strike)
    ledger.add(f"{what} killed in round {AT_NINE_TENTHS:,} of {ROUNDS:,}, checkpoints in a shared folder", trial)
    assert trial.right, trial.error
    assert [retry.since > ROUNDS // 2 for retry in trial.retries] == [True] * (what != "nothing")
    assert list(store.iterdir()) == []
