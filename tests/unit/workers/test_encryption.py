"""What goes over encrypted connections: nobody on the way reads it, changes it or uses it again."""

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

import numpy as np
import pytest

from emberlog.workers.plan.mode import Mode
from emberlog.workers.wire.encryption import Identity
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.frames import PeerLost
from emberlog.workers.wire.handshake import Credentials, Refused, greet, new_key
from emberlog.workers.wire.listener import SocketListener
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Message, Progress
from emberlog.workers.wire.presence import Heartbeat
from emberlog.workers.wire.rendezvous import Met, meet
from emberlog.workers.wire.tracker import Tracker
from tests.unit.workers.identities import OURS, THEIRS
from tests.unit.workers.test_strangers import ATTACKS

PLAIN = Credentials("run", 0, new_key())
ENCRYPTED = replace(PLAIN, identity=OURS)

KNOWN = np.frombuffer(b"a fact of ours! " * 4, np.int64).reshape(1, 8)
"""A lane that is easily found."""


class OnTheWay:
    """Stands between a dialing end and a listening one, writes down all that passes and may change it."""

    def __init__(self, to: int, change: Callable[[bytes, int], bytes] = lambda part, _place: part) -> None:
        self.seen = {"there": bytearray(), "back": bytearray()}
        self._change = change
        self._to = to
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._ends: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._run, daemon=True)]
        self._threads[0].start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            inner, _ = self._listener.accept()
            outer = socket.create_connection(("127.0.0.1", self._to))
            self._ends += (inner, outer)
            for one, other, name in ((inner, outer, "there"), (outer, inner, "back")):
                self._threads.append(threading.Thread(target=self._copy, args=(one, other, name), daemon=True))
                self._threads[-1].start()

    def _copy(self, one: socket.socket, other: socket.socket, name: str) -> None:
        seen = self.seen[name]
        with contextlib.suppress(OSError):
            while part := one.recv(1 << 16):
                seen += part
                other.sendall(self._change(part, len(seen) - len(part)) if name == "there" else part)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for one in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join(timeout=20)


class Pair:
    """Two workers, the second of which dials the first through somebody else's hands."""

    def __init__(self, credentials: Credentials, change: Callable[[bytes, int], bytes] = lambda part, _: part) -> None:
        self.barrier = threading.Barrier(2)
        self.texts = ["", ""]
        self.credentials = credentials
        self.change = change
        self.between: OnTheWay | None = None

    def __enter__(self) -> list[Exchange]:
        with ThreadPoolExecutor(2) as threads:
            self.teams = list(threads.map(self._meet, range(2)))
        self.exchanges = [Exchange(number, met.peers, met.routes) for number, met in enumerate(self.teams)]
        return self.exchanges

    def _meet(self, number: int) -> Met:
        def gather(text: str, /) -> list[str]:
            self.texts[number] = text
            self.barrier.wait(timeout=20)
            if number == 1:
                host, port, attempt = json.loads(self.texts[0])
                self.between = OnTheWay(port, self.change)
                return [json.dumps([host, self.between.port, attempt]), self.texts[1]]
            return self.texts

        return meet(number, 2, "127.0.0.1", self.credentials, None, gather)

    def __exit__(self, *_: object) -> None:
        for exchange in self.exchanges:
            exchange.close()
        assert self.between is not None
        self.between.close()


