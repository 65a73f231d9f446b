"""Carries mail between workers: everyone's message to everyone, all at the same time.

A frame is a fixed header, a directory of numbers and batches, and the raw lanes. Nothing that a peer sends is ever
more than numbers in arrays. Sending and receiving go on together, so nobody waits for somebody who waits for him.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from emberlog.workers.kernels.memory import claim
from emberlog.workers.kernels.tuning import BUFFERS_PER_CALL, MOST_QUEUED
from emberlog.workers.wire.messages import Mail, Message

_HEADER = struct.Struct("<4sIQ")
_MAGIC = b"MAIL"
_GOODBYE = b"STOP"
"""In the place of a frame: the worker stops here."""
MOST_WORDS = 1 << 16
"""Of a directory."""
MOST_LANES = 1 << 10
MOST_BYTES = 1 << 38
"""Of one frame; a worker that announces more is broken."""


class PeerLost(Exception):
    """Says that a worker is gone, or breaks the protocol."""


class PeerStopped(PeerLost):
    """Says that a worker has no memory left, and said so: what is known is worth keeping."""


class Outgoing:
    """Sends a frame bit by bit."""

    def __init__(self, number: int, message: Message) -> None:
        batches = {channel: np.ascontiguousarray(lanes) for channel, lanes in message.batches.items()}
        words = [len(message.numbers), *message.numbers, len(batches)]
        for channel, lanes in batches.items():
            words += [channel, lanes.shape[0], lanes.shape[1]]
        header = _HEADER.pack(_MAGIC, len(words), number)
        self.pieces = [memoryview(header), np.array(words, np.int64).data.cast("B")]
        self.pieces += [lanes.data.cast("B") for lanes in batches.values() if lanes.size]
        self.size = sum(len(piece) for piece in self.pieces)

    def send(self, connection: socket.socket) -> bool:
        """Sends what the connection takes now; True when all is sent."""
        while self.pieces:
            try:
                sent = connection.sendmsg(self.pieces[:BUFFERS_PER_CALL])
            except BlockingIOError:
                return False
            while self.pieces and sent >= len(self.pieces[0]):
                sent -= len(self.pieces.pop(0))
            if self.pieces:
                self.pieces[0] = self.pieces[0][sent:]
        return True


class Incoming:
    """Receives a frame bit by bit: header, directory, then each batch straight into its array."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.numbers: tuple[int, ...] = ()
        self.batches: dict[int, npt.NDArray[np.int64]] = {}
        self.header = bytearray(_HEADER.size)
        self.directory = np.empty(0, np.int64)
        self.stage = 0
        self.waiting: list[memoryview] = [memoryview(self.header)]

    def receive(self, connection: socket.socket) -> bool:
        """Takes what the connection has; True when the frame is complete."""
        while True:
            while self.waiting:
                try:
                    got = connection.recv_into(self.waiting[0])
                except BlockingIOError:
                    return False
                if got == 0:
                    raise PeerLost("a worker closed its connection")
                if got == len(self.waiting[0]):
                    self.waiting.pop(0)
                else:
                    self.waiting[0] = self.waiting[0][got:]
            if not self._next_stage():
                return True

    def _next_stage(self) -> bool:
        self.stage += 1
        if self.stage == 1:
            magic, words, number = _HEADER.unpack(self.header)
            if magic == _GOODBYE:
                raise PeerStopped("another worker has no memory left")
            if magic != _MAGIC or not 2 <= words <= MOST_WORDS or number != self.number:
                raise PeerLost("a frame that is not the next one")
            self.directory = np.empty(words, np.int64)
            self.waiting.append(self.directory.data.cast("B"))
            return True
        if self.stage == 2:
            self._read_directory()
            return bool(self.waiting)
        return False

    def _read_directory(self) -> None:
        words: list[int] = self.directory.tolist()
        count = words[0]
        if not 0 <= count <= len(words) - 2 or len(words) != count + 2 + 3 * words[count + 1]:
            raise PeerLost("a frame with a broken directory")
        self.numbers = tuple(words[1 : count + 1])
        size = 0
        for place in range(count + 2, len(words), 3):
            channel, width, rows = words[place : place + 3]
            size += 8 * width * rows
            if not 0 <= width <= MOST_LANES or rows < 0 or size > MOST_BYTES:
                raise PeerLost("a frame that is too large")
            claim(8 * width * rows)
            lanes = np.empty((width, rows), np.int64)
            self.batches[channel] = lanes
            if lanes.size:
                self.waiting.append(lanes.data.cast("B"))

    @property
    def message(self) -> Message:
        return Message(self.numbers, self.batches)


