"""The cluster that these tests run on, its sessions, and the table of what became of each fault."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession

from emberlog.engines.spark.session import start_session
from tests.cluster.machines import INSIDE, Network, is_isolated
from tests.cluster.standalone import MOST_WORKERS, Standalone, wait_until
from tests.cluster.trials import Ledger

HERE = Path(__file__).parent
collect_ignore_glob = [] if os.environ.get(INSIDE) else ["test_*.py"]
"""Outside of the namespaces there is nothing to be done here: `python -m tests.cluster` goes in."""

LEDGER = Ledger()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)
            if "isolated" in getattr(item, "fixturenames", ()) and not is_isolated():
                item.add_marker(pytest.mark.skip(reason="without namespaces machines share a network and a disk"))


@pytest.fixture(autouse=True)
def small_strata_on_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the cluster compute what is small, too."""
    monkeypatch.setattr("emberlog.engines.spark.run.runs_small_strata", lambda _execution: False)


@pytest.fixture(scope="session")
def whole_cluster() -> Iterator[Standalone]:
    network = Network()
    cluster = Standalone(network)
    yield cluster
    cluster.close()
    network.close()


@pytest.fixture
def cluster(whole_cluster: Standalone) -> Standalone:
    """The cluster with all its machines, also if the test before took some away."""
    whole_cluster.mend(MOST_WORKERS)
    return whole_cluster


@pytest.fixture
def isolated() -> None:
    """Marks tests of machines with networks and disks of their own."""


class Sessions:
    """Gives out sessions on the cluster. One stays open until another is asked for with other settings."""

    def __init__(self, cluster: Standalone) -> None:
        self.cluster = cluster
        self.session: SparkSession | None = None
        self.settings: Mapping[str, str] = {}

    def get(self, settings: Mapping[str, str], executors: int) -> SparkSession:
        if self.session is None or settings != self.settings or self.session.sparkContext._jsc is None:
            self.close()
            self.session, self.settings = self._start(settings), settings
        context = self.session.sparkContext._jsc.sc()
        wait_until(lambda: context.getExecutorIds().size() >= executors, f"{executors} executors", self.cluster.logs)
        return self.session

    def _start(self, settings: Mapping[str, str]) -> SparkSession:
        """Starts a session whose driver is this process."""
        address = self.cluster.network.driver
        places = {"spark.driver.host": address, "spark.driver.bindAddress": address}
        sizes = {"spark.executor.memory": "1g", "spark.executor.cores": "1", "spark.sql.shuffle.partitions": "4"}
        os.environ.update(SPARK_LOCAL_IP=address, PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable)
        return start_session(self.cluster.master, memory="1g", conf={**places, **sizes, **settings})

    def close(self) -> None:
        if self.session is not None:
            session, self.session = self.session, None
            # A test may have been stopped in the middle of a call: Java's answers come out of turn then.
            with suppress(Py4JError):
                session.stop()
            _end_java()
            self.cluster.wait_until_idle()


def _end_java() -> None:
    """Ends the Java process of the driver. The next session gets another: settings with which a process was started
    hold for all sessions in it."""
    gateway: Any = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
    context: Any = SparkContext
    context._gateway = context._jvm = context._active_spark_context = None


@pytest.fixture(scope="session")
def sessions(whole_cluster: Standalone) -> Iterator[Sessions]:
    sessions = Sessions(whole_cluster)
    yield sessions
    sessions.close()


GetSession = Callable[..., SparkSession]


@pytest.fixture
def session(cluster: Standalone, sessions: Sessions) -> GetSession:
    """Returns a session with these settings, when it has its executors."""

    def get(settings: Mapping[str, str] | None = None, *, executors: int = MOST_WORKERS) -> SparkSession:
        return sessions.get(settings or {}, executors)

    return get


@pytest.fixture
def spark(session: GetSession) -> SparkSession:
    """The session of all tests that need no other settings."""
    return session()


@pytest.fixture(scope="session")
def ledger() -> Ledger:
    name = os.environ.get("EMBERLOG_CLUSTER_TABLE")
    LEDGER.page = Path(name) if name else None
    return LEDGER


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for row in LEDGER.rows:
        terminalreporter.line(" | ".join(row))
