"""Networks that do not let everything through, and what can be read on them."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.events import Event, ExecutorChosen
from tests.cluster.conftest import GetSession, Sessions
from tests.cluster.standalone import WORKER_PORT, Standalone
from tests.cluster.test_pages import page_settings
from tests.cluster.trials import Ledger, chain_closure

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("isolated")]
with_firewall = pytest.mark.skipif(shutil.which("iptables") is None, reason="there is no iptables")

ROUNDS = 40
OPEN_PORTS = page_settings("firewall")
OUR_PORTS = OPEN_PORTS["spark.emberlog.ports"]
FIXED_PORTS = {name: value for name, value in OPEN_PORTS.items() if value != OUR_PORTS}


@contextmanager
def firewall(cluster: Standalone, verdict: str, *also: str) -> Iterator[None]:
    """Lets executors reach each other on Spark's ports only, and the driver reach everything."""
    ports = f"{WORKER_PORT},{OPEN_PORTS['spark.blockManager.port']}"
    passing = (
        "-i lo",
        f"-s {cluster.network.driver}",
        "-p tcp ! --syn",
        f"-p tcp -m multiport --dports {ports}",
        *also,
    )
    for node in cluster.nodes:
        node.firewall(*(f"{rule} -j ACCEPT" for rule in passing), f"-p tcp --syn -j {verdict}")
    try:
        yield
    finally:
        for node in cluster.nodes:
            node.firewall()


@with_firewall
@pytest.mark.parametrize("verdict", ["DROP", "REJECT"])
def test_a_firewall_between_executors(verdict: str, session: GetSession, cluster: Standalone, ledger: Ledger) -> None:
    spark = session(FIXED_PORTS)
    with firewall(cluster, verdict):
        trial = chain_closure(spark, ROUNDS, Execution())
        ledger.add(f"firewall between executors, Spark's ports only ({verdict})", trial)
        insisted = chain_closure(spark, ROUNDS, Execution(executor="cyclic"))
        ledger.add(f'the same, Execution(executor="cyclic") ({verdict})', insisted)
    assert trial.right, trial.error
    assert trial.chosen[-1].executor == "dataframe"
    assert any(f"{node.address}:" in trial.chosen[-1].why for node in cluster.nodes), trial.chosen
    assert "DL333" in insisted.error


@with_firewall
def test_a_firewall_with_a_range_of_ports_for_workers(session: GetSession, cluster: Standalone, ledger: Ledger) -> None:
    spark = session(OPEN_PORTS)
    with firewall(cluster, "DROP", f"-p tcp --dport {OUR_PORTS.replace('-', ':')}"):
        trial = chain_closure(spark, ROUNDS, Execution())
    ledger.add("the same, spark.emberlog.ports open", trial)
    assert trial.right, trial.error
    assert [event.executor for event in trial.chosen] == ["cyclic"]


@with_firewall
def test_executors_that_do_not_reach_the_driver(session: GetSession, cluster: Standalone, ledger: Ledger) -> None:
    """They meet through Spark instead."""
    spark = session(FIXED_PORTS)
    rules = (
        "-i lo -j ACCEPT",
        "-p tcp ! --syn -j ACCEPT",
        "-p tcp -m multiport --dports 7077,7091,7092,8080 -j ACCEPT",
    )
    try:
        for rule in (*rules, "-p tcp --syn -j DROP"):
            subprocess.run(["iptables", "-A", "INPUT", *rule.split()], check=True)
        trial = chain_closure(spark, ROUNDS, Execution())
    finally:
        subprocess.run(["iptables", "-F", "INPUT"], check=True)
    ledger.add("firewall between executors and driver, Spark's ports only", trial)
    assert trial.right, trial.error
    assert [event.executor for event in trial.chosen] == ["cyclic"]


ENCRYPTED = page_settings("encryption")
WORD = "Rumpelstilzchen"


class Listening:
    """Reads everything that goes between machines: all of it passes the ports of the switch, which is here."""

    def __init__(self) -> None:
        self.frames = 0
        self.readable = 0
        """Frames that have the word in them."""
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 2**20)
        self._socket.settimeout(0.2)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._read)

    def _read(self) -> None:
        while True:
            try:
                frame, (device, *_) = self._socket.recvfrom(2**17)
            except TimeoutError:
                if self._ends.is_set():
                    return
                continue
            if device != "lo":  # where the driver's Python and Java talk
                self.frames += 1
                self.readable += WORD.encode() in frame

    def __enter__(self) -> Listening:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()
        self._socket.close()


def overheard(spark: SparkSession) -> tuple[Listening, ExecutorChosen]:
    """Runs a recursion over texts, and listens."""
    events: list[Event] = []
    names = [f"{WORD} {number}" for number in range(2_000)]
    with Listening() as listening, Database(spark) as database:
        database["knows"] = list(zip(names, names[1:20] + names[:1] + names[20:], strict=True))
        program = "met(X, Y) :- knows(X, Y).\nmet(X, Z) :- met(X, Y), knows(Y, Z).\n"
        execution = Execution(mode="bsp", workers=2)
        with database.datalog(program, listener=events.append, execution=execution) as result:
            assert result["met"].count() == 20 * 20 + 1_980
    return listening, [event for event in events if isinstance(event, ExecutorChosen)][-1]


def test_texts_can_be_read_on_the_wire_without_encryption(session: GetSession) -> None:
    """Or the next test would show nothing."""
    listening, _ = overheard(session())
    assert listening.readable > 0


def test_nothing_can_be_read_on_the_wire_with_encryption(sessions: Sessions, whole_cluster: Standalone) -> None:
    """The secret is that of all daemons, so these have a cluster of their own."""
    sessions.close()
    whole_cluster.mend(0)
    cluster = Standalone(whole_cluster.network, ENCRYPTED, port=7177)
    own = Sessions(cluster)
    try:
        cluster.mend(2)
        listening, chosen = overheard(own.get(ENCRYPTED, 2))
    finally:
        own.close()
        cluster.close()
    assert listening.frames > 0
    assert listening.readable == 0
    assert chosen.executor == "cyclic", chosen.why
