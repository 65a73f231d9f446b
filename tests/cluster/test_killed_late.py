"""How much is lost when something under a worker is killed late, with checkpoints in a folder that machines share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution, Recovery
from emberlog.engines.spark.job import Phase
from emberlog.events import IterationFinished
from tests.cluster.standalone import Standalone
from tests.cluster.strikes import Strike
from tests.cluster.trials import Ledger, Trial, chain_closure

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SECONDS = float(os.environ.get("EMBERLOG_CLUSTER_SECONDS", "45"))
"""For about which the run without faults goes on: what a loss costs does not depend on it, so a short run would tell
little."""
TRIAL_ROUNDS = 4_000
SOURCES = 100


@dataclass
class Known:
    """Holds what the tests tell each other."""

    rounds: int = 0
    """Of each run; a first one says how many there are in that time."""
    fresh: Trial | None = None
    """The run without faults that the others are compared with, if it was made."""


KNOWN = Known()

RunLate = Callable[..., Trial]


@pytest.fixture
def store(cluster: Standalone) -> Path:
    return Path(cluster.network.shared) / "runs"


@pytest.fixture
def run(spark: SparkSession, cluster: Standalone, store: Path) -> RunLate:
    def run(what: str, rounds: int) -> Trial:
        recovery = Recovery(location=str(store), checkpoint_seconds=1.0)
        execution = Execution(executor="cyclic", mode="bsp", representation="hash", recovery=recovery)
        strike = None if what == "nothing" else Strike(what, Phase.EXCHANGE, cluster.marks(), rounds * 9 // 10)
        return chain_closure(spark, rounds, execution, strike=strike, sources=SOURCES)

    return run


@pytest.mark.parametrize("what", ["nothing", "Python worker", "executor", "Worker daemon", "host"])
def test_killed_at_nine_tenths(what: str, run: RunLate, store: Path, ledger: Ledger) -> None:
    if not KNOWN.rounds:
        run("nothing", TRIAL_ROUNDS)  # it loads libraries and kernels, those of checkpoints, too
        ends = [time for time, _ in run("nothing", TRIAL_ROUNDS).heard(IterationFinished)]
        KNOWN.rounds = int(SECONDS * TRIAL_ROUNDS / (ends[-1] - ends[0])) // 1000 * 1000
    rounds = KNOWN.rounds
    trial = run(what, rounds)
    if what == "nothing":
        KNOWN.fresh = trial
        ledger.add("nothing, checkpoints in a shared folder", trial, says=f"{rounds:,} rounds")
    else:
        title = f"{what} killed after nine tenths of the rounds, checkpoints in a shared folder"
        ledger.add(title, trial, KNOWN.fresh, says=f"{rounds:,} rounds")
    assert trial.right, trial.error
    assert [retry.since > rounds // 2 for retry in trial.retries] == [True] * (what != "nothing")
    assert list(store.iterdir()) == []
