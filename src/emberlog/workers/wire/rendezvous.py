"""Lets the workers of a run find each other.

With a session in this process, a small tracker in the driver introduces them, which takes a millisecond, and then
hears of their progress. Where the driver may be out of reach (Spark Connect), they meet by Spark's barrier, which
takes a second. Then everyone dials and is dialed at the same time.
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

from emberlog.workers.kernels.tuning import (
    CONNECT_SECONDS,
    HANDSHAKE_SECONDS,
    LAST_WORDS_SECONDS,
    SECOND_TASK_SECONDS,
    SILENT_SECONDS,
    WAIT_SECONDS,
)
from emberlog.workers.wire.frames import PeerLost
from emberlog.workers.wire.handshake import (
    DRIVER,
    WAITS,
    Address,
    Credentials,
    Refused,
    Unreachable,
    greet,
    name_of,
    receive_exactly,
)
from emberlog.workers.wire.listener import ANY_PORT, Ports, SocketListener, unreachable
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Progress
from emberlog.workers.wire.routes import Routes

_log = logging.getLogger("emberlog")

_LENGTH = struct.Struct("<I")
_PROGRESS = struct.Struct("<qqqq")
MOST_TEXT = 1 << 20
_AT_ONCE = 1 << 16
"""Bytes that are read of one worker at a time."""

_PULSE, _GOODBYE = -1, -2
"""In the place of an iteration: a sign of life, and the last word of a worker that ends in good order."""


class Taken(Exception):
    """Says that another task is this worker: Spark started a second one, because the first failed or seems slow."""


class Gathering(Protocol):
    """Gathers texts of all workers in Spark's own way."""

    def __call__(self, text: str, /) -> list[str]: ...


def absence(reason: str) -> str:
    """Returns what a worker that failed before the meeting says there in place of its address: nobody waits for it
    then."""
    return json.dumps({"absent": reason})


# --- in the driver ----------------------------------------------------------------------------------------------------


