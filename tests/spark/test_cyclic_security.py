"""Strangers beside a run on Spark, and sessions that ask for encryption."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark import launcher
from emberlog.engines.spark.slots import ENCRYPTION
from emberlog.events import Event, ExecutorChosen
from emberlog.places import existing_folders
from emberlog.workers.wire.handshake import DRIVER
from emberlog.workers.wire.rendezvous import Tracker
from tests.spark.answers import facts_of
from tests.unit.workers.test_strangers import ATTACKS, Stranger

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
    before = set(existing_folders())
    with arcs.datalog(NEAR, execution=CYCLIC) as result:
        assert set(existing_folders()) <= before
        assert facts_of(result["near"]) == DISTANCES


def set_before_the_session(spark: SparkSession, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the setting had been there from the start: Spark itself goes on without it."""
    get = spark.conf.get
    monkeypatch.setattr(type(spark.conf), "get", lambda _conf, one, *rest: "true" if one == name else get(one, *rest))


def test_the_key_is_in_no_file(database: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of more than 1 MiB is written to a file by Spark, and stays there."""
    key = b"the key of this run, all its 32 b"
    monkeypatch.setattr(launcher, "new_key", lambda: key)
    texts = [f"{number} {'x' * 2_000}" for number in range(1_000)]
    database["arc"] = list(pairwise(texts))
    program = "far(X) :- arc(X, _). far(Y) :- far(X), arc(X, Y).\n"
    with database.datalog(program, execution=CYCLIC) as result:
        assert result["far"].count() == len(texts)
    place = Path(str(spark.sparkContext._temp_dir))
    written = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()}
    with_facts = [file for file, data in written.items() if texts[7].encode() in data]
    assert with_facts, "the function was not large enough to be written"
    assert all(file.stat().st_mode & 0o077 == 0 for file in with_facts)
    assert not any(key in data or key.hex().encode() in data for data in written.values())
    properties: Any = spark.sparkContext._jsc.sc().getLocalProperties()
    assert not [name for name in properties.stringPropertyNames() if name.endswith(".secret")]
