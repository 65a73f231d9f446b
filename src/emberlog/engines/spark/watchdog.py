"""Stops the job of an attempt that lost a worker, if Spark does not do so itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

NOTICE_SECONDS = 0.3
"""Spark mostly notices, too, and knows more about it."""
PARTING_SECONDS = 2.0
"""For which the other workers may take to notice. One that ends by itself leaves its process to the next attempt, with
all that was loaded and compiled; one that is stopped takes it along."""
_LOOK_SECONDS = 0.02


class Watchdog:
    """Stops the job of one attempt when it has lost a worker."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_over = threading.Event()
        self.reason: str | None = None
        """What happened first."""
        self.others: Callable[[], int] = lambda: 0
        """Returns how many workers are still there."""

    def lost(self, reason: str) -> None:
        """Takes note, from any thread, that a worker is lost."""
        with self._lock:
            if self.reason is not None or self._is_over.is_set():
                return
            self.reason = reason
            self._thread = threading.Thread(target=self._run, daemon=True, name="emberlog watchdog")
            self._thread.start()

    def _run(self) -> None:
        until = time.monotonic() + PARTING_SECONDS
        while self.others() and time.monotonic() < until and not self._is_over.wait(_LOOK_SECONDS):
            pass
        if not self._is_over.wait(NOTICE_SECONDS):
            self._stop()

    def close(self) -> None:
        """Ends the watch with the attempt: nothing is stopped from now on."""
        with self._lock:
            self._is_over.set()
        if self._thread is not None:
            self._thread.join()
