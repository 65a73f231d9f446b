"""Lets the workers of a run find each other.

With a session in this process, a small tracker in the driver introduces them, which takes a millisecond, and then
hears of their progress. Where the driver may be out of reach (Spark Connect), they meet by Spark's barrier, which
takes a second.
"""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from emberlog.workers.kernels.tuning import LAST_WORDS_SECONDS, SILENT_SECONDS, WAIT_SECONDS
from emberlog.workers.wire.handshake import DRIVER, Credentials, Refused, greet, receive_exactly
from emberlog.workers.wire.listener import SocketListener
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Progress

_log = logging.getLogger("emberlog")

_LENGTH = struct.Struct("<I")
_PROGRESS = struct.Struct("<qqqq")
MOST_TEXT = 1 << 20

_PULSE, _GOODBYE = -1, -2
"""In the place of an iteration: a sign of life, and the last word of a worker that ends in good order."""


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int


class Gathering(Protocol):
    """Gathers texts of all workers in Spark's own way."""

    def __call__(self, text: str, /) -> list[str]: ...


# --- in the driver ----------------------------------------------------------------------------------------------------


class Tracker:
    """Waits for all workers, tells each the addresses of all, and listens to what they tell. A worker that falls
    silent, or is gone without a good-bye, is `lost`."""

    def __init__(
        self,
        host: str,
        workers: int,
        credentials: Credentials,
        progress: MergedProgress,
        lost: Callable[[str], None] = lambda _: None,
        stall_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._workers = workers
        self._credentials = credentials
        self._progress = progress
        self._door = SocketListener(host, DRIVER)
        self._lost = lost
        self._stall_seconds = stall_seconds
        self._lock = threading.Lock()
        self._connections: dict[int, socket.socket] = {}
        self._addresses: dict[int, str] = {}
        self._threads: list[threading.Thread] = []
        self._is_closed = False
        self.address = Address(host, self._door.port)
        self._start(self._accept)

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True, name="emberlog tracker")
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        for number, connection in self._door.let_in(self._credentials):
            if 0 <= number < self._workers:
                self._start(self._serve, number, connection)
            else:
                connection.close()

    def _serve(self, number: int, connection: socket.socket) -> None:
        try:
            with connection:
                self._introduce(number, _receive_text(connection), connection)
                self._listen(number, connection)
        except (OSError, Refused, ValueError) as error:
            if not self._is_closed:
                _log.debug("a connection to the tracker ended: %s", error)
        finally:
            self._progress.finish(number)

    def _listen(self, number: int, connection: socket.socket) -> None:
        # The first sign comes when everyone is here.
        connection.settimeout(WAIT_SECONDS + self._stall_seconds)
        problem = f"worker {number:,} gave no sign of life for {self._stall_seconds:,g} seconds"
        try:
            while True:
                progress = Progress(*_PROGRESS.unpack(receive_exactly(connection, _PROGRESS.size)))
                connection.settimeout(self._stall_seconds)
                if progress.iteration == _GOODBYE:
                    return
                if progress.iteration != _PULSE:
                    self._progress.report(number, progress)
        except TimeoutError:
            pass
        except (OSError, Refused):
            problem = f"the connection to worker {number:,} was lost"
        if not self._is_closed:
            self._lost(problem)

    def _introduce(self, number: int, address: str, connection: socket.socket) -> None:
        with self._lock:
            if number in self._connections:
                raise Refused(f"worker {number} is here already")
            self._addresses[number] = address
            self._connections[number] = connection
            if len(self._addresses) < self._workers:
                return
            everyone = json.dumps([self._addresses[worker] for worker in range(self._workers)])
            for one in self._connections.values():
                _send_text(one, everyone)

    def close(self, last_words: float = LAST_WORDS_SECONDS) -> None:
        """Workers that are done have closed their ends, and what they told last is still heard, for so many seconds.
        The others see that nobody listens any more."""
        self._is_closed = True
        self._door.stop()
        until = time.monotonic() + last_words
        for thread in self._threads:
            thread.join(timeout=max(0.0, until - time.monotonic()))
        with self._lock:
            for connection in self._connections.values():
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=5)
        self._door.close()


