"""One session for all tests on Spark. It is as small as a session can be, and tests leave it as they found it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.database import Database
from emberlog.engines.spark.session import start_session

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)


QUICK_TO_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Tests are over before a better compiler pays."""

SIMPLE_QUERIES = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    conf = {"spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": QUICK_TO_START}
    session = start_session("local[2]", memory="2g", conf=conf)
    yield session
    session.stop()


@pytest.fixture
def database(spark: SparkSession) -> Iterator[Database]:
    database = Database(spark)
    yield database
    database.close()


@pytest.fixture(autouse=True)
def small_strata_on_spark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets Spark compute what is small, too: most tests are about what it does, with little data. Those that are marked
    `in_driver` run programs as people do."""
    if request.node.get_closest_marker("in_driver") is None:
        monkeypatch.setattr("emberlog.engines.spark.run.runs_small_strata", lambda _execution: False)


@pytest.fixture
def simple_queries(spark: SparkSession) -> Iterator[None]:
    """For hundreds of tiny queries: neither adapted while they run nor compiled, they take half the time."""
    before = {name: str(spark.conf.get(name)) for name in SIMPLE_QUERIES}
    for name, value in SIMPLE_QUERIES.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)