class Tracker:
    """Waits for all workers, tells each the addresses of all, and listens to what they tell: one thread for all of
    them. A worker that falls silent, or is gone without a good-bye, is `lost`. The meeting is called off when one
    leaves before it has met the others.

    How long workers are waited for is not decided here: Spark may have to find room for them first. Who comes first
    under a number is that worker; a second one is kept waiting until the tracker closes, because Spark would stop the
    first as soon as the second ends. If it still waits a while after the first has left in good order, Spark does not
    have what that one told, and the worker is lost all the same.
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
        ports: Ports = ANY_PORT,
    ) -> None:
        """`dialed_at` is the host under which workers find it, where that is not the one that it listens on."""
        self._workers = workers
        self._credentials = credentials
        self._progress = progress
        self._listener = SocketListener(host, DRIVER, ports, workers)
        self._lost = lost
        self._stall_seconds = stall_seconds
        self._guests: dict[int, _Guest] = {}
        """Those who are here, by number."""
        self._waiting: list[_Guest] = []
        """Those whose number is taken."""
        self._addresses: dict[int, str] = {}
        self._called_off: str | None = None
        self._next_look: float | None = None
        self._closes_at: float | None = None
        self.address = Address(dialed_at or host, self._listener.port)
        self._thread = threading.Thread(target=self._run, daemon=True, name="emberlog tracker")
        self._thread.start()

    @property
    def arrived(self) -> int:
        """Returns how many workers have come."""
        return len(self._addresses)

    @property
    def present(self) -> int:
        """Returns how many workers are here and have not left."""
        return len(self._guests)

    def call_off(self, reason: str) -> None:
        """Ends the meeting, from any thread: those who wait for others are told why."""
        self._called_off = self._called_off or reason
        self._listener.wake()

    def close(self, last_words: float = LAST_WORDS_SECONDS) -> None:
        """Workers that are done have closed their ends, and what they told last is still heard, for so many seconds.
        The others see that nobody listens any more."""
        self._closes_at = time.monotonic() + last_words
        self._listener.wake()
        self._thread.join(timeout=last_words + 5)

    def _run(self) -> None:
        try:
            self._attend_all()
        except Exception as error:
            _log.exception("the tracker stopped")
            self._lost(f"the tracker stopped: {error}")  # or everyone would wait for ever

    def _attend_all(self) -> None:
        with contextlib.closing(self._listener):
            while self._closes_at is None or (self._guests and time.monotonic() < self._closes_at):
                for number, connection in self._listener.turn(self._credentials, self._patience()):
                    self._receive_guest(number, connection)
                self._look_for_the_silent()
                if self._called_off is not None:
                    self._tell_those_who_wait(absence(self._called_off))
            for guest in (*self._guests.values(), *self._waiting):
                self._part_with(guest)

    def _patience(self) -> float | None:
        ends = [end for end in (self._next_look, self._closes_at) if end is not None]
        return max(min(ends) - time.monotonic(), 0.0) + 0.01 if ends else None

    def _receive_guest(self, number: int, connection: socket.socket) -> None:
        if not 0 <= number < self._workers:
            connection.close()
            return
        connection.setblocking(False)
        guest = _Guest(number, connection)
        self._expect_word(guest, HANDSHAKE_SECONDS)
        if number in self._guests or number in self._addresses:
            self._waiting.append(guest)
            if number in self._guests:
                guest.until = float("inf")
            else:
                self._expect_word(guest, SECOND_TASK_SECONDS)
            self._say(guest, json.dumps(None))
        else:
            self._guests[number] = guest
            self._watch(guest)

    def _expect_word(self, guest: _Guest, seconds: float) -> None:
        guest.until = time.monotonic() + seconds
        self._next_look = min(guest.until, self._next_look or guest.until)

    def _attend(self, guest: _Guest, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                guest.send()
            if events & selectors.EVENT_READ and not self._hear(guest):
                return
        except (OSError, Refused, ValueError) as problem:
            _log.debug("a connection to the tracker ended: %s", problem)
            self._lose(guest, f"the connection to worker {guest.number:,} was lost")
            return
        self._watch(guest)

    def _watch(self, guest: _Guest) -> None:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if guest.unsent else 0)
        self._listener.watch(guest.connection, events, lambda events: self._attend(guest, events))

    def _hear(self, guest: _Guest) -> bool:
        """Takes what a worker says; False when it has left."""
        try:
            part = guest.connection.recv(_AT_ONCE)
        except WAITS:
            return True
        if not part:
            raise Refused("it was closed")
        guest.said += part
        if guest in self._waiting:
            guest.said.clear()
            return True
        if guest.number not in self._addresses:
            address = guest.text()
            if address is None:
                return True
            self._addresses[guest.number] = address
            guest.until = float("inf")  # the first sign of life comes when everyone is here
            self._introduce()
        while len(guest.said) >= _PROGRESS.size:
            progress = Progress(*_PROGRESS.unpack_from(guest.said))
            del guest.said[: _PROGRESS.size]
            self._expect_word(guest, self._stall_seconds)
            if progress.iteration == _GOODBYE:
                self._part_with(guest)
                if not guest.has_met:
                    self.call_off(f"worker {guest.number:,} could not take part")
                return False
            guest.has_met = True
            if progress.iteration != _PULSE:
                self._progress.report(guest.number, progress)
        return True

    def _introduce(self) -> None:
        """Tells everyone who is where, when the last one has come."""
        if len(self._addresses) < self._workers:
            return
        everyone = json.dumps([self._addresses[worker] for worker in range(self._workers)])
        for guest in tuple(self._guests.values()):
            # To dial all others takes a while on a machine that has much to do.
            self._expect_word(guest, self._stall_seconds + WAIT_SECONDS)
            self._say(guest, everyone)

    def _tell_those_who_wait(self, text: str) -> None:
        for guest in tuple(self._guests.values()):
            if not guest.has_met and not guest.is_told:
                guest.is_told = True
                self._say(guest, text)

    def _say(self, guest: _Guest, text: str) -> None:
        guest.unsent += _framed(text)
        try:
            guest.send()
        except OSError:
            self._lose(guest, f"the connection to worker {guest.number:,} was lost")
        else:
            self._watch(guest)

    def _look_for_the_silent(self) -> None:
        now = time.monotonic()
        if self._next_look is None or now < self._next_look:
            return
        for guest in tuple(self._guests.values()):
            if guest.until < now:
                problem = f"worker {guest.number:,} gave no sign of life for {self._stall_seconds:,g} seconds"
                self._lose(guest, problem)
        for guest in self._waiting:
            if guest.until < now and self._closes_at is None:
                guest.until = float("inf")
                self._lost(f"Spark began worker {guest.number:,} anew, because it did not hear how it ended")
        ends = [guest.until for guest in (*self._guests.values(), *self._waiting)]
        self._next_look = min((end for end in ends if end < float("inf")), default=None)

    def _lose(self, guest: _Guest, problem: str) -> None:
        is_known = guest.number in self._addresses and guest not in self._waiting
        self._part_with(guest)
        if is_known and self._closes_at is None:
            if not guest.has_met:
                self.call_off(problem)
            self._lost(problem)

    def _part_with(self, guest: _Guest) -> None:
        self._listener.watch(guest.connection, 0, lambda _: None)
        guest.connection.close()
        if guest in self._waiting:
            self._waiting.remove(guest)
        elif self._guests.pop(guest.number, None) is not None and guest.number in self._addresses:
            self._progress.finish(guest.number)
            for second in self._waiting:
                if second.number == guest.number:
                    self._expect_word(second, SECOND_TASK_SECONDS)


@dataclass(slots=True, eq=False)
class _Guest:
    """Holds what the tracker knows of a worker that has proved who it is."""

    number: int
    connection: socket.socket
    said: bytearray = field(default_factory=bytearray)
    unsent: bytearray = field(default_factory=bytearray)
    has_met: bool = False
    """Whether it gave a sign of life, which it does when it is connected with all others."""
    is_told: bool = False
    """Whether it knows that the meeting is called off."""
    until: float = 0.0
    """When it has been silent for too long."""

    def text(self) -> str | None:
        """Takes a whole text out of what was said, if there is one."""
        if len(self.said) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self.said)
        if length > MOST_TEXT:
            raise Refused("a text that is too long")
        if len(self.said) < _LENGTH.size + length:
            return None
        text = self.said[_LENGTH.size : _LENGTH.size + length].decode()
        del self.said[: _LENGTH.size + length]
        return text

    def send(self) -> None:
        """Sends what the connection takes now."""
        while self.unsent:
            try:
                sent = self.connection.send(self.unsent)
            except WAITS:
                return
            del self.unsent[:sent]


# --- in a worker ------------------------------------------------------------------------------------------------------


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
                return bool(socket.socket.recv(tracker, 1, socket.MSG_PEEK)) and bool(tracker.recv(_AT_ONCE))
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
        self._say(_GOODBYE, 0, 0, 0)
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
                met.tracker.sendall(_framed(mine))
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


def _framed(text: str) -> bytes:
    data = text.encode()
    return _LENGTH.pack(len(data)) + data


def _receive_text(connection: socket.socket) -> str:
    (length,) = _LENGTH.unpack(receive_exactly(connection, _LENGTH.size))
    if length > MOST_TEXT:
        raise Refused("a text that is too long")
    return receive_exactly(connection, length).decode()
