"""Puts messages into frames and takes them out again: a fixed header, a directory of numbers and batches, and the raw
lanes. Nothing that a peer sends is ever more than numbers in arrays.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np

from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.kernels.memory import claim
from emberlog.workers.kernels.tuning import SMALL_PIECE
from emberlog.workers.wire.messages import Message

HEADER = struct.Struct("<4sII")
_MAGIC = b"MAIL"
_NUMBERS = (1 << 32) - 1
"""Frames are numbered up to here, and on from the beginning."""
_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}
"""How a word of a directory is written, by its bytes, which stand above the number of words in the header. They are as
few as all words of the frame allow: a round without facts is little else, many times over."""
_WORDS = (1 << 24) - 1
GOODBYE = HEADER.pack(b"STOP", 0, 0)
"""In the place of a frame: the worker stops here."""
MOST_WORDS = 1 << 20
"""Of a directory."""
MOST_LANES = 1 << 10
MOST_BYTES = 1 << 38
"""Of one frame; a worker that announces more is broken."""


class PeerLost(Exception):
    """Says that a worker is gone, or breaks the protocol."""


class PeerStopped(PeerLost):
    """Says that a worker has no memory left, and said so: what is known is worth keeping."""


def framed(number: int, message: Message) -> list[memoryview]:
    """Returns the bytes of a frame in pieces. Large lanes that lie in one piece are not copied."""
    words = [len(message.numbers), *message.numbers, len(message.sums), *message.sums, len(message.batches)]
    if not message.batches:
        return [memoryview(_head(number, words))]
    batches = {channel: np.ascontiguousarray(lanes) for channel, lanes in message.batches.items()}
    for channel, lanes in batches.items():
        words += (channel, *lanes.shape)
    pieces = (lanes.data.cast("B") for lanes in batches.values() if lanes.size)
    return _joined([memoryview(_head(number, words)), *pieces])


def _head(number: int, words: Sequence[int]) -> bytes:
    """Returns the header and the directory of a frame."""
    low, high = min(words), max(words)
    size = next(size for size in _CODES if -1 << 8 * size - 1 <= low and high < 1 << 8 * size - 1)
    return struct.pack(f"<4sII{len(words)}{_CODES[size]}", _MAGIC, size << 24 | len(words), number & _NUMBERS, *words)


def _joined(pieces: Sequence[memoryview]) -> list[memoryview]:
    """Returns pieces of which small ones that follow each other are one: to copy them takes less than to send each."""
    found: list[memoryview] = []
    small: list[memoryview] = []
    for piece in pieces:
        if len(piece) < SMALL_PIECE:
            small.append(piece)
            continue
        if small:
            found.append(memoryview(b"".join(small)))
            small.clear()
        found.append(piece)
    if small:
        found.append(memoryview(b"".join(small)))
    return found


class Incoming:
    """Takes the frames of one peer apart, bit by bit: header, directory, then each batch straight into its array."""

    def __init__(self, sender: str, read: Callable[[memoryview], int]) -> None:
        """`read` fills as much as it can, and returns how much; it raises BlockingIOError or the like if that is
        nothing, and returns 0 at the end."""
        self._sender = sender
        self._read = read
        self._number = 0
        self._begin()

    def _begin(self) -> None:
        """Expects the next frame."""
        self._number += 1
        self._numbers: tuple[int, ...] = ()
        self._sums: tuple[int, ...] = ()
        self._batches: dict[int, Lanes] = {}
        self._part = bytearray(HEADER.size)
        self._continue: Callable[[], None] | None = self._read_header
        self._waiting = [memoryview(self._part)]

    def next(self) -> Message:
        """Returns the next message. Raises what `read` raises while it is not complete, and goes on with the next
        call."""
        while True:
            while self._waiting:
                got = self._read(self._waiting[0])
                if got == 0:
                    raise PeerLost(f"{self._sender} closed its connection")
                if got == len(self._waiting[0]):
                    self._waiting.pop(0)
                else:
                    self._waiting[0] = self._waiting[0][got:]
            if self._continue is None:
                message = Message(self._numbers, self._batches, self._sums)
                self._begin()
                return message
            self._continue()

    def _read_header(self) -> None:
        if self._part == GOODBYE:
            raise PeerStopped(f"{self._sender} has no memory left")
        magic, size_and_words, number = HEADER.unpack(self._part)
        size, words = size_and_words >> 24, size_and_words & _WORDS
        if magic != _MAGIC or size not in _CODES or not 3 <= words <= MOST_WORDS or number != self._number & _NUMBERS:
            raise PeerLost(f"{self._sender} sent a frame that is not the next one")
        self._directory = struct.Struct(f"<{words}{_CODES[size]}")
        self._part = bytearray(self._directory.size)
        self._waiting.append(memoryview(self._part))
        self._continue = self._read_directory

    def _read_directory(self) -> None:
        words = self._directory.unpack(self._part)
        numbers, words = self._counted(words, 3)
        sums, words = self._counted(words, 2)
        if len(words) != 1 + 3 * words[0]:
            raise self._broken()
        self._numbers, self._sums = numbers, sums
        size = 0
        for place in range(1, len(words), 3):
            channel, width, rows = words[place : place + 3]
            size += 8 * width * rows
            if not 0 <= width <= MOST_LANES or rows < 0 or size > MOST_BYTES:
                raise PeerLost(f"{self._sender} sent a frame that is too large")
            claim(8 * width * rows)
            lanes = np.empty((width, rows), np.int64)
            self._batches[channel] = lanes
            if lanes.size:
                self._waiting.append(lanes.data.cast("B"))
        self._continue = None

    def _counted(self, words: tuple[int, ...], fewest: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Takes so many words as the first one says, out of `fewest` at least, and returns the others, too."""
        count = words[0]
        if not 0 <= count <= len(words) - fewest:
            raise self._broken()
        return words[1 : count + 1], words[count + 1 :]

    def _broken(self) -> PeerLost:
        return PeerLost(f"{self._sender} sent a frame with a broken directory")
