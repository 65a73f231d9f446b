"""Signs of life: told to the driver by a thread of their own, also while a worker computes for long.

Kernels leave the interpreter to other threads, so only a worker that is stopped, stuck or cut off falls silent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

BEATS_PER_STALL = 8
"""How many signs in a row have to be missing before a worker counts as lost."""
SLOWEST_BEAT = 5.0


class Pulse:
    """Of one worker, from the time it has met the others."""

    def __init__(self, beat: Callable[[], None], stall_seconds: float) -> None:
        self._beat = beat
        self._seconds = min(stall_seconds / BEATS_PER_STALL, SLOWEST_BEAT)
        self._is_over = threading.Event()
        # A daemon: a process that ends does not wait for it.
        self._thread = threading.Thread(target=self._run, daemon=True, name="emberlog pulse")
        self._thread.start()

    def _run(self) -> None:
        self._beat()
        while not self._is_over.wait(self._seconds):
            self._beat()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join(timeout=SLOWEST_BEAT)
