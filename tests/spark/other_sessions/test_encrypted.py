"""Spark's connections are encrypted, and so are those of the workers: someone listens to all that passes."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.engines.spark import key_handover
from emberlog.engines.spark.certificates import new_identity
from emberlog.events import Event, ExecutorChosen
from emberlog.workers.wire.handshake import Credentials, new_key
from emberlog.workers.wire.listener import Ports
from tests.spark.answers import facts_of

TOWNS = [f"the town of number {number}" for number in range(12)]
TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Z) :- tc(X, Y), tc(Y, Z).\n"
CLOSURE = {(TOWNS[a], TOWNS[b]) for a in range(12) for b in range(a + 1, 12)}
EVERY_KIND = 0x0003
"""Of packets."""


@pytest.fixture
def arcs(database: Database) -> Database:
    database["arc"] = [(TOWNS[number], TOWNS[number + 1]) for number in range(11)]
    return database


@contextlib.contextmanager
def listening(ports: Ports) -> Iterator[list[bytes]]:
    """Collects what passes on the loopback device from or to these ports; nothing where that is not allowed."""
    heard: list[bytes] = []
    try:
        device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERY_KIND))
        device.bind(("lo", 0))
    except (AttributeError, OSError):
        yield heard
        return
    device.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    device.settimeout(0.1)
    is_over = threading.Event()

    def listen() -> None:
        while not is_over.is_set():
            with contextlib.suppress(TimeoutError):
                packet = device.recv(1 << 16)[14:]
                length = (packet[0] & 15) * 4
                if packet[9] == socket.IPPROTO_TCP and packet[0] >> 4 == 4:
                    ends = struct.unpack("!HH", packet[length : length + 4])
                    if any(ports.first <= end <= ports.last for end in ends):
                        heard.append(packet[length + 20 :])

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield heard
    finally:
        is_over.set()
        thread.join()
        device.close()


@pytest.mark.parametrize("mode", ["bsp", "async"])
@pytest.mark.parametrize("is_encrypted", [True, False], ids=["encrypted", "plain"])
def test_what_passes(
    arcs: Database, spark: SparkSession, mode: str, is_encrypted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_encrypted:  # so that it is known that one could have heard it
        monkeypatch.setattr(
            "emberlog.engines.spark.launcher.new_credentials", lambda _: Credentials("plain", 0, new_key())
        )
    events: list[Event] = []
    with (
        listening(Ports.of(spark.conf.get("spark.emberlog.ports") or "")) as heard,
        arcs.datalog(TC, execution=Execution("cyclic", mode), listener=events.append) as result,
    ):
        assert facts_of(result["tc"]) == CLOSURE
    (chosen,) = [event for event in events if isinstance(event, ExecutorChosen)]
    assert chosen.executor == "cyclic" and "2 workers" in chosen.how and "encrypted connections" in chosen.how
    everything = b"".join(heard)
    if everything:
        assert len(everything) > 1_000
        is_readable = [word in everything for word in (b"EMBERLG1", b"MAIL", b"the town of number")]
        assert is_readable == [not is_encrypted] * 3


def test_java_makes_what_python_reads(spark: SparkSession) -> None:
    identity = new_identity(spark)
    assert identity.dialing is not identity.answering
    assert key_handover.new_credentials(spark).identity is not None
