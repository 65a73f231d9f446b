"""Lets the workers of a run find each other.

With a session in this process, the tracker in the driver introduces them, which takes a millisecond, and then hears of
their progress. Where the driver may be out of reach (Spark Connect), they meet by Spark's barrier, which takes a
second. Then everyone dials and is dialed at the same time.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import selectors
import socket
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Protocol

from emberlog.workers.kernels.tuning import CONNECT_SECONDS, HANDSHAKE_SECONDS, SILENT_SECONDS
from emberlog.workers.wire.frames import PeerLost
from emberlog.workers.wire.handshake import (
    DRIVER,
    Address,
    Credentials,
    Refused,
    Unreachable,
    greet,
    name_of,
    receive_exactly,
)
from emberlog.workers.wire.listener import ANY_PORT, Ports, SocketListener, unreachable
from emberlog.workers.wire.messages import Progress
from emberlog.workers.wire.routes import Routes
from emberlog.workers.wire.tracker import AT_ONCE, GOODBYE, HEARTBEAT, LENGTH, MOST_TEXT, PROGRESS, absence, framed


class Taken(Exception):
    """Says that another task is this worker: Spark started a second one, because the first failed or seems slow."""


class Gathering(Protocol):
    """Gathers texts of all workers in Spark's own way."""

    def __call__(self, text: str, /) -> list[str]: ...


@dataclass(slots=True)
class Met:
    """Holds all connections of a worker."""

    peers: dict[int, socket.socket]
    tracker: socket.socket | None
    hosts: tuple[str, ...] = ()
    """Of all workers, in their order."""
    routes: Routes | None = None
    """By whom mail gets to those without a connection."""
    _speaking: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, progress: Progress) -> None:
        self._say(progress.iteration, progress.changed, progress.total, progress.bytes_sent)

    def beat(self) -> None:
        """Sends a sign of life; from any thread."""
        self._say(HEARTBEAT, 0, 0, 0)

    def _say(self, *numbers: int) -> None:
        with self._speaking:
            if self.tracker is None:
                return
            try:
                self.tracker.sendall(PROGRESS.pack(*numbers))
            except OSError:  # nobody listens any more; the driver knows what is the matter
                self.tracker.close()
                self.tracker = None

    def is_heard_for(self, seconds: float) -> bool:
        """Waits so long; False as soon as the driver has hung up."""
        tracker = self.tracker
        if tracker is None:
            return False
        with selectors.DefaultSelector() as selector, contextlib.suppress(OSError, ValueError):
            selector.register(tracker, selectors.EVENT_READ)
            if not selector.select(seconds):
                return True
            with self._speaking:
                # An encrypted connection whose end was read could not even say good-bye, so only the plain bytes are
                # looked at. What comes is of a meeting that is called off, after this worker has met the others.
                return bool(socket.socket.recv(tracker, 1, socket.MSG_PEEK)) and bool(tracker.recv(AT_ONCE))
        return False

    def stop_listening(self) -> None:
        """Wakes whoever waits in `is_heard_for`."""
        with self._speaking, contextlib.suppress(OSError):
            if self.tracker is not None:
                # Not by the method of an encrypted connection, which would go on in the clear.
                socket.socket.shutdown(self.tracker, socket.SHUT_RD)

    def leave_peers(self) -> None:
        for connection in self.peers.values():
            connection.close()

    def close(self) -> None:
        self.leave_peers()
        self._say(GOODBYE, 0, 0, 0)
        if self.tracker is not None:
            self.tracker.close()


def meet(
    number: int,
    workers: int,
    host: str,
    credentials: Credentials,
    tracker: Address | None,
    gather: Gathering,
    ports: Ports = ANY_PORT,
) -> Met:
    """Connects this worker with all others, or with those by whom mail gets to the others: it dials those with smaller
    numbers and is dialed by the rest, all at the same time."""
    met = Met({}, None)
    try:
        opened = SocketListener(host, number, ports, workers)
    except Unreachable as problem:
        if tracker is None:  # in Spark's barrier everyone would wait for ever for one that has ended
            gather(absence(str(problem)))
        raise
    with contextlib.closing(opened) as listener:
        # Spark may try a stage again: what one attempt said is worth nothing in the next.
        mine = json.dumps([host, listener.port, secrets.randbits(62)])
        try:
            if tracker is not None:
                met.tracker = _dial_tracker(tracker, credentials, number, host)
                met.tracker.sendall(framed(mine))
                everyone = _when_all_are_here(met.tracker)
            else:
                everyone = gather(mine)
            addresses = [_told(worker, text) for worker, text in enumerate(everyone)]
            if len(addresses) != workers:
                raise Refused(f"{len(addresses):,} workers came, and {workers:,} were called")
            met.hosts = tuple(address.host for address in addresses)
            met.routes = routes = Routes(number, met.hosts)
            credentials = replace(credentials, attempt=json.loads(everyone[0])[2])
            _Meeting(addresses, routes, listener, met).hold(credentials)
        except BaseException:
            met.close()
            raise
    for connection in met.peers.values():
        _notice_silence(connection)
    return met


