"""Lets both ends of a connection prove that they belong to the run, and who they are, before anything else is read.

The key is made by the driver for one run and reaches the workers as a property of Spark's own tasks. A proof covers
the run, the attempt, both ends and a fresh number of each, so a recorded one is worth nothing later. A handshake never
waits: it says what it waits for, so that one thread can have hundreds of them under way.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import selectors
import socket
import ssl
import struct
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from errno import EINPROGRESS

from emberlog.workers.kernels.tuning import CONNECT_SECONDS, HANDSHAKE_SECONDS
from emberlog.workers.wire.encryption import Identity

DRIVER = -1
"""The number of the driver's end."""

_NONCE = 16
_PROOF = 32
_HELLO = struct.Struct(f"<8sqq{_NONCE}s")
_MAGIC = b"EMBERLG1"


WAITS = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
"""What a connection raises that cannot go on without waiting, plain or encrypted."""


def waits_for(wait: OSError, otherwise: int) -> int:
    """Returns the events that it waits for."""
    if isinstance(wait, ssl.SSLWantWriteError):
        return selectors.EVENT_WRITE
    return selectors.EVENT_READ if isinstance(wait, ssl.SSLWantReadError) else otherwise


class Refused(Exception):
    """Says that the other end could not prove who it is."""


class Unreachable(Exception):
    """Says that two ends cannot be connected, whoever they are: trying again would not help."""


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Holds what the workers of one attempt at one run prove themselves with."""

    run: str
    attempt: int
    key: bytes = field(repr=False)
    identity: Identity | None = field(default=None, repr=False)
    """What encrypts connections, if they are to be encrypted."""

    def proof(self, role: bytes, dialer: int, listener: int, first: bytes, second: bytes) -> bytes:
        ends = struct.pack("<qqq", self.attempt, dialer, listener)
        text = b"\0".join((role, self.run.encode(), ends + first + second))
        return hmac.new(self.key, text, hashlib.sha256).digest()


def new_key() -> bytes:
    return secrets.token_bytes(32)


class Handshake:
    """Holds one end of a connection that has proved nothing yet. `go_on` does what can be done now; after it, `events`
    are what it waits for, and `until` is when it has taken too long."""

    def __init__(self, connection: socket.socket, credentials: Credentials) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.events = selectors.EVENT_READ
        self.until = time.monotonic() + HANDSHAKE_SECONDS
        """Of the whole handshake: who sends a byte now and then is not waited for either."""
        self._credentials = credentials
        self._steps = self._run()

    def go_on(self) -> int | None:
        """Returns the number of the worker at the other end, once that is proved."""
        try:
            self.events = next(self._steps)
        except StopIteration as end:
            return int(end.value)
        return None

    def _run(self) -> Generator[int, None, int]:
        raise NotImplementedError

    def _encrypt(self, *, is_dialing: bool) -> Generator[int, None, None]:
        """Encrypts the connection from here on, if it is to be encrypted."""
        identity = self._credentials.identity
        if identity is None:
            return
        context = identity.dialing if is_dialing else identity.answering
        self.connection = encrypted = context.wrap_socket(
            self.connection, server_side=not is_dialing, do_handshake_on_connect=False
        )
        while True:
            try:
                return encrypted.do_handshake()
            except WAITS as wait:
                yield waits_for(wait, selectors.EVENT_READ)
            except ssl.SSLError as problem:
                raise Refused(f"the connection is not encrypted as this run does: {problem.reason}") from None

    def _send(self, data: bytes) -> None:
        # So few bytes always fit into the buffer of a connection on which little was sent.
        self.connection.sendall(data)

    def _receive(self, size: int) -> Generator[int, None, bytes]:
        said = bytearray()
        while len(said) < size:
            try:
                part = self.connection.recv(size - len(said))
            except WAITS as wait:
                yield waits_for(wait, selectors.EVENT_READ)
                continue
            if not part:
                raise Refused("the connection was closed during the handshake")
            said += part
        return bytes(said)


class Newcomer(Handshake):
    """Is the end that was dialed."""

    def __init__(self, connection: socket.socket, credentials: Credentials, listener: int) -> None:
        super().__init__(connection, credentials)
        self._listener = listener

    def _run(self) -> Generator[int, None, int]:
        yield from self._encrypt(is_dialing=False)
        magic, attempt, number, theirs = _HELLO.unpack((yield from self._receive(_HELLO.size)))
        if magic != _MAGIC or attempt != self._credentials.attempt:
            raise Refused("a connection that does not belong to this run")
        mine = secrets.token_bytes(_NONCE)
        ends = (number, self._listener, theirs, mine)
        self._send(mine + self._credentials.proof(b"listener", *ends))
        proof = yield from self._receive(_PROOF)
        if not hmac.compare_digest(proof, self._credentials.proof(b"dialer", *ends)):
            raise Refused("a connection without the key of this run")
        return int(number)


class Dialer(Handshake):
    """Is the end that dials, from the first packet on if it is given the address of the other."""

    def __init__(
        self, connection: socket.socket, credentials: Credentials, number: int, listener: int, to: Address | None = None
    ) -> None:
        super().__init__(connection, credentials)
        self.listener = listener
        self.to = to
        self._number = number
        self.is_connected = to is None
        if to is not None:
            self.until = time.monotonic() + CONNECT_SECONDS

    def _run(self) -> Generator[int, None, int]:
        if self.to is not None:
            yield from self._connect(self.to)
        yield from self._encrypt(is_dialing=True)
        mine = secrets.token_bytes(_NONCE)
        self._send(_HELLO.pack(_MAGIC, self._credentials.attempt, self._number, mine))
        answer = yield from self._receive(_NONCE + _PROOF)
        theirs, proof = answer[:_NONCE], answer[_NONCE:]
        ends = (self._number, self.listener, mine, theirs)
        if not hmac.compare_digest(proof, self._credentials.proof(b"listener", *ends)):
            raise Refused(f"{name_of(self.listener)} did not prove that it belongs to this run")
        self._send(self._credentials.proof(b"dialer", *ends))
        return self.listener

    def _connect(self, to: Address) -> Generator[int, None, None]:
        problem = self.connection.connect_ex((to.host, to.port))
        if problem == EINPROGRESS:
            yield selectors.EVENT_WRITE
            problem = self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if problem:
            raise OSError(problem, os.strerror(problem))
        self.is_connected = True
        self.until = time.monotonic() + HANDSHAKE_SECONDS


def name_of(number: int) -> str:
    return "the driver" if number == DRIVER else f"worker {number:,}"


def greet(connection: socket.socket, credentials: Credentials, number: int, listener: int) -> socket.socket:
    """Proves who this is, at the dialing end, and waits for it. Returns the connection to go on with; after an error it
    is closed."""
    dialer = Dialer(connection, credentials, number, listener)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), dialer.events)
            while dialer.go_on() is None:
                selector.modify(dialer.connection.fileno(), dialer.events)
                if not selector.select(dialer.until - time.monotonic()):
                    raise TimeoutError("timed out")
    except BaseException:
        dialer.connection.close()
        raise
    dialer.connection.setblocking(True)
    return dialer.connection


def receive_exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise Refused("the connection was closed too early")
        parts += part
    return bytes(parts)
