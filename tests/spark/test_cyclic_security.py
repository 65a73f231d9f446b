"""Strangers beside a run on Spark, and sessions that ask for encryption."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.events import Event, ExecutorChosen
from emberlog.executors.cyclic import launcher
from emberlog.executors.cyclic.handshake import DRIVER
from emberlog.executors.cyclic.meeting import Tracker
from emberlog.executors.cyclic.scratch import known_folders
from emberlog.executors.cyclic.slots import ENCRYPTION
from tests.spark.answers import facts_of
from tests.unit.executors.cyclic.test_strangers import ATTACKS, Stranger

NEAR = "near(X, min<D>) :- X = 0, D = 0.\nnear(Y, min<D>) :- near(X, D1), arc(X, Y), D = D1 + 1.\n"
CYCLIC = Execution(executor="cyclic")


@pytest.fixture
def arcs(database: Database) -> Database:
    database["arc"] = [(number, number + 1) for number in range(20)]
    return database


DISTANCES = {(number, number) for number in range(21)}


@pytest.fixture
def strangers() -> Iterator[list[Stranger]]:
    present = [attack() for attack in ATTACKS.values()]
    yield present
    for one in present:
        one.leave()


def test_all_strangers_at_once(arcs: Database, strangers: list[Stranger], monkeypatch: pytest.MonkeyPatch) -> None:
    class Besieged(Tracker):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type]
            for stranger in strangers:
                stranger.visit(self.address.port, DRIVER)

    monkeypatch.setattr(launcher, "Tracker", Besieged)
    with arcs.datalog(NEAR, execution=CYCLIC) as result:
        assert facts_of(result["near"]) == DISTANCES
    assert all(stranger.connections for stranger in strangers)


@pytest.mark.parametrize("name", ENCRYPTION)
def test_encrypted_connections_are_not_for_workers(
    arcs: Database, spark: SparkSession, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_before_the_session(spark, name, monkeypatch)
    with pytest.raises(EmberlogError, match=f"DL333.*{name} is on, and connections between workers are not encrypted"):
        arcs.datalog(NEAR, execution=CYCLIC)


def test_encrypted_connections_are_left_to_spark(
    database: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_before_the_session(spark, ENCRYPTION[0], monkeypatch)
    database["arc"] = [(0, 1), (1, 2)]
    events: list[Event] = []
    with database.datalog(NEAR, listener=events.append) as result:
        assert facts_of(result["near"]) == {(0, 0), (1, 1), (2, 2)}
    (chosen,) = [event for event in events if isinstance(event, ExecutorChosen)]
    assert chosen.executor == "dataframe" and chosen.why.startswith(f"{ENCRYPTION[0]} is on, and")


def test_with_encrypted_files_facts_are_never_in_ours(
    arcs: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_before_the_session(spark, "spark.io.encryption.enabled", monkeypatch)
    before = known_folders()
    with arcs.datalog(NEAR, execution=CYCLIC) as result:
        assert known_folders() == before
        assert facts_of(result["near"]) == DISTANCES


def set_before_the_session(spark: SparkSession, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the setting had been there from the start: Spark itself goes on without it."""
    get = spark.conf.get
    monkeypatch.setattr(type(spark.conf), "get", lambda _conf, one, *rest: "true" if one == name else get(one, *rest))
