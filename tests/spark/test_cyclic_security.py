"""Strangers beside a run on Spark, and sessions that ask for encryption."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from ssl import TLSVersion
from typing import Any, cast
from weakref import WeakKeyDictionary

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.engines.spark import certificates, key_handover, session_settings, worker_stage
from emberlog.engines.spark.certificates import new_identity
from emberlog.engines.spark.failures import NotHere
from emberlog.engines.spark.session_settings import ENCRYPTION
from emberlog.events import Event, ExecutorChosen
from emberlog.places import existing_folders
from emberlog.workers.wire.handshake import DRIVER
from emberlog.workers.wire.tracker import Tracker
from tests.spark.answers import facts_of
from tests.unit.workers.test_encryption import OnTheWay
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

    monkeypatch.setattr(worker_stage, "Tracker", Besieged)
    with arcs.datalog(NEAR, execution=CYCLIC) as result:
        assert facts_of(result["near"]) == DISTANCES
    assert all(stranger.connections for stranger in strangers)


@pytest.mark.parametrize("name", ENCRYPTION)
def test_workers_encrypt_their_connections_where_spark_does(
    arcs: Database, spark: SparkSession, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those to the driver are seen here; between workers it is the same handshake."""
    set_before_the_session(spark, name, monkeypatch)
    recorders: list[OnTheWay] = []

    class Recorded(Tracker):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type]
            recorders.append(OnTheWay(self.address.port))
            self.address = replace(self.address, port=recorders[-1].port)

    monkeypatch.setattr(worker_stage, "Tracker", Recorded)
    events: list[Event] = []
    with arcs.datalog(NEAR, execution=replace(CYCLIC, workers=1), listener=events.append) as result:
        assert facts_of(result["near"]) == DISTANCES
    (chosen,) = [event for event in events if isinstance(event, ExecutorChosen)]
    assert chosen.executor == "cyclic" and "encrypted connections" in chosen.how
    (recorder,) = recorders
    recorder.close()
    assert recorder.seen["there"] and b"EMBERLG1" not in recorder.seen["there"]
    assert b"127.0.0.1" not in recorder.seen["there"] + recorder.seen["back"]


def test_several_workers_with_encrypted_connections(
    arcs: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_before_the_session(spark, ENCRYPTION[0], monkeypatch)
    for mode in ("bsp", "async"):
        with arcs.datalog(NEAR, execution=replace(CYCLIC, mode=mode)) as result:
            assert facts_of(result["near"]) == DISTANCES


def test_a_certificate_of_java(spark: SparkSession) -> None:
    identity = new_identity(spark)
    for context in (identity.dialing, identity.answering):
        assert context.minimum_version is TLSVersion.TLSv1_3
    assert new_identity(spark).certificate != identity.certificate


def test_without_the_package_nobody_makes_keys_over_spark_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "is_connect", lambda _: True)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(NotHere, match=r"pip install 'emberlog\[encryption\]'"):
        new_identity(cast(SparkSession, None))


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
    monkeypatch.setattr(session_settings, "_known", WeakKeyDictionary())  # what a session says is asked once
    monkeypatch.setattr(type(spark.conf), "get", lambda _conf, one, *rest: "true" if one == name else get(one, *rest))


def test_the_key_is_in_no_file(database: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of more than 1 MiB is written to a file by Spark, and stays there."""
    key = b"the key of this run, all its 32 b"
    monkeypatch.setattr(key_handover, "new_key", lambda: key)
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
