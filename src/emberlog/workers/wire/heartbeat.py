"""Signs of life: told to the driver by a thread of their own, also while a worker computes for long.

Kernels leave the interpreter to other threads, so only a worker that is stopped, stuck or cut off falls silent. The
same thread sees when the driver hangs up: the attempt is over then, and what the worker does is for nobody.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from emberlog.workers.wire.rendezvous import Met

BEATS_PER_STALL = 8
"""How many signs in a row have to be missing before a worker counts as lost."""
SLOWEST_BEAT = 5.0


class Heartbeat:
    """Of one worker, from the time it has met the others."""

    def __init__(self, met: Met, stall_seconds: float, abandoned: Callable[[], None]) -> None:
        """`abandoned` is called when the driver hangs up, in the thread of the heartbeat."""
        self._met = met
        self._seconds = min(stall_seconds / BEATS_PER_STALL, SLOWEST_BEAT)
        self._abandoned = abandoned
        self._is_over = threading.Event()
        # A daemon: a process that ends does not wait for it.
        self._thread = threading.Thread(target=self._run, daemon=True, name="emberlog heartbeat")
        self._thread.start()

    def _run(self) -> None:
        self._met.beat()
        while self._met.is_heard_for(self._seconds):
            self._met.beat()
        if not self._is_over.is_set():
            self._abandoned()

    def stop(self) -> None:
        self._is_over.set()
        self._met.stop_listening()
        self._thread.join(timeout=SLOWEST_BEAT)
