"""Mail between workers of this process that go on by themselves, each in a thread of its own."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection
from threading import Condition

from emberlog.workers.wire.messages import Mail, Message


class Closed(Exception):
    """Another worker has failed, and nobody will send anything more."""


class Mailboxes:
    def __init__(self, workers: int) -> None:
        self._channels: list[list[deque[Message]]] = [[deque() for _ in range(workers)] for _ in range(workers)]
        """By receiver and sender: what is under way."""
        self._changed = Condition()
        self._is_closed = False

    def trade(self, number: int, mail: Mail, senders: Collection[int], patience: float | None) -> Mail:
        """Takes the mail of a worker; gives the next message of each of the others, empty where there is none. Where
        nobody has any, it waits for one, but no longer than so many seconds."""
        until = None if patience is None else time.monotonic() + patience
        with self._changed:
            for receiver, message in enumerate(mail):
                if message.numbers:
                    self._channels[receiver][number].append(message)
            self._changed.notify_all()
            mine = self._channels[number]
            while not any(mine[sender] for sender in (*senders, number)) and not self._is_closed:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    break
                self._changed.wait(left)
            if self._is_closed:
                raise Closed
            found = [Message() for _ in mine]
            for sender in (*senders, number):
                if mine[sender]:
                    found[sender] = mine[sender].popleft()
            return found

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
