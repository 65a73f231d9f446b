"""Stops the job of an attempt that lost a worker, if Spark does not do so itself."""

from __future__ import annotations

import threading
from collections.abc import Callable

PATIENCE_SECONDS = 0.3
"""Spark mostly notices, too, and knows more about it."""


class Watchdog:
    """Stops the job of one attempt when it has lost a worker."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._is_over = False
        self.reason: str | None = None
        """What happened first."""

    def lost(self, reason: str) -> None:
        """Takes note, from any thread, that a worker is lost."""
        with self._lock:
            if self.reason is not None or self._is_over:
                return
            self.reason = reason
            self._timer = threading.Timer(PATIENCE_SECONDS, self._stop)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """Ends the watch with the attempt: nothing is stopped from now on."""
        with self._lock:
            self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
