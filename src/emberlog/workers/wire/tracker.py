"""Introduces the workers of a run to each other, in the driver, and hears of their progress.

What the two sides say is defined here: a text is behind its length, and once all know each other, progress is four
numbers.
"""

from __future__ import annotations

import contextlib
import json
import logging
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from emberlog.workers.kernels.tuning import (
    HANDSHAKE_SECONDS,
    LAST_WORDS_SECONDS,
    SECOND_TASK_SECONDS,
    WAIT_SECONDS,
)
from emberlog.workers.wire.handshake import DRIVER, WAITS, Address, Credentials, Refused
from emberlog.workers.wire.listener import ANY_PORT, Ports, SocketListener
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Progress

_log = logging.getLogger("emberlog")

LENGTH = struct.Struct("<I")
PROGRESS = struct.Struct("<qqqq")
MOST_TEXT = 1 << 20
AT_ONCE = 1 << 16
"""Bytes that are read of one worker at a time."""

HEARTBEAT, GOODBYE = -1, -2
"""In the place of an iteration: a sign of life, and the last word of a worker that ends in good order."""


def framed(text: str) -> bytes:
    """Returns a text as it is sent."""
    data = text.encode()
    return LENGTH.pack(len(data)) + data


def absence(reason: str) -> str:
    """Returns what a worker that failed before the meeting says there in place of its address: nobody waits for it
    then."""
    return json.dumps({"absent": reason})


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
            part = guest.connection.recv(AT_ONCE)
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
        while len(guest.said) >= PROGRESS.size:
            progress = Progress(*PROGRESS.unpack_from(guest.said))
            del guest.said[: PROGRESS.size]
            self._expect_word(guest, self._stall_seconds)
            if progress.iteration == GOODBYE:
                self._part_with(guest)
                if not guest.has_met:
                    self.call_off(f"worker {guest.number:,} could not take part")
                return False
            guest.has_met = True
            if progress.iteration != HEARTBEAT:
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
        guest.unsent += framed(text)
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
        if len(self.said) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self.said)
        if length > MOST_TEXT:
            raise Refused("a text that is too long")
        if len(self.said) < LENGTH.size + length:
            return None
        text = self.said[LENGTH.size : LENGTH.size + length].decode()
        del self.said[: LENGTH.size + length]
        return text

    def send(self) -> None:
        """Sends what the connection takes now."""
        while self.unsent:
            try:
                sent = self.connection.send(self.unsent)
            except WAITS:
                return
            del self.unsent[:sent]