class Exchange:
    """Holds this worker's connections to all others."""

    def __init__(self, number: int, connections: Mapping[int, socket.socket]) -> None:
        self.number = number
        self.connections = dict(connections)
        self.peers = tuple(sorted(connections))
        """All other workers, however mail gets there."""
        self.bytes_sent = 0
        self._sent = dict.fromkeys(self.connections, 0)
        """Frames to each worker."""
        self._newest: dict[int, Outgoing] = {}
        """The last of them, which may still be under way."""
        self._incoming = {peer: Incoming(1) for peer in self.connections}
        """The next frame of each, as far as it has come."""
        self._queued: dict[int, deque[Outgoing]] = {peer: deque() for peer in self.connections}
        """Frames that nobody waits for until they are sent."""
        self._selector = selectors.DefaultSelector()
        for peer, connection in self.connections.items():
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(connection, selectors.EVENT_READ, peer)

    def swap(self, mail: Mail) -> Mail:
        """Sends everyone his message; gives what everyone has for this worker."""
        received = list(mail)
        outgoing = {peer: self._frame(peer, mail[peer]) for peer in self.connections}
        incoming = dict(self._incoming)
        try:
            self._carry(outgoing, incoming, received)
        except OSError as error:
            raise PeerLost(f"a worker is gone: {error}") from error
        return received

    def _carry(self, outgoing: dict[int, Outgoing], incoming: dict[int, Incoming], received: Mail) -> None:
        for peer in tuple(outgoing):
            if outgoing[peer].send(self.connections[peer]):
                del outgoing[peer]
            else:
                self._watch(peer, selectors.EVENT_READ | selectors.EVENT_WRITE)
        while outgoing or incoming:
            for key, events in self._selector.select():
                peer = key.data
                if events & selectors.EVENT_WRITE and peer in outgoing and outgoing[peer].send(self.connections[peer]):
                    del outgoing[peer]
                    self._watch(peer, selectors.EVENT_READ)
                if events & selectors.EVENT_READ:
                    if peer not in incoming:
                        # It is a round ahead already: its next frame stays in the connection until it is wanted.
                        self._watch(peer, selectors.EVENT_WRITE if peer in outgoing else 0)
                    elif incoming[peer].receive(self.connections[peer]):
                        received[peer] = self._complete(peer)
                        del incoming[peer]
        for peer in self.connections:
            self._watch(peer, selectors.EVENT_READ)

    def trade(self, mail: Mail, senders: Collection[int], patience: float | None) -> Mail:
        """Sends messages that have numbers, and gives the next message of each of the senders, empty where there is
        none. Where nobody has any, it waits for one, but no longer than so many seconds; what cannot be sent at once
        goes on its way with the next call."""
        for peer in self.connections:
            if mail[peer].numbers:
                self._queued[peer].append(self._frame(peer, mail[peer]))
        received = [Message() for _ in mail]
        received[self.number] = mail[self.number]
        try:
            self._carry_some(received, senders, 0.0 if mail[self.number].numbers else patience)
        except OSError as error:
            raise PeerLost(f"a worker is gone: {error}") from error
        return received

    def _carry_some(self, received: Mail, senders: Collection[int], patience: float | None) -> None:
        until = None if patience is None else time.monotonic() + patience
        for peer in self.connections:
            self._send_queued(peer)
            self._watch(peer, self._wanted(peer, peer in senders))
        while True:
            # Who sends much faster than others read waits for them; whoever waits reads, so they cannot all wait.
            is_behind = sum(frame.size for frames in self._queued.values() for frame in frames) > MOST_QUEUED
            left = None if until is None or is_behind else max(0.0, until - time.monotonic())
            ready = self._selector.select(left)
            for key, events in ready:
                peer = key.data
                if events & selectors.EVENT_WRITE:
                    self._send_queued(peer)
                if events & selectors.EVENT_READ and self._incoming[peer].receive(self.connections[peer]):
                    received[peer] = self._complete(peer)
                is_wanted = peer in senders and not received[peer].numbers
                self._watch(peer, self._wanted(peer, is_wanted))
            if any(message.numbers for message in received) or (not is_behind and not ready and left is not None):
                return

    def _wanted(self, peer: int, reads: bool) -> int:
        return (selectors.EVENT_READ if reads else 0) | (selectors.EVENT_WRITE if self._queued[peer] else 0)

    def _send_queued(self, peer: int) -> None:
        queue = self._queued[peer]
        while queue and queue[0].send(self.connections[peer]):
            queue.popleft()

    def flush(self) -> None:
        """Sends what is queued; all connections are open again for everything afterwards."""
        try:
            while any(self._queued.values()):
                for peer in self.connections:
                    self._watch(peer, self._wanted(peer, reads=False))
                for key, _ in self._selector.select():
                    self._send_queued(key.data)
        except OSError as error:
            raise PeerLost(f"a worker is gone: {error}") from error
        for peer in self.connections:
            self._watch(peer, selectors.EVENT_READ)

    def _frame(self, peer: int, message: Message) -> Outgoing:
        self._sent[peer] += 1
        self._newest[peer] = frame = Outgoing(self._sent[peer], message)
        self.bytes_sent += frame.size
        return frame

    def _complete(self, peer: int) -> Message:
        """Returns the frame that has come; the next one is expected."""
        message = self._incoming[peer].message
        self._incoming[peer] = Incoming(self._incoming[peer].number + 1)
        return message

    def _watch(self, peer: int, events: int) -> None:
        connection = self.connections[peer]
        watched = connection in self._selector.get_map()
        if not events:
            if watched:
                self._selector.unregister(connection)
        elif watched:
            self._selector.modify(connection, events, peer)
        else:
            self._selector.register(connection, events, peer)

    def stop(self) -> None:
        """Tells the others that this worker has no memory left. Those to whom a frame is under way see it end early,
        which tells them less."""
        header = _HEADER.pack(_GOODBYE, 0, 0)
        for peer, connection in self.connections.items():
            if peer not in self._newest or not self._newest[peer].pieces:
                with contextlib.suppress(OSError):
                    connection.send(header)

    def close(self) -> None:
        self._selector.close()
        for connection in self.connections.values():
            connection.close()
