"""Carries frames over one connection, plain or encrypted, without ever waiting."""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
from collections import deque

from emberlog.workers.kernels.tuning import BUFFERS_PER_CALL, READ_AHEAD
from emberlog.workers.wire.frames import GOODBYE, Incoming, PeerLost, framed
from emberlog.workers.wire.handshake import WAITS, name_of
from emberlog.workers.wire.messages import Message


class Link:
    """Is one worker's connection with another."""

    def __init__(self, peer: int, connection: socket.socket, selector: selectors.BaseSelector) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peer = peer
        self.connection = connection
        self.queued = 0
        """Bytes that are not sent yet."""
        self._encrypted = connection if isinstance(connection, ssl.SSLSocket) else None
        self._selector = selector
        self._watched = 0
        self._sent = 0
        """Frames, those that wait included."""
        self._pieces: deque[memoryview] = deque()
        """What is left of them."""
        self._incoming = Incoming(name_of(peer), self._read)
        # Most frames are small, and a look at the connection costs more than they do.
        self._ahead = memoryview(bytearray(READ_AHEAD))
        self._begin = self._end = 0
        self.watch(selectors.EVENT_READ)

    # Sending

    def put(self, message: Message) -> int:
        """Takes a message to be sent; returns how many bytes it is."""
        self._sent += 1
        pieces = framed(self._sent, message)
        size = sum(map(len, pieces)) if len(pieces) > 1 else len(pieces[0])
        self._pieces += pieces
        self.queued += size
        return size

    def send(self) -> None:
        """Sends what the connection takes now."""
        try:
            while self._pieces:
                self._count(self._send_some())
        except WAITS:
            return
        except OSError as error:
            raise PeerLost(f"{name_of(self.peer)} is gone: {error}") from error

    def _send_some(self) -> int:
        if len(self._pieces) == 1 or self._encrypted is not None:
            return self.connection.send(self._pieces[0])
        pieces = list(self._pieces) if len(self._pieces) <= BUFFERS_PER_CALL else None
        return self.connection.sendmsg(pieces or [self._pieces[place] for place in range(BUFFERS_PER_CALL)])

    def _count(self, sent: int) -> None:
        self.queued -= sent
        while self._pieces and sent >= len(self._pieces[0]):
            sent -= len(self._pieces.popleft())
        if sent:
            self._pieces[0] = self._pieces[0][sent:]

    def say_goodbye(self) -> None:
        """Tells the other that this worker stops here. If a frame is under way he sees it end early, which tells him
        less."""
        if not self._pieces:
            with contextlib.suppress(OSError):
                self.connection.send(GOODBYE)

    # Receiving

    def receive(self) -> Message | None:
        """Returns the next message, if it is complete; the part that is here is not lost."""
        try:
            return self._incoming.next()
        except WAITS:
            return None
        except OSError as error:
            raise PeerLost(f"{name_of(self.peer)} is gone: {error}") from error

    @property
    def has_ahead(self) -> bool:
        """Tells whether something is here already that a selector does not see."""
        return self._begin < self._end or (self._encrypted is not None and self._encrypted.pending() > 0)

    def read_ahead(self) -> bool:
        """Takes a part of what is not wanted yet, so that a selector does not tell of it again; False if there was
        no room for it: it stays where it is."""
        if self._begin < self._end:
            return False
        try:
            self._begin, self._end = 0, self.connection.recv_into(self._ahead)
        except WAITS:
            return True
        except OSError as error:
            raise PeerLost(f"{name_of(self.peer)} is gone: {error}") from error
        return self._end > 0

    def _read(self, into: memoryview) -> int:
        if self._begin == self._end:
            if len(into) >= READ_AHEAD:
                return self.connection.recv_into(into)
            self._begin, self._end = 0, self.connection.recv_into(self._ahead)
        count = min(len(into), self._end - self._begin)
        into[:count] = self._ahead[self._begin : self._begin + count]
        self._begin += count
        return count

    # Waiting

    def watch(self, events: int) -> None:
        """Lets the selector look out for these events from now on."""
        if events == self._watched:
            return
        if not events:
            self._selector.unregister(self.connection)
        elif self._watched:
            self._selector.modify(self.connection, events, self)
        else:
            self._selector.register(self.connection, events, self)
        self._watched = events

    def close(self) -> None:
        self.connection.close()
