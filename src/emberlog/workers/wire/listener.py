"""Listens for connections: lets in those who prove that they belong to the run, without waiting for strangers.

All handshakes go on at the same time, each with an end. There is room for so many of them; when it is used up, the
oldest has to go: one of ours takes milliseconds.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import time
from collections.abc import Iterator

from emberlog.workers.kernels.tuning import BACKLOG, MOST_HANDSHAKES
from emberlog.workers.wire.handshake import Credentials, Newcomer, Refused

_log = logging.getLogger("emberlog")


class SocketListener:
    """Listens for one worker, or for the driver."""

    def __init__(self, host: str, number: int) -> None:
        self._number = number
        self._listener = socket.create_server((host, 0), backlog=BACKLOG)
        self._listener.setblocking(False)
        self._bell, self._button = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        for one in (self._listener, self._bell):
            self._selector.register(one, selectors.EVENT_READ)
        self._newcomers: dict[socket.socket, Newcomer] = {}
        """The oldest first."""
        self.port: int = self._listener.getsockname()[1]

    def let_in(self, credentials: Credentials, until: float | None = None) -> Iterator[tuple[int, socket.socket]]:
        """Yields those who have the key, with their numbers, as they come: until that time, or until `stop`."""
        while True:
            for key, _ in self._selector.select(self._patience(until)):
                if key.fileobj is self._bell:
                    return
                if key.fileobj is self._listener:
                    self._open(credentials)
                elif (newcomer := self._newcomers.get(key.data)) is not None:
                    number = self._heard(newcomer)
                    if number is not None:
                        yield number, newcomer.connection
            now = time.monotonic()
            for newcomer in tuple(self._newcomers.values()):
                if newcomer.until < now:
                    self._turn_away(newcomer, "it took too long")
            if until is not None and until < now:
                raise TimeoutError("not all workers came")

    def _patience(self, until: float | None) -> float | None:
        ends = [newcomer.until for newcomer in self._newcomers.values()]
        if until is not None:
            ends.append(until)
        return max(min(ends) - time.monotonic(), 0.0) + 0.01 if ends else None

    def _open(self, credentials: Credentials) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # it is gone again
            return
        if len(self._newcomers) >= MOST_HANDSHAKES:
            self._turn_away(next(iter(self._newcomers.values())), "too many at a time")
        self._newcomers[connection] = Newcomer(connection, credentials, self._number)
        self._selector.register(connection, selectors.EVENT_READ, connection)

    def _heard(self, newcomer: Newcomer) -> int | None:
        try:
            number = newcomer.go_on()
        except (OSError, Refused) as problem:
            self._turn_away(newcomer, str(problem))
            return None
        if number is not None:
            self._forget(newcomer)
            newcomer.connection.setblocking(True)
        return number

    def _turn_away(self, newcomer: Newcomer, why: str) -> None:
        _log.debug("a connection was refused: %s", why)
        self._forget(newcomer)
        newcomer.connection.close()

    def _forget(self, newcomer: Newcomer) -> None:
        self._selector.unregister(newcomer.connection)
        del self._newcomers[newcomer.connection]

    def stop(self) -> None:
        """Ends `let_in`, also from another thread."""
        with contextlib.suppress(OSError):
            self._button.send(b"!")

    def close(self) -> None:
        self._selector.close()
        for one in (self._listener, self._bell, self._button, *self._newcomers):
            one.close()
