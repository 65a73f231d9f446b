"""Ports that workers and driver may listen on, by a setting of the session."""

from __future__ import annotations

import socket

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark import worker_stage
from emberlog.engines.spark.session_settings import PORTS
from emberlog.workers.wire.tracker import Tracker
from tests.spark.answers import facts_of

FAR = "far(X) :- arc(0, X). far(Y) :- far(X), arc(X, Y).\n"
CYCLIC = Execution(executor="cyclic")


@pytest.fixture
def arcs(database: Database) -> Database:
    database["arc"] = [(0, 1), (1, 2)]
    return database


def test_a_range(arcs: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        first = min(once.getsockname()[1] + 1, 65_000)
    used: list[int] = []

    class Noted(Tracker):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type]
            used.append(self.address.port)

    monkeypatch.setattr(worker_stage, "Tracker", Noted)
    with_ports(spark, f"{first}-{first + 100}", monkeypatch)
    with arcs.datalog(FAR, execution=CYCLIC) as result:
        assert facts_of(result["far"]) == {(1,), (2,)}
    assert used and all(first <= port <= first + 100 for port in used)


def test_a_range_that_is_used_up(arcs: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with_ports(spark, str(port), monkeypatch)
        with pytest.raises(EmberlogError, match=f"DL333.*all of its ports {port}-{port} are in use"):
            arcs.datalog(FAR, execution=CYCLIC)


def test_what_is_no_range(arcs: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with_ports(spark, "many", monkeypatch)
    with pytest.raises(EmberlogError, match=r"DL508.*spark\.emberlog\.ports is no range of ports: `many`"):
        arcs.datalog(FAR, execution=CYCLIC)


def with_ports(spark: SparkSession, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    get = spark.conf.get
    monkeypatch.setattr(type(spark.conf), "get", lambda _conf, one, *rest: text if one == PORTS else get(one, *rest))
