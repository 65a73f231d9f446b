"""Strangers at every place where a run can be dialed: they get nothing, and the run beside them goes on."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from emberlog.engines.spark.job import Job, Status
from emberlog.workers.kernels.tuning import MOST_HANDSHAKES
from emberlog.workers.plan.mode import Mode
from emberlog.workers.wire import handshake
from emberlog.workers.wire.handshake import DRIVER, Address, Credentials, Refused, Unreachable, greet, new_key
from emberlog.workers.wire.listener import SocketListener
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Progress
from emberlog.workers.wire.rendezvous import meet
from emberlog.workers.wire.tracker import Tracker
from tests.unit.workers.task_runs import KEY, Barrier, facts_in, job_for, run_tasks

NEAR = """
declare arc(int a, int b).
near(X, min<D>) :- X = 0, D = 0.
near(Y, min<D>) :- near(X, D1), arc(X, Y), D = D1 + 1.
"""
CHAIN = [(number, number + 1) for number in range(30)]
DISTANCES = {(number, number) for number in range(31)}

HELLO = struct.Struct("<8sqq16s")


class Stranger:
    """Someone on the network: what he sends, and what he was told in return."""

    def __init__(self, attack: Callable[[socket.socket, int], None], times: int = 1) -> None:
        self.attack = attack
        self.times = times
        self.connections: list[socket.socket] = []

        self.visits: list[threading.Thread] = []

    def visit(self, port: int, listener: int) -> None:
        """Comes and stays, while others do their work; gives him a moment to be there first."""
        self.visits.append(threading.Thread(target=self._visit, args=(port, listener), daemon=True))
        self.visits[-1].start()
        self.visits[-1].join(timeout=0.1)

    def _visit(self, port: int, listener: int) -> None:
        with contextlib.suppress(OSError):
            for _ in range(self.times):
                connection = socket.create_connection(("127.0.0.1", port), timeout=1)
                self.connections.append(connection)
                with contextlib.suppress(OSError, Refused):
                    self.attack(connection, listener)

    def heard(self) -> bytes:
        """All that ever came back."""
        heard = b""
        for thread in self.visits:
            thread.join(timeout=20)
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.settimeout(0.001)
                while part := connection.recv(1 << 16):
                    heard += part
        return heard

    def leave(self) -> None:
        for connection in self.connections:
            connection.close()


def say_nothing(_connection: socket.socket, _listener: int) -> None:
    """And stay."""


def speak_http(connection: socket.socket, _listener: int) -> None:
    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b"x" * 4096)


def send_zeros(connection: socket.socket, _listener: int) -> None:
    connection.sendall(bytes(1 << 20))


def announce_much(connection: socket.socket, _listener: int) -> None:
    """As a frame of mail and as a text: nobody may make room for it."""
    connection.sendall(
        struct.pack("<4sIQ5q", b"MAIL", 8 << 24 | 5, 1, 0, 1, 0, 1, 1 << 40) + struct.pack("<I", 0xFFFFFFFF)
    )


def have_another_key(connection: socket.socket, listener: int) -> None:
    greet(connection, Credentials("run", 0, new_key()), 1, listener)


def stop_half_way(connection: socket.socket, _listener: int) -> None:
    connection.sendall(HELLO.pack(b"EMBERLG1", 0, 1, bytes(16))[:-1])


def dribble(connection: socket.socket, _listener: int) -> None:
    """A byte now and then: each is in time, all of them never are."""

    def drip() -> None:
        with contextlib.suppress(OSError):
            for byte in HELLO.pack(b"EMBERLG1", 0, 1, bytes(16)):
                connection.sendall(bytes([byte]))
                time.sleep(0.05)

    threading.Thread(target=drip, daemon=True).start()


ATTACKS: dict[str, Callable[[], Stranger]] = {
    "silence": lambda: Stranger(say_nothing, 20),
    "another protocol": lambda: Stranger(speak_http),
    "garbage": lambda: Stranger(send_zeros),
    "oversized": lambda: Stranger(announce_much),
    "no key": lambda: Stranger(have_another_key, 5),
    "half a hello": lambda: Stranger(stop_half_way, 20),
    "slow": lambda: Stranger(dribble, 5),
    "a crowd": lambda: Stranger(say_nothing, MOST_HANDSHAKES + 50),
}


@pytest.fixture
def strangers() -> Iterator[list[Stranger]]:
    present: list[Stranger] = []
    yield present
    for one in present:
        one.leave()


@pytest.mark.parametrize("attack", ATTACKS)
def test_at_the_door_of_a_worker(
    attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strangers: list[Stranger]
) -> None:
    """They come first and stay; then the workers dial each other."""
    stranger = ATTACKS[attack]()
    strangers.append(stranger)

    def come(texts: list[str]) -> None:
        for number, text in enumerate(texts):
            stranger.visit(json.loads(text)[1], number)

    job = job_for(NEAR, {"arc": CHAIN}, tmp_path, workers=3)
    summaries = run_tasks(job, monkeypatch, Barrier(3, come))
    assert [summary.status for summary in summaries] == [Status.DONE] * 3
    assert set(facts_in(tmp_path / "relation-0")) == DISTANCES
    assert len(stranger.heard()) <= 48 * len(stranger.connections)  # a fresh number and a proof of it: no fact


@pytest.mark.parametrize("attack", ATTACKS)
def test_at_the_door_of_the_driver(
    attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strangers: list[Stranger]
) -> None:
    stranger = ATTACKS[attack]()
    strangers.append(stranger)
    heard: list[Progress] = []
    job, tracker = tracked(job_for(NEAR, {"arc": CHAIN}, tmp_path), heard)
    try:
        stranger.visit(tracker.address.port, DRIVER)
        summaries = run_tasks(job, monkeypatch)
    finally:
        tracker.close()
    assert [summary.status for summary in summaries] == [Status.DONE] * 2
    assert set(facts_in(tmp_path / "relation-0")) == DISTANCES
    assert [progress.iteration for progress in heard] == list(range(1, 32))
    assert len(stranger.heard()) <= 48 * len(stranger.connections)
    assert not [thread for thread in threading.enumerate() if thread.name == "emberlog tracker"]


def tracked(job: Job, heard: list[Progress]) -> tuple[Job, Tracker]:
    progress = MergedProgress(job.workers, heard.append, Mode.BSP)
    tracker = Tracker("127.0.0.1", job.workers, Credentials(job.run, 0, KEY), progress)
    return replace(job, tracker=tracker.address), tracker


class Recorder:
    """Stands between two ends, and writes down what the dialing one says."""

    def __init__(self, port: int) -> None:
        self.said: list[bytes] = []
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        inner, _ = self._listener.accept()
        with inner, socket.create_connection(("127.0.0.1", self._port)) as outer:
            self.said.append(inner.recv(1024))
            outer.sendall(self.said[0])
            inner.sendall(outer.recv(1024))
            self.said.append(inner.recv(1024))
            outer.sendall(self.said[1])

    def close(self) -> None:
        self._thread.join(timeout=20)
        self._listener.close()


def test_a_recorded_handshake_is_worth_nothing() -> None:
    """At a door that knows the same run, attempt and worker: its fresh number differs, and the proof covers it."""
    ours = Credentials("run", 0, new_key())
    opened = SocketListener("127.0.0.1", 0)
    admitted = opened.let_in(ours, time.monotonic() + 20)
    recorder = Recorder(opened.port)
    with ThreadPoolExecutor(1) as threads, socket.create_connection(("127.0.0.1", recorder.port)) as dialer:
        dialed = threads.submit(greet, dialer, ours, 1, 0)
        number, connection = next(admitted)
        dialed.result(timeout=20)
        assert number == 1
        connection.close()
    recorder.close()
    with socket.create_connection(("127.0.0.1", opened.port)) as replayer:
        for part in recorder.said:
            replayer.sendall(part)
        with socket.create_connection(("127.0.0.1", opened.port)) as friend, ThreadPoolExecutor(1) as threads:
            dialed = threads.submit(greet, friend, ours, 2, 0)
            number, connection = next(admitted)
            assert number == 2  # the replayer, who came before, was not let in
            dialed.result(timeout=20)
            connection.close()
        replayer.settimeout(5)
        with contextlib.suppress(OSError):
            while replayer.recv(1024):
                pass
    opened.close()


def test_a_handshake_at_one_worker_is_worth_nothing_at_another() -> None:
    """The proof covers both ends: who passes it on to another door is turned away there."""
    ours = Credentials("run", 0, new_key())
    opened = SocketListener("127.0.0.1", 3)
    recorder = Recorder(opened.port)
    with socket.create_connection(("127.0.0.1", recorder.port)) as dialer, ThreadPoolExecutor(1) as threads:
        admitted = threads.submit(list, opened.let_in(ours))
        with pytest.raises(Refused):
            greet(dialer, ours, 1, 0)
        opened.stop()
        assert admitted.result(timeout=20) == []
    recorder.close()
    opened.close()


def test_who_is_slow_is_turned_away(monkeypatch: pytest.MonkeyPatch, strangers: list[Stranger]) -> None:
    """Before, during and behind the hello; a byte in time does not buy more time."""
    monkeypatch.setattr(handshake, "HANDSHAKE_SECONDS", 0.3)
    ours = Credentials("run", 0, new_key())
    opened = SocketListener("127.0.0.1", 0)
    strangers += [Stranger(attack) for attack in (say_nothing, stop_half_way, dribble)]

    def hello_alone(connection: socket.socket, _listener: int) -> None:
        connection.sendall(HELLO.pack(b"EMBERLG1", 0, 1, bytes(16)))

    strangers.append(Stranger(hello_alone))
    for stranger in strangers:
        stranger.visit(opened.port, 0)
    with pytest.raises(TimeoutError):
        list(opened.let_in(ours, time.monotonic() + 2))
    assert not opened._handshakes
    opened.close()


def test_a_worker_does_not_wait_for_ever_for_a_false_tracker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake, "HANDSHAKE_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as false:
        address = Address("127.0.0.1", false.getsockname()[1])
        with pytest.raises(
            Unreachable, match=f"the driver at {address} could not be reached from worker 0 .*: timed out"
        ):
            meet(0, 1, "127.0.0.1", Credentials("run", 0, new_key()), address, lambda text: [text])
