"""Lets both ends of a connection prove that they belong to the run, and who they are, before anything else is read.

The key is made by the driver for one run and reaches the workers as a property of Spark's own tasks. A proof covers
the run, the attempt, both ends and a fresh number of each, so a recorded one is worth nothing later.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import struct
import time
from dataclasses import dataclass

from emberlog.workers.kernels.tuning import HANDSHAKE_SECONDS

DRIVER = -1
"""The number of the driver's end."""

_NONCE = 16
_PROOF = 32
_HELLO = struct.Struct(f"<8sqq{_NONCE}s")
_MAGIC = b"EMBERLG1"


class Refused(Exception):
    """Says that the other end could not prove who it is."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Holds what the workers of one attempt at one run prove themselves with."""

    run: str
    attempt: int
    key: bytes

    def proof(self, role: bytes, dialer: int, listener: int, first: bytes, second: bytes) -> bytes:
        ends = struct.pack("<qqq", self.attempt, dialer, listener)
        text = b"\0".join((role, self.run.encode(), ends + first + second))
        return hmac.new(self.key, text, hashlib.sha256).digest()


def new_key() -> bytes:
    return secrets.token_bytes(32)


def greet(connection: socket.socket, credentials: Credentials, number: int, listener: int) -> None:
    """Proves who this is, at the dialing end."""
    until = time.monotonic() + HANDSHAKE_SECONDS
    mine = secrets.token_bytes(_NONCE)
    connection.settimeout(HANDSHAKE_SECONDS)
    connection.sendall(_HELLO.pack(_MAGIC, credentials.attempt, number, mine))
    answer = receive_exactly(connection, _NONCE + _PROOF, until)
    theirs, proof = answer[:_NONCE], answer[_NONCE:]
    if not hmac.compare_digest(proof, credentials.proof(b"listener", number, listener, mine, theirs)):
        raise Refused(f"worker {listener} did not prove that it belongs to this run")
    connection.sendall(credentials.proof(b"dialer", number, listener, mine, theirs))
    connection.settimeout(None)


class Newcomer:
    """Checks the listening end of a connection that has proved nothing yet. It never waits: `go_on` takes what is
    there."""

    def __init__(self, connection: socket.socket, credentials: Credentials, listener: int) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.until = time.monotonic() + HANDSHAKE_SECONDS
        """Of the whole handshake: who sends a byte now and then is not waited for either."""
        self._credentials = credentials
        self._listener = listener
        self._said = bytearray()
        self._expected: bytes | None = None
        self._number = 0

    def go_on(self) -> int | None:
        """Returns the number of the worker at the other end, once that is proved."""
        while True:
            missing = (_HELLO.size if self._expected is None else _PROOF) - len(self._said)
            try:
                part = self.connection.recv(missing)
            except BlockingIOError:
                return None
            if not part:
                raise Refused("the connection was closed during the handshake")
            self._said += part
            if len(part) < missing:
                continue
            if self._expected is not None:
                if not hmac.compare_digest(bytes(self._said), self._expected):
                    raise Refused("a connection without the key of this run")
                return self._number
            self._answer()

    def _answer(self) -> None:
        magic, attempt, self._number, theirs = _HELLO.unpack(self._said)
        if magic != _MAGIC or attempt != self._credentials.attempt:
            raise Refused("a connection that does not belong to this run")
        mine = secrets.token_bytes(_NONCE)
        ends = (self._number, self._listener, theirs, mine)
        # So few bytes always fit into the buffer of a connection on which nothing was sent.
        self.connection.sendall(mine + self._credentials.proof(b"listener", *ends))
        self._expected = self._credentials.proof(b"dialer", *ends)
        self._said.clear()


def receive_exactly(connection: socket.socket, size: int, until: float | None = None) -> bytes:
    """Receives so many bytes; if there is an end to the waiting, it is that of all of them."""
    parts = bytearray()
    while len(parts) < size:
        if until is not None:
            connection.settimeout(max(until - time.monotonic(), 0.001))
        part = connection.recv(size - len(parts))
        if not part:
            raise Refused("the connection was closed too early")
        parts += part
    return bytes(parts)
