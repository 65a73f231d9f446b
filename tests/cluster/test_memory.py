"""Recursions that outgrow the memory of their workers, on machines: they go on on the disks of these."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution, Recovery
from emberlog.database import Database
from emberlog.events import Event, ExecutorChosen, StratumFinished
from tests.cluster.standalone import MOST_WORKERS, Standalone
from tests.cluster.trials import Ledger, Trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
WAYS = 2000
FACTS = WAYS * WAYS + 2 * WAYS
BYTES_OF_A_FACT = 27
"""At least: its two values, and a place in a table that is at most three quarters full."""

ON_DISK = {"bsp": "facts were kept in sections on disk", "decomposed": "keys were gone through slice by slice"}


@pytest.mark.parametrize("store", ["rows through Spark", "a shared folder"])
@pytest.mark.parametrize("mode", ON_DISK)
def test_three_times_the_memory(
    mode: str, store: str, spark: SparkSession, cluster: Standalone, ledger: Ledger
) -> None:
    """All ways lead through one place: two steps make a few arcs many facts, all of them in one join."""
    folder = str(Path(cluster.network.shared) / "runs") if store == "a shared folder" else None
    memory = BYTES_OF_A_FACT * FACTS // MOST_WORKERS // 3
    execution = Execution(
        executor="cyclic", mode=mode, representation="hash", memory=memory, recovery=Recovery(location=folder)
    )
    events: list[Event] = []
    trial = Trial()
    with Database(spark) as database:
        into = [(number, WAYS) for number in range(WAYS)]
        database["arc"] = into + [(WAYS, WAYS + 1 + number) for number in range(WAYS)]
        with database.datalog(TC, execution=execution, listener=events.append) as result:
            trial.seconds = time.time() - trial.began
            (found,) = result["tc"].selectExpr("count(*)", "min(X)", "max(X)", "max(Y)", "sum(Y - X)").collect()
    through = sum(range(WAYS + 1, 2 * WAYS + 1)) * WAYS - sum(range(WAYS)) * WAYS
    trial.right = tuple(found) == (FACTS, 0, WAYS, 2 * WAYS, through + 2 * sum(range(1, WAYS + 1)))
    trial.hear([event for event in events if isinstance(event, ExecutorChosen)][-1])
    ledger.add(f"a third of the memory that the facts need, {mode}, {store}", trial)
    assert trial.right, found
    assert [event.executor for event in trial.chosen] == ["cyclic"]
    spilled = [event.spilled for event in events if isinstance(event, StratumFinished)]
    assert ON_DISK[mode] in spilled[-1]
