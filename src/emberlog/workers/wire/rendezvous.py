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
LOOK_AROUND_SECONDS = 0.2
"""Seconds between two looks of the tracker whether all workers have come, for each that waits."""

_PULSE, _GOODBYE = -1, -2
"""In the place of an iteration: a sign of life, and the last word of a worker that ends in good order."""


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int


class Taken(Exception):
    """Says that another task is this worker: Spark started a second one, because the first failed or seems slow."""


class Gathering(Protocol):
    """Gathers texts of all workers in Spark's own way."""

    def __call__(self, text: str, /) -> list[str]: ...


# --- in the driver ----------------------------------------------------------------------------------------------------


class Tracker:
    """Waits for all workers, tells each the addresses of all, and listens to what they tell. A worker that falls
    silent, or is gone without a good-bye, is `lost`.

    How long workers are waited for is not decided here: Spark may have to find room for them first. Who comes first
    under a number is that worker; a second one is kept waiting until the tracker closes, because Spark would stop the
    first as soon as the second ends.
    """

    def __init__(
        self,
        host: str,
        workers: int,
        credentials: Credentials,
        progress: MergedProgress,
        lost: Callable[[str], None] = lambda _: None,
        stall_seconds: float = WAIT_SECONDS,
        dialed_at: str | None = None,
    ) -> None:
        """`dialed_at` is the host under which workers find it, where that is not the one that it listens on."""
        self._workers = workers
        self._credentials = credentials
        self._progress = progress
        self._door = SocketListener(host, DRIVER)
        self._lost = lost
        self._stall_seconds = stall_seconds
        self._lock = threading.Lock()
        self._connections: dict[int, socket.socket] = {}
        self._addresses: dict[int, str] = {}
        self._waiting: list[socket.socket] = []
        """Those whose number is taken."""
        self._is_complete = threading.Event()
        self._threads: list[threading.Thread] = []
        self._is_closed = False
        self.address = Address(dialed_at or host, self._door.port)
        self._start(self._accept)

    @property
    def arrived(self) -> int:
        """Returns how many workers have come."""
        with self._lock:
            return len(self._addresses)

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
                if not self._introduce(number, _receive_text(connection), connection):
                    return
                try:
                    self._listen(number, connection)
                finally:
                    self._progress.finish(number)
        except (OSError, Refused, ValueError) as error:
            if not self._is_closed:
                _log.debug("a connection to the tracker ended: %s", error)

    def _listen(self, number: int, connection: socket.socket) -> None:
        self._wait_for_all(connection)
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

    def _wait_for_all(self, connection: socket.socket) -> None:
        """Waits until everyone is here, or this one gone: the first sign of life comes after that."""
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            while not self._is_complete.is_set() and not selector.select(LOOK_AROUND_SECONDS):
                pass

    def _introduce(self, number: int, address: str, connection: socket.socket) -> bool:
        """Tells whether this is the worker of that number. One that is not is kept until it goes, or until the end."""
        with self._lock:
            is_first = number not in self._connections
            if is_first:
                self._addresses[number] = address
                self._connections[number] = connection
            elif self._is_closed:
                raise Refused("the run is over")
            else:
                self._waiting.append(connection)
            if is_first and len(self._addresses) == self._workers:
                everyone = json.dumps([self._addresses[worker] for worker in range(self._workers)])
                for one in self._connections.values():
                    _send_text(one, everyone)
                self._is_complete.set()
        if not is_first:
            _send_text(connection, json.dumps(None))
            connection.settimeout(None)
            connection.recv(1)
        return is_first

    def close(self, last_words: float = LAST_WORDS_SECONDS) -> None:
        """Workers that are done have closed their ends, and what they told last is still heard, for so many seconds.
        The others see that nobody listens any more."""
        self._door.stop()
        with self._lock:
            self._is_closed = True
            self._is_complete.set()
            for connection in self._waiting:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
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
    hosts: tuple[str, ...] = ()
    """Of all workers, in their order."""
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
                everyone = _when_all_are_here(to_tracker)
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
    return Met(peers, to_tracker, tuple(json.loads(one)[0] for one in everyone))


def _when_all_are_here(tracker: socket.socket) -> list[str]:
    """Waits as long as the driver does, which hangs up when it has waited enough."""
    _notice_silence(tracker)
    everyone: list[str] | None = json.loads(_receive_text(tracker, None))
    tracker.settimeout(None)
    if everyone is None:
        tracker.recv(1)
        raise Taken("another task of Spark is this worker")
    return everyone


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


def _receive_text(connection: socket.socket, patience: float | None = WAIT_SECONDS) -> str:
    """Receives a text; with no end to the patience, whenever it comes."""
    connection.settimeout(patience)
    until = None if patience is None else time.monotonic() + patience
    (length,) = _LENGTH.unpack(receive_exactly(connection, _LENGTH.size, until))
    if length > MOST_TEXT:
        raise Refused("a text that is too long")
    return receive_exactly(connection, length, until).decode()
