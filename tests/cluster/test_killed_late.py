"""How much is lost when something under a worker is killed late, with checkpoints in a folder that machines share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution, Recovery
from emberlog.engines.spark.fault_injection import Phase
from tests.cluster.standalone import Standalone
from tests.cluster.strikes import Strike
from tests.cluster.trials import Ledger, Trial, chain_closure

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROUNDS = int(os.environ.get("EMBERLOG_CLUSTER_ROUNDS", "3000"))
"""With 50,000 a run takes about a minute, of which what is lost is a smaller part."""
AT_NINE_TENTHS = ROUNDS * 9 // 10
SOURCES = 100

WARM: list[Trial] = []
FRESH: list[Trial] = []
"""The run without faults that the others are compared with, if it was made."""

RunLate = Callable[..., Trial]


@pytest.fixture
def store(cluster: Standalone) -> Path:
    return Path(cluster.network.shared) / "runs"


@pytest.fixture
def run(spark: SparkSession, cluster: Standalone, store: Path) -> RunLate:
    def run(what: str, rounds: int = ROUNDS) -> Trial:
        recovery = Recovery(location=str(store), checkpoint_seconds=1.0)
        execution = Execution(executor="cyclic", mode="bsp", representation="hash", recovery=recovery)
        strike = None if what == "nothing" else Strike(what, Phase.EXCHANGE, cluster.marks(), AT_NINE_TENTHS)
        return chain_closure(spark, rounds, execution, strike=strike, sources=SOURCES)

    return run


@pytest.mark.parametrize("what", ["nothing", "Python worker", "executor", "Worker daemon", "host"])
def test_killed_at_nine_tenths(what: str, run: RunLate, store: Path, ledger: Ledger) -> None:
    if not WARM:  # a first run loads libraries and kernels, those of checkpoints, too
        WARM.append(run("nothing", max(ROUNDS // 10, 2_000)))
    trial = run(what)
    if what == "nothing":
        FRESH.append(trial)
        ledger.add(f"nothing: {ROUNDS:,} rounds, checkpoints in a shared folder", trial)
    else:
        title = f"{what} killed in round {AT_NINE_TENTHS:,} of {ROUNDS:,}, checkpoints in a shared folder"
        ledger.add(title, trial, FRESH[0] if FRESH else None)
    assert trial.right, trial.error
    assert [retry.since > ROUNDS // 2 for retry in trial.retries] == [True] * (what != "nothing")
    assert list(store.iterdir()) == []
