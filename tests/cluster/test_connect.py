"""Spark Connect: a server on the cluster, and a client that has nothing of Spark but the protocol."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import Sessions
from tests.cluster.machines import ROOT, base
from tests.cluster.standalone import MOST_WORKERS, Standalone, environment_of, wait_until
from tests.cluster.test_pages import BLOCKS
from tests.cluster.trials import Ledger, Trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PORT = 15_102

CLIENT = """
import json, sys
from pyspark.sql import SparkSession
from emberlog.config import Execution
from emberlog.database import Database
from emberlog.events import ExecutorChosen

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
events = []
program = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z)."
with Database(spark) as database:
    database["arc"] = [(number, number + 1) for number in range(60)]
    with database.datalog(program, execution=Execution(executor="cyclic"), listener=events.append) as result:
        rows = {tuple(row) for row in result["tc"].collect()}
chosen = [event for event in events if isinstance(event, ExecutorChosen)][-1]
right = rows == {(one, other) for one in range(61) for other in range(one + 1, 61)}
print(json.dumps({"right": right, "how": chosen.how}))
"""


@pytest.fixture
def server(cluster: Standalone, sessions: Sessions) -> Iterator[str]:
    """The address of a server whose executors are all that the cluster has."""
    sessions.close()
    address = cluster.network.driver
    settings = {
        "spark.connect.grpc.binding.address": address,
        "spark.connect.grpc.binding.port": str(PORT),
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        "spark.executor.memory": "1g",
        "spark.executor.cores": "1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
    }
    chosen = "".join(f" --conf {name}={value}" for name, value in settings.items())
    shell = BLOCKS["connect"].strip().replace("spark://host:7077", f"{cluster.master}{chosen}")
    log = base() / "logs" / "connect.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-ec", shell.replace("/opt/emberlog/bin/python", shlex.quote(sys.executable))],
            # It does not become a daemon here, so that it ends with the test.
            env=environment_of(address) | {"SPARK_LOG_DIR": str(log.parent), "SPARK_PID_DIR": str(log.parent)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def is_there() -> bool:
        assert process.poll() is None, log.read_text()[-5000:]
        with socket.socket() as trial:
            return trial.connect_ex((address, PORT)) == 0

    try:
        wait_until(is_there, "the server", cluster.logs)
        yield f"sc://{address}:{PORT}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        cluster.wait_until_idle()


def test_a_recursion_over_spark_connect(server: str, cluster: Standalone, tmp_path: Path, ledger: Ledger) -> None:
    began = time.time()
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, server],
        cwd=tmp_path,
        env=environment_of(cluster.network.driver) | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, f"{done.stderr}\n{cluster.logs()}"
    told = json.loads(done.stdout.splitlines()[-1])
    ledger.add("Spark Connect, to a server on the cluster", Trial(time.time() - began, right=told["right"]))
    assert told["right"]
    assert f"{MOST_WORKERS} workers, on {MOST_WORKERS} executors" in told["how"]