def _when_all_are_here(tracker: socket.socket) -> list[str]:
    """Waits as long as the driver does, which hangs up when it has waited enough."""
    everyone = _table(_receive_text(tracker))
    if everyone is None:
        tracker.recv(1)
        raise Taken("another task of Spark is this worker")
    return everyone


def _dial_tracker(tracker: Address, credentials: Credentials, number: int, host: str) -> socket.socket:
    try:
        connection = socket.create_connection((tracker.host, tracker.port), timeout=CONNECT_SECONDS)
    except OSError as problem:
        raise unreachable(DRIVER, tracker, number, host, problem) from None
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # The driver says when it has waited long enough for the others; a machine that is gone says nothing.
    _notice_silence(connection)
    try:
        return greet(connection, credentials, number, DRIVER)
    except OSError as problem:
        raise unreachable(DRIVER, tracker, number, host, problem) from None


class _Meeting:
    """Connects one worker with the others, once everyone knows everyone's address."""

    def __init__(self, addresses: list[Address], routes: Routes, listener: SocketListener, met: Met) -> None:
        self._number = routes.number
        self._neighbours = routes.neighbours
        self._addresses = addresses
        self._listener = listener
        self._met = met

    def hold(self, credentials: Credentials) -> None:
        tracker, peers = self._met.tracker, self._met.peers
        if tracker is not None:
            self._listener.watch(tracker, selectors.EVENT_READ, self._hear_driver)
        for peer in sorted(peer for peer in self._neighbours if peer < self._number):
            self._listener.dial(peer, self._addresses[peer], credentials)
        # Those who do not dial may have to find out first that they cannot.
        until = time.monotonic() + CONNECT_SECONDS + HANDSHAKE_SECONDS
        while len(peers) < len(self._neighbours):
            for peer, connection in self._listener.turn(credentials, until - time.monotonic()):
                self._welcome(peer, connection)
            if until < time.monotonic():
                raise self._not_dialed()
        for connection in (*peers.values(), *(() if tracker is None else (tracker,))):
            self._listener.watch(connection, 0, lambda _: None)

    def _welcome(self, peer: int, connection: socket.socket) -> None:
        if peer not in self._neighbours or peer in self._met.peers:
            connection.close()
            return
        self._met.peers[peer] = connection
        # Who cannot meet another one leaves all: then nobody waits for it.
        self._listener.watch(connection, selectors.EVENT_READ, lambda _: self._look_after(peer))

    def _look_after(self, peer: int) -> None:
        connection = self._met.peers[peer]
        if not socket.socket.recv(connection, 1, socket.MSG_PEEK):  # the plain bytes of an encrypted one, too
            raise PeerLost(f"{name_of(peer)} at {self._addresses[peer]} left before everyone had met")
        self._listener.watch(connection, 0, lambda _: None)  # it is at work already

    def _hear_driver(self, _events: int) -> None:
        assert self._met.tracker is not None
        _table(_receive_text(self._met.tracker))
        raise PeerLost("the driver told twice who is where")

    def _not_dialed(self) -> PeerLost:
        """Returns the error for those who did not come. If they cannot reach this worker they know that better."""
        missing = sorted(self._neighbours - self._met.peers.keys())
        own, host = self._addresses[self._number], self._addresses[missing[0]].host
        return PeerLost(f"{name_of(missing[0])} at {host} did not dial {name_of(self._number)} at {own}")


def _told(number: int, text: str) -> Address:
    match json.loads(text):
        case [str(host), int(port), int()]:
            return Address(host, port)
        case {"absent": str(reason)}:
            raise PeerLost(f"{name_of(number)} could not take part: {reason}")
        case _:
            raise Refused(f"{name_of(number)} told no address")


def _table(text: str) -> list[str] | None:
    """Returns what the tracker says: a text of each worker, or nothing to one that is not needed."""
    match json.loads(text):
        case None:
            return None
        case list() as everyone:
            return everyone
        case {"absent": str(reason)}:
            raise PeerLost(f"the workers could not meet: {reason}")
        case _:
            raise Refused("the driver told no addresses")


def _notice_silence(connection: socket.socket) -> None:
    """Lets the system ask from time to time whether the other machine is there: one that is gone does not even say
    so."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", SILENT_SECONDS // 4), ("TCP_KEEPINTVL", SILENT_SECONDS // 4)):
        if hasattr(socket, name):  # not on every system
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_SECONDS * 1000)


def _receive_text(connection: socket.socket) -> str:
    (length,) = LENGTH.unpack(receive_exactly(connection, LENGTH.size))
    if length > MOST_TEXT:
        raise Refused("a text that is too long")
    return receive_exactly(connection, length).decode()
