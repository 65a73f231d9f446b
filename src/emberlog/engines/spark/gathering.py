"""Brings the workers of a recursion together in an ordinary stage of Spark.

Spark starts its tasks one by one, as there is room. Two sets of workers that each have half of the slots would wait for
each other for ever, so a set is let in only if there are slots for all that are in. And a worker that has not come may
be waiting for its turn, or for an executor that is being started, or for one that will never be there again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

PATIENCE_SECONDS = 60.0
"""For which Spark may have less room than there are workers without bringing more, before it is tried with fewer."""
LOOK_SECONDS = 0.5
TELL_SECONDS = 20.0
"""After which it is told that workers wait for room."""

_log = logging.getLogger("emberlog")


class TooFewSlots(Exception):
    """Says that Spark has no room for all workers, and for how many it has."""

    def __init__(self, slots: int, workers: int) -> None:
        super().__init__(
            f"Spark had room for {slots:,} of {workers:,} workers for {PATIENCE_SECONDS:g} seconds and more"
        )
        self.slots = slots


class Room:
    """Lets in sets of workers, in the order in which they come, as long as there are slots for all that are in."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[object] = []
        self._taken = 0

    @property
    def in_use(self) -> int:
        """Returns how many workers are in."""
        return self._taken

    @contextmanager
    def taken(self, workers: int, slots: int, check: Callable[[], None]) -> Iterator[None]:
        """Waits for its turn, and has the room while it is entered. `check` raises when there is no use in waiting."""
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
            try:
                while self._queue[0] is not ticket or (self._taken and self._taken + workers > slots):
                    self._changed.wait(LOOK_SECONDS)
                    check()
                self._taken += workers
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._taken -= workers
                self._changed.notify_all()


ROOM = Room()
"""Of this process: it has one SparkContext at a time."""


class Arriving(Protocol):
    """Is the part of a tracker that is looked at here."""

    @property
    def arrived(self) -> int: ...

    def call_off(self, reason: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Situation:
    """Holds what Spark says while workers come."""

    slots: int
    """That it has."""
    needed: int
    """By all workers that were let in."""
    ended: int
    """Tasks that are over already, of the last stage of the attempt that has begun."""


class ArrivalMonitor:
    """Watches the workers of one attempt come. It stops their job if Spark has no room for all of them for long, and
    calls the meeting off if one has ended without them."""

    def __init__(
        self, tracker: Arriving, workers: int, look: Callable[[], Situation], stop: Callable[[], None]
    ) -> None:
        self._tracker = tracker
        self._workers = workers
        self._look = look
        self._stop = stop
        self._is_over = threading.Event()
        self.problem: TooFewSlots | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="emberlog monitor")
        self._thread.start()

    def _run(self) -> None:
        began = time.monotonic()
        short_since: float | None = None
        before, is_told = 0, False
        while not self._is_over.wait(LOOK_SECONDS) and (arrived := self._tracker.arrived) < self._workers:
            now = time.monotonic()
            try:
                seen = self._look()
            except Exception as error:  # the session is gone; whoever waits for the job is told so
                _log.debug("nobody tells how many slots there are: %s", error)
                return
            # Before the first comes there are tasks that prepare the input.
            if seen.ended and arrived > 0 and self._tracker.arrived < self._workers:
                self._tracker.call_off("a worker ended before it met the others")
                return
            if seen.slots >= seen.needed:
                short_since = None
            elif short_since is None or seen.slots > before:  # more are coming
                short_since = now
            elif now - short_since >= PATIENCE_SECONDS:
                self.problem = TooFewSlots(seen.slots, seen.needed)
                self._stop()
                return
            before = seen.slots
            if not is_told and now - began >= TELL_SECONDS:
                is_told = True
                _log.warning(
                    "%s of %s workers have come; the others wait until Spark, which runs %s tasks at once, has room",
                    f"{arrived:,}",
                    f"{self._workers:,}",
                    f"{seen.slots:,}",
                )

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()