def swap_both(exchanges: list[Exchange], lanes: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> list[Message]:
    with ThreadPoolExecutor(2) as threads:
        ends = [threads.submit(one.swap, [Message((7,), {3: lanes})] * 2) for one in exchanges]
        return [end.result(timeout=30)[1 - number] for number, end in enumerate(ends)]


@pytest.mark.parametrize("credentials", [PLAIN, ENCRYPTED], ids=["plain", "encrypted"])
def test_what_is_seen_on_the_way(credentials: Credentials) -> None:
    pair = Pair(credentials)
    with pair as exchanges:
        for _ in range(3):
            for message in swap_both(exchanges, KNOWN):
                assert message.numbers == (7,) and np.array_equal(message.batches[3], KNOWN)
    assert pair.between is not None
    for seen in pair.between.seen.values():
        is_plain = credentials.identity is None
        assert (KNOWN.tobytes() in seen, b"MAIL" in seen) == (is_plain, is_plain)
        assert (b"EMBERLG1" in pair.between.seen["there"]) == is_plain
        assert credentials.key not in seen


def test_much_at_once() -> None:
    """More than any buffer holds, in both directions, several times; and small frames in between."""
    lanes = np.arange(600_000, dtype=np.int64).reshape(3, 200_000)
    with Pair(ENCRYPTED) as exchanges:
        for content in (lanes, KNOWN, lanes, lanes[:, :0], lanes):
            for message in swap_both(exchanges, content):
                assert np.array_equal(message.batches[3], content)


def test_frames_that_come_together_are_read_one_by_one() -> None:
    """What is decrypted already is not seen by who waits for the connection."""
    with Pair(ENCRYPTED) as exchanges:
        for number in range(50):
            exchanges[1].trade([Message((number,)), Message()], {0}, 0)
        exchanges[1].flush()
        for number in range(50):
            assert exchanges[0].trade([Message(), Message()], {1}, None)[1].numbers == (number,)


def test_a_changed_byte_ends_the_run() -> None:
    """Behind the handshake, wherever it is."""
    is_on = threading.Event()

    def change(part: bytes, _place: int) -> bytes:
        if not is_on.is_set():
            return part
        return part[:-9] + bytes([part[-9] ^ 1]) + part[-8:]

    with Pair(ENCRYPTED, change) as exchanges:
        swap_both(exchanges, KNOWN)
        is_on.set()
        exchanges[1].trade([Message((1,), {0: KNOWN}), Message()], {0}, 0)
        exchanges[1].flush()
        with pytest.raises(PeerLost, match="worker 1 is gone"):
            exchanges[0].swap([Message(), Message()])


def test_what_was_recorded_is_worth_nothing() -> None:
    opened = SocketListener("127.0.0.1", 0)
    admitted = opened.let_in(ENCRYPTED, time.monotonic() + 20)
    recorder = OnTheWay(opened.port)
    with ThreadPoolExecutor(1) as threads:
        dialed = threads.submit(greet, socket.create_connection(("127.0.0.1", recorder.port)), ENCRYPTED, 1, 0)
        number, connection = next(admitted)
        assert number == 1
        dialed.result(timeout=20).close()
        connection.close()
        recorder.close()
        with socket.create_connection(("127.0.0.1", opened.port)) as replayer:
            replayer.sendall(recorder.seen["there"])
            friend = threads.submit(greet, socket.create_connection(("127.0.0.1", opened.port)), ENCRYPTED, 2, 0)
            number, connection = next(admitted)
            assert number == 2  # the replayer, who came before, was not let in
            connection.close()
            friend.result(timeout=20).close()
    opened.close()


@pytest.mark.parametrize(
    "stranger",
    [PLAIN, replace(PLAIN, identity=THEIRS), replace(ENCRYPTED, key=new_key())],
    ids=["no encryption", "another certificate", "another key"],
)
def test_strangers_are_refused(stranger: Credentials) -> None:
    for dialer, listener in ((stranger, ENCRYPTED), (ENCRYPTED, stranger)):
        opened = SocketListener("127.0.0.1", 0)
        with ThreadPoolExecutor(1) as threads:
            admitted = threads.submit(list, opened.let_in(listener))
            with pytest.raises((Refused, OSError)), greeted(opened.port, dialer) as connection:
                connection.settimeout(20)
                if not connection.recv(1):  # a dialer may learn of it only when it reads
                    raise Refused("hung up on")
            opened.stop()
            assert admitted.result(timeout=20) == []
        opened.close()


def test_strangers_at_an_encrypted_door() -> None:
    """They come first and stay; ours gets in, and they hear nothing but what TLS says to everyone."""
    opened = SocketListener("127.0.0.1", 0, guests=1)
    strangers = [attack() for attack in ATTACKS.values()]
    admitted = opened.let_in(ENCRYPTED, time.monotonic() + 60)
    with ThreadPoolExecutor(1) as threads:
        for stranger in strangers:
            stranger.visit(opened.port, 0)
        dialed = threads.submit(
            lambda: greet(socket.create_connection(("127.0.0.1", opened.port)), ENCRYPTED, 2, 0).close()
        )
        number, connection = next(admitted)
        assert number == 2
        connection.close()
        dialed.result(timeout=20)
    opened.close()
    for stranger in strangers:
        assert b"EMBERLG1" not in stranger.heard()
        stranger.leave()


@contextlib.contextmanager
def greeted(port: int, credentials: Credentials) -> Iterator[socket.socket]:
    plain = socket.create_connection(("127.0.0.1", port))
    with plain, greet(plain, credentials, 1, 0) as connection:
        yield connection


def test_the_driver_hears_workers_and_nobody_else_does() -> None:
    heard: list[Progress] = []
    problems: list[str] = []
    tracker = Tracker(
        "127.0.0.1", 1, ENCRYPTED, MergedProgress(1, heard.append, Mode.BSP), problems.append, stall_seconds=20
    )
    between = OnTheWay(tracker.address.port)
    try:
        met = meet(0, 1, "127.0.0.1", ENCRYPTED, replace(tracker.address, port=between.port), lambda _: [])
        heartbeat = Heartbeat(met, 0.2, lambda: pytest.fail("the driver listens"))
        met.tell(Progress(1, 2, 0x1234567812345678))
        until = time.monotonic() + 20
        while not heard and time.monotonic() < until:
            time.sleep(0.01)
        heartbeat.stop()
        met.close()
        tracker.close(20)
    finally:
        tracker.close()
        between.close()
    assert heard == [Progress(1, 2, 0x1234567812345678)] and not problems
    assert between.seen["there"] and struct.pack("<q", 0x1234567812345678) not in between.seen["there"]
    assert struct.pack("<qqqq", -2, 0, 0, 0) not in between.seen["there"]  # nor the good-bye


def test_an_identity_as_text() -> None:
    again = Identity.from_text(OURS.to_text())
    assert (again.certificate, again.key) == (OURS.certificate, OURS.key)
    assert "BEGIN" not in repr(ENCRYPTED) and ENCRYPTED.key.hex() not in repr(ENCRYPTED)
