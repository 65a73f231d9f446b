"""Spark Connect: a server on the cluster, and a client that has nothing of Spark but the protocol."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import Sessions
from tests.cluster.machines import ROOT, base
from tests.cluster.standalone import MOST_WORKERS, Standalone, environment_of, spark_home, wait_until
from tests.cluster.trials import Ledger, Trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PORT = 15_102
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"

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
    chosen = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    submit = [str(spark_home() / "bin" / "spark-submit"), "--master", cluster.master, "--class", SERVER, *chosen]
    log = base() / "logs" / "connect.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*submit, "spark-internal"],
            # It is a daemon to Spark, with the memory of one, and a driver; and Spark runs the functions of clients in
            # the Python that the environment of the server names.
            env=environment_of(address) | {"SPARK_DAEMON_MEMORY": "1g", "PYSPARK_PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )

    def is_there() -> bool:
        assert process.poll() is None, log.read_text()[-5000:]
        with socket.socket() as trial:
            return trial.connect_ex((address, PORT)) == 0

    try:
        wait_until(is_there, "the server", cluster.logs)
        yield f"sc://{address}:{PORT}"
    finally:
        process.terminate()
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