# --- in a worker ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Met:
    """Holds all connections of a worker."""

    peers: dict[int, socket.socket]
    tracker: socket.socket | None
    _speaking: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, progress: Progress) -> None:
        self._say(progress.iteration, progress.changed, progress.total, progress.bytes_sent)

    def beat(self) -> None:
        """Sends a sign of life; from any thread."""
        self._say(_PULSE, 0, 0, 0)

    def _say(self, *numbers: int) -> None:
        with self._speaking:
            if self.tracker is None:
                return
            try:
                self.tracker.sendall(_PROGRESS.pack(*numbers))
            except OSError:  # nobody listens any more; the driver knows what is the matter
                self.tracker.close()
                self.tracker = None

    def is_heard_for(self, seconds: float) -> bool:
        """Waits so long; False as soon as the driver has hung up, which says nothing by itself after the meeting."""
        tracker = self.tracker
        if tracker is None:
            return False
        with selectors.DefaultSelector() as selector, contextlib.suppress(OSError, ValueError):
            selector.register(tracker, selectors.EVENT_READ)
            return not selector.select(seconds)
        return False

    def stop_listening(self) -> None:
        """Wakes whoever waits in `is_heard_for`."""
        with self._speaking, contextlib.suppress(OSError):
            if self.tracker is not None:
                self.tracker.shutdown(socket.SHUT_RD)

    def leave_peers(self) -> None:
        for connection in self.peers.values():
            connection.close()

    def close(self) -> None:
        self.leave_peers()
        self._say(_GOODBYE, 0, 0, 0)
        if self.tracker is not None:
            self.tracker.close()


def meet(
    number: int, workers: int, host: str, credentials: Credentials, tracker: Address | None, gather: Gathering
) -> Met:
    """Connects this worker with all others: it dials those with smaller numbers and is dialed by the rest."""
    to_tracker: socket.socket | None = None
    peers: dict[int, socket.socket] = {}
    with contextlib.closing(SocketListener(host, number)) as listener:
        # Spark may try a stage again: what one attempt said is worth nothing in the next.
        mine = json.dumps([host, listener.port, secrets.randbits(62)])
        try:
            if tracker is not None:
                to_tracker = socket.create_connection((tracker.host, tracker.port), timeout=WAIT_SECONDS)
                to_tracker.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                greet(to_tracker, credentials, number, DRIVER)
                _send_text(to_tracker, mine)
                everyone: list[str] = json.loads(_receive_text(to_tracker))
                to_tracker.settimeout(None)
            else:
                everyone = gather(mine)
            credentials = replace(credentials, attempt=json.loads(everyone[0])[2])
            for peer in range(number):
                address, port, _ = json.loads(everyone[peer])
                peers[peer] = socket.create_connection((address, port), timeout=WAIT_SECONDS)
                greet(peers[peer], credentials, number, peer)
            _be_dialed(listener, peers, number, workers, credentials)
        except BaseException:
            Met(peers, to_tracker).close()
            raise
    for connection in peers.values():
        _notice_silence(connection)
    return Met(peers, to_tracker)


def _notice_silence(connection: socket.socket) -> None:
    """Lets the system ask from time to time whether the other machine is there: one that is gone does not even say
    so."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", SILENT_SECONDS // 4), ("TCP_KEEPINTVL", SILENT_SECONDS // 4)):
        if hasattr(socket, name):  # not on every system
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_SECONDS * 1000)


def _be_dialed(
    listener: SocketListener, peers: dict[int, socket.socket], number: int, workers: int, credentials: Credentials
) -> None:
    if len(peers) == workers - 1:
        return
    for peer, connection in listener.let_in(credentials, time.monotonic() + WAIT_SECONDS):
        if not number < peer < workers or peer in peers:
            connection.close()
            continue
        peers[peer] = connection
        if len(peers) == workers - 1:
            return


def _send_text(connection: socket.socket, text: str) -> None:
    data = text.encode()
    connection.sendall(_LENGTH.pack(len(data)) + data)


def _receive_text(connection: socket.socket) -> str:
    until = time.monotonic() + WAIT_SECONDS
    (length,) = _LENGTH.unpack(receive_exactly(connection, _LENGTH.size, until))
    if length > MOST_TEXT:
        raise Refused("a text that is too long")
    return receive_exactly(connection, length, until).decode()
