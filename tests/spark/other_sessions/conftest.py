"""The session that this process is for. A Java process has one Spark, so each kind of session has its own process."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.database import Database
from emberlog.engines.spark.java import find_java, home_to_launch
from emberlog.engines.spark.session import start_session

KIND = os.environ.get("EMBERLOG_TEST_SESSION")
collect_ignore_glob = [] if KIND else ["test_*.py"]
"""Without a kind there is nothing to be done here."""

LOCAL_CLUSTER = "local-cluster"
CONNECT = "connect"
FIVE_SLOTS = "five-slots"
RESTLESS = "restless"
BARE = "bare"
ENCRYPTED = "encrypted"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    start = {
        LOCAL_CLUSTER: _local_cluster,
        CONNECT: _connect,
        FIVE_SLOTS: _five_slots,
        RESTLESS: _restless,
        BARE: _bare,
        ENCRYPTED: _encrypted,
    }
    session = start[KIND or CONNECT]()
    yield session
    session.stop()


def _five_slots() -> SparkSession:
    """Room for more workers than there are cores."""
    return start_session("local[5]", memory="1g", conf={"spark.sql.shuffle.partitions": "2"})


def _local_cluster() -> SparkSession:
    """Two workers with an executor each, in processes of their own."""
    return start_session("local-cluster[2,1,1024]", memory="1g", conf={"spark.sql.shuffle.partitions": "2"})


def _restless() -> SparkSession:
    """Executors that come when tasks wait for them, tasks that are started twice, and fair pools."""
    settings = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.initialExecutors": "0",
        "spark.dynamicAllocation.maxExecutors": "3",
        "spark.executor.cores": "1",
        "spark.scheduler.mode": "FAIR",
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.5",
        "spark.sql.shuffle.partitions": "2",
    }
    return start_session("local-cluster[3,1,1024]", memory="1g", conf=settings)


def _encrypted() -> SparkSession:
    """Two executors, all of whose connections are encrypted, and ports that can be listened to."""
    # Below the ports that systems hand out: what Spark tells Python on the same machine is not encrypted.
    first = 12_000 + secrets.randbelow(18_000)
    settings = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secrets.token_hex(16),
        "spark.network.crypto.enabled": "true",
        "spark.emberlog.ports": f"{first}-{first + 200}",
        "spark.sql.shuffle.partitions": "2",
    }
    return start_session("local-cluster[2,1,1024]", memory="1g", conf=settings)


def _bare() -> SparkSession:
    """An executor whose Python has something else under the name of the package."""
    folder = Path(tempfile.mkdtemp(prefix="bare-"))
    (folder / "emberlog").mkdir()
    (folder / "emberlog" / "__init__.py").write_text("")
    settings = {"spark.executorEnv.PYTHONPATH": str(folder), "spark.python.daemon.module": "pyspark.daemon"}
    return start_session("local-cluster[1,1,1024]", memory="1g", conf=settings)


def _connect() -> SparkSession:
    """A client of a server, which Spark starts for it; on a free port, as Spark's own tests do."""
    os.environ.update(
        SPARK_TESTING="1",
        SPARK_LOCAL_IP="127.0.0.1",
        JAVA_HOME=str(home_to_launch(find_java())),
        PYSPARK_PYTHON=sys.executable,
        PYSPARK_DRIVER_PYTHON=sys.executable,
    )
    builder = SparkSession.builder.remote("local[2]")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        # The server has taken the settings when the client is told that it cannot change them.
        warnings.filterwarnings("ignore", message="Failed to set", category=UserWarning)
        return builder.getOrCreate()


@pytest.fixture
def database(spark: SparkSession) -> Iterator[Database]:
    database = Database(spark)
    yield database
    database.close()
