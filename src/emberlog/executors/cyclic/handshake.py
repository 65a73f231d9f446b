"""Both ends of a connection prove that they belong to the run, and who they are, before anything else is read.

The key is made by the driver for one run and reaches the workers inside Spark's own task description. A proof covers
the run, the attempt, both ends and a fresh number of each, so a recorded one is worth nothing later.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import struct
from dataclasses import dataclass

DRIVER = -1
"""The number of the driver's end."""

_NONCE = 16
_PROOF = 32
_HELLO = struct.Struct(f"<8sqq{_NONCE}s")
_MAGIC = b"EMBERLG1"

SECONDS = 20.0
"""A stranger that says nothing is not waited for any longer."""


class Refused(Exception):
    """The other end could not prove who it is."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of one attempt at one run."""

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
    """The dialing end."""
    connection.settimeout(SECONDS)
    mine = secrets.token_bytes(_NONCE)
    connection.sendall(_HELLO.pack(_MAGIC, credentials.attempt, number, mine))
    answer = receive_exactly(connection, _NONCE + _PROOF)
    theirs, proof = answer[:_NONCE], answer[_NONCE:]
    if not hmac.compare_digest(proof, credentials.proof(b"listener", number, listener, mine, theirs)):
        raise Refused(f"worker {listener} did not prove that it belongs to this run")
    connection.sendall(credentials.proof(b"dialer", number, listener, mine, theirs))
    connection.settimeout(None)


def welcome(connection: socket.socket, credentials: Credentials, listener: int) -> int:
    """The listening end; gives the number of the worker that dialed."""
    connection.settimeout(SECONDS)
    magic, attempt, number, theirs = _HELLO.unpack(receive_exactly(connection, _HELLO.size))
    if magic != _MAGIC or attempt != credentials.attempt:
        raise Refused("a connection that does not belong to this run")
    mine = secrets.token_bytes(_NONCE)
    connection.sendall(mine + credentials.proof(b"listener", number, listener, theirs, mine))
    proof = receive_exactly(connection, _PROOF)
    if not hmac.compare_digest(proof, credentials.proof(b"dialer", number, listener, theirs, mine)):
        raise Refused("a connection without the key of this run")
    connection.settimeout(None)
    return int(number)


def receive_exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise Refused("the connection was closed during the handshake")
        parts += part
    return bytes(parts)
