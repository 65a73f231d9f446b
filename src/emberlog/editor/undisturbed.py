"""Puts off the collection of garbage while somebody waits for a check.

What a check makes is let go without it. The collector would be called by the mere number of new objects, and look
through all that the process has in memory, which takes longer than the check itself.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class _Waiting:
    """Counts those who wait, in all threads: the collector is one for all of them."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.count = 0
        self.was_on = False


_waiting = _Waiting()


@contextmanager
def without_collections() -> Iterator[None]:
    with _waiting.lock:
        if not _waiting.count:
            _waiting.was_on = gc.isenabled()
            gc.disable()
        _waiting.count += 1
    try:
        yield
    finally:
        with _waiting.lock:
            _waiting.count -= 1
            if not _waiting.count and _waiting.was_on:
                gc.enable()
