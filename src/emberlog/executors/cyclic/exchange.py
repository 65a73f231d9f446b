"""Carries mail between workers: everyone's message to everyone, all at the same time.

A frame is a fixed header, a directory of numbers and batches, and the raw lanes. Nothing that a peer sends is ever
more than numbers in arrays. Sending and receiving go on together, so nobody waits for somebody who waits for him.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from emberlog.executors.cyclic.memory import claim
from emberlog.executors.cyclic.worker import Mail, Message

_HEADER = struct.Struct("<4sIQ")
_MAGIC = b"MAIL"
_GOODBYE = b"STOP"
"""In the place of a frame: the worker stops here."""
MOST_WORDS = 1 << 16
"""Of a directory."""
MOST_LANES = 1 << 10
MOST_BYTES = 1 << 38
"""Of one frame; a worker that announces more is broken."""
_PIECES = 64
"""Buffers handed to the system in one call; there is a limit to it everywhere."""


class PeerLost(Exception):
    """A worker is gone, or does not speak as it should."""


class PeerStopped(PeerLost):
    """A worker has no memory left, and said so: what is known is worth keeping."""


class Outgoing:
    """A frame on its way out."""

    def __init__(self, round_number: int, message: Message) -> None:
        batches = {channel: np.ascontiguousarray(lanes) for channel, lanes in message.batches.items()}
        words = [len(message.numbers), *message.numbers, len(batches)]
        for channel, lanes in batches.items():
            words += [channel, lanes.shape[0], lanes.shape[1]]
        header = _HEADER.pack(_MAGIC, len(words), round_number)
        self.pieces = [memoryview(header), np.array(words, np.int64).data.cast("B")]
        self.pieces += [lanes.data.cast("B") for lanes in batches.values() if lanes.size]
        self.size = sum(len(piece) for piece in self.pieces)

    def send(self, connection: socket.socket) -> bool:
        """Sends what the connection takes now; True when all is sent."""
        while self.pieces:
            try:
                sent = connection.sendmsg(self.pieces[:_PIECES])
            except BlockingIOError:
                return False
            while self.pieces and sent >= len(self.pieces[0]):
                sent -= len(self.pieces.pop(0))
            if self.pieces:
                self.pieces[0] = self.pieces[0][sent:]
        return True


class Incoming:
    """A frame on its way in: header, directory, then each batch straight into its array."""

    def __init__(self, round_number: int) -> None:
        self.round_number = round_number
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
            magic, words, round_number = _HEADER.unpack(self.header)
            if magic == _GOODBYE:
                raise PeerStopped("another worker has no memory left")
            if magic != _MAGIC or not 2 <= words <= MOST_WORDS or round_number != self.round_number:
                raise PeerLost("a frame that does not fit this round")
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
    """This worker's connections to all others."""

    def __init__(self, number: int, connections: Mapping[int, socket.socket]) -> None:
        self.number = number
        self.connections = dict(connections)
        self.bytes_sent = 0
        self._round = 0
        self._unfinished: set[int] = set()
        """Those to whom only a part of the last frame is sent."""
        self._selector = selectors.DefaultSelector()
        for peer, connection in self.connections.items():
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(connection, selectors.EVENT_READ, peer)

    def swap(self, mail: Mail) -> Mail:
        """Sends everyone his message; gives what everyone has for this worker."""
        self._round += 1
        received = list(mail)
        received[self.number] = mail[self.number]
        outgoing = {peer: Outgoing(self._round, mail[peer]) for peer in self.connections}
        incoming = {peer: Incoming(self._round) for peer in self.connections}
        self.bytes_sent += sum(frame.size for frame in outgoing.values())
        try:
            self._carry(outgoing, incoming, received)
        except (ConnectionError, TimeoutError) as error:
            raise PeerLost(f"a worker is gone: {error}") from error
        return received

    def _carry(self, outgoing: dict[int, Outgoing], incoming: dict[int, Incoming], received: Mail) -> None:
        self._unfinished = set(outgoing)
        for peer in tuple(outgoing):
            if outgoing[peer].send(self.connections[peer]):
                self._sent(peer, outgoing)
            else:
                self._watch(peer, selectors.EVENT_READ | selectors.EVENT_WRITE)
        while outgoing or incoming:
            for key, events in self._selector.select():
                peer = key.data
                if events & selectors.EVENT_WRITE and peer in outgoing and outgoing[peer].send(self.connections[peer]):
                    self._sent(peer, outgoing)
                    self._watch(peer, selectors.EVENT_READ)
                if events & selectors.EVENT_READ:
                    if peer not in incoming:
                        # It is a round ahead already: its next frame stays in the connection until it is wanted.
                        self._watch(peer, selectors.EVENT_WRITE if peer in outgoing else 0)
                    elif incoming[peer].receive(self.connections[peer]):
                        received[peer] = incoming.pop(peer).message
        for peer in self.connections:
            self._watch(peer, selectors.EVENT_READ)

    def _sent(self, peer: int, outgoing: dict[int, Outgoing]) -> None:
        del outgoing[peer]
        self._unfinished.discard(peer)

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
        header = _HEADER.pack(_GOODBYE, 0, self._round + 1)
        for peer, connection in self.connections.items():
            if peer not in self._unfinished:
                with contextlib.suppress(OSError):
                    connection.send(header)

    def close(self) -> None:
        self._selector.close()
        for connection in self.connections.values():
            connection.close()
