"""Connects one end with others: lets in those who prove that they belong to the run, without waiting for strangers, and
dials others at the same time.

All handshakes go on together, each with an end. There is room for so many of strangers; when it is used up, the oldest
has to go: one of ours takes milliseconds.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from errno import EADDRINUSE

from emberlog.workers.kernels.tuning import BACKLOG, MOST_HANDSHAKES
from emberlog.workers.wire.handshake import (
    Address,
    Credentials,
    Dialer,
    Handshake,
    Newcomer,
    Refused,
    Unreachable,
    name_of,
)

_log = logging.getLogger("emberlog")


@dataclass(frozen=True, slots=True)
class Ports:
    """Holds the ports that may be listened on, both ends included; 0 leaves the choice to the system."""

    first: int = 0
    last: int = 0

    @staticmethod
    def of(text: str) -> Ports:
        """Reads `40000-40100`, or one port. Raises ValueError."""
        first, _, last = text.partition("-")
        ports = Ports(int(first), int(last or first))
        if not 0 < ports.first <= ports.last < 1 << 16:
            raise ValueError(text)
        return ports

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"

    def listen(self, host: str, number: int, backlog: int) -> socket.socket:
        """Returns a socket that listens on one of them. Those of one host begin to look at different places."""
        count = self.last - self.first + 1
        for place in range(count):
            port = self.first + (number + place) % count
            try:
                return socket.create_server((host, port), backlog=backlog)
            except OSError as problem:
                if problem.errno != EADDRINUSE:
                    raise Unreachable(f"{name_of(number)} cannot listen on {host}:{port}: {problem.strerror}") from None
        raise Unreachable(f"{name_of(number)} cannot listen on {host}: all of its ports {self} are in use")


ANY_PORT = Ports()


class SocketListener:
    """Listens for one worker, or for the driver, and dials for it."""

    def __init__(self, host: str, number: int, ports: Ports = ANY_PORT, guests: int = 0) -> None:
        """`guests` is how many of ours may come at the same time: there is always room for them."""
        self._host = host
        self._number = number
        self._room = MOST_HANDSHAKES + guests
        self._listener = ports.listen(host, number, max(BACKLOG, guests))
        self._listener.setblocking(False)
        self._bell, self._button = socket.socketpair()
        self._bell.setblocking(False)
        self._is_stopped = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._handshakes: dict[int, Handshake] = {}
        """By the number of the system for the connection, the oldest first."""
        self.port: int = self._listener.getsockname()[1]

    def let_in(self, credentials: Credentials, until: float | None = None) -> Iterator[tuple[int, socket.socket]]:
        """Yields those who have the key, with their numbers, as they come: until that time, or until `stop`."""
        while not self._is_stopped:
            yield from self.turn(credentials, None if until is None else until - time.monotonic())
            if until is not None and until < time.monotonic():
                raise TimeoutError("not all workers came")

    def turn(self, credentials: Credentials, patience: float | None) -> Iterator[tuple[int, socket.socket]]:
        """Waits, at most so many seconds, until there is something to do, and does it; yields those who have come or
        answered, with their numbers. Raises Unreachable for one that is dialed in vain."""
        for key, events in self._selector.select(self._patience(patience)):
            known = self._selector.get_map().get(key.fd)
            if known is None or known.data is not key.data:
                continue  # closed by what was done just now
            if key.fileobj is self._bell:
                self._bell.recv(1024)
            elif key.fileobj is self._listener:
                self._open(credentials)
            elif isinstance(key.data, Handshake):
                number = self._go_on(key.data)
                if number is not None:
                    yield number, key.data.connection
            else:
                key.data(events)
        now = time.monotonic()
        for handshake in [one for one in self._handshakes.values() if one.until < now]:
            self._end(handshake, TimeoutError("timed out"))

    def _patience(self, patience: float | None) -> float | None:
        ends = [handshake.until for handshake in self._handshakes.values()]
        if ends:
            left = min(ends) - time.monotonic() + 0.01
            patience = left if patience is None else min(patience, left)
        return None if patience is None else max(patience, 0.0)

    def dial(self, number: int, address: Address, credentials: Credentials) -> None:
        """Begins to dial a worker; `turn` gives the connection."""
        dialer = Dialer(socket.socket(), credentials, self._number, number, address)
        self._handshakes[dialer.connection.fileno()] = dialer
        self._selector.register(dialer.connection.fileno(), dialer.events, dialer)
        self._go_on(dialer)

    def watch(self, connection: socket.socket, events: int, act: Callable[[int], None]) -> None:
        """Lets `turn` call `act` with the events of a connection; without any it is left alone again."""
        descriptor = connection.fileno()
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)
        if events:
            self._selector.register(descriptor, events, act)

    def _open(self, credentials: Credentials) -> None:
        for _ in range(BACKLOG):
            try:
                connection, _ = self._listener.accept()
            except OSError:  # nobody else is there, or he is gone again
                return
            if len(self._handshakes) >= self._room:
                self._turn_oldest_away()
            newcomer = Newcomer(connection, credentials, self._number)
            self._handshakes[connection.fileno()] = newcomer
            self._selector.register(connection.fileno(), selectors.EVENT_READ, newcomer)
            # Ours say hello with the next packet, so there is nothing to be done yet.

    def _turn_oldest_away(self) -> None:
        oldest = next((one for one in self._handshakes.values() if isinstance(one, Newcomer)), None)
        if oldest is not None:
            self._end(oldest, Refused("too many at a time"))

    def _go_on(self, handshake: Handshake) -> int | None:
        waits_for = handshake.events
        try:
            number = handshake.go_on()
        except (OSError, Refused) as problem:
            self._end(handshake, problem)
            return None
        if number is not None:
            self._forget(handshake)
            handshake.connection.setblocking(True)
        elif handshake.events != waits_for:
            self._selector.modify(handshake.connection.fileno(), handshake.events, handshake)
        return number

    def _end(self, handshake: Handshake, problem: OSError | Refused) -> None:
        """Turns a stranger away; a worker that cannot be dialed is an error."""
        self._forget(handshake)
        handshake.connection.close()
        if not isinstance(handshake, Dialer):
            _log.debug("a connection was refused: %s", problem)
            return
        if handshake.is_connected:  # it could be reached, and is stuck or gone
            raise Refused(f"{name_of(handshake.listener)} at {handshake.to}: {problem}")
        assert isinstance(problem, OSError)
        raise unreachable(handshake.listener, handshake.to, self._number, self._host, problem) from None

    def _forget(self, handshake: Handshake) -> None:
        descriptor = handshake.connection.fileno()
        self._selector.unregister(descriptor)
        del self._handshakes[descriptor]

    def wake(self) -> None:
        """Ends the waiting of `turn`, from another thread."""
        with contextlib.suppress(OSError):
            self._button.send(b"!")

    def stop(self) -> None:
        """Ends `let_in`, also from another thread."""
        self._is_stopped = True
        self.wake()

    def close(self) -> None:
        self._selector.close()
        for one in (self._listener, self._bell, self._button, *(one.connection for one in self._handshakes.values())):
            one.close()


def unreachable(number: int, address: Address | None, own: int, host: str, problem: OSError) -> Unreachable:
    """Returns the error for a worker, or the driver, that cannot be dialed from here."""
    why = "timed out" if isinstance(problem, TimeoutError) else problem.strerror or str(problem)
    return Unreachable(f"{name_of(number)} at {address} could not be reached from {name_of(own)} at {host}: {why}")
