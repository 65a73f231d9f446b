"""Divides the time of a run among the parts of its work. Each moment counts for one part, the innermost that has begun,
so the parts add up to the whole."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from enum import Enum
from threading import Lock


class Part(Enum):
    """What time is spent on, in the order in which a run comes to it."""

    IMPORTS = "loading Python packages"
    SPARK = "starting Spark"
    PLANNING = "parsing, checking, planning"
    READING = "reading inputs"
    KERNELS = "compiling and loading kernels"
    WORKERS = "starting workers"
    COMPUTING = "computing"
    ANSWERS = "reading answers"
    WRITING = "writing"
    OTHER = "everything else"


class Stopwatch:
    """Measures the parts of a run from its beginning on; any thread may say that another part begins."""

    def __init__(self, part: Part = Part.OTHER, since: float | None = None) -> None:
        """`since` is a time of time.monotonic() at which the part began."""
        self._lock = Lock()
        self._part = part
        self._since = time.monotonic() if since is None else since
        self._spent = dict.fromkeys(Part, 0.0)
        self._compiling = 0
        """Threads that compile a kernel, and let others wait: their time is not that of the part."""

    def switch(self, part: Part, *, only_from: Part | None = None) -> Part:
        """Says that another part begins; returns the one before. With `only_from`, nothing happens unless that was
        it."""
        with self._lock:
            before = self._part
            if only_from in (None, before):
                self._settle()
                self._part = part
            return before

    @property
    def spent(self) -> dict[Part, float]:
        """The seconds of each part so far."""
        with self._lock:
            self._settle()
            return dict(self._spent)

    def _settle(self) -> None:
        now = time.monotonic()
        self._spent[Part.KERNELS if self._compiling else self._part] += now - self._since
        self._since = now

    def compiling(self, threads: int) -> None:
        """Takes note that one thread more, or less, compiles."""
        with self._lock:
            self._settle()
            self._compiling += threads


_running: ContextVar[Stopwatch | None] = ContextVar("emberlog_stopwatch", default=None)
_all_running: list[Stopwatch] = []
"""Those of all threads: workers that compile have contexts of their own."""


def running() -> Stopwatch | None:
    """Returns the stopwatch of the run that the caller belongs to, if there is one."""
    return _running.get()


@contextmanager
def measured(watch: Stopwatch | None = None) -> Iterator[Stopwatch]:
    """Lets a stopwatch run: that of a run around this one, else the given one, else a new one."""
    around = _running.get()
    if around is not None:
        yield around
        return
    watch = watch or Stopwatch()
    token = _running.set(watch)
    _all_running.append(watch)
    try:
        yield watch
    finally:
        _all_running.remove(watch)
        _running.reset(token)


@contextmanager
def timed(part: Part) -> Iterator[None]:
    """Counts the time within it for a part, if there is a stopwatch; then goes on with the part before."""
    watch = _running.get()
    if watch is None:
        yield
        return
    before = watch.switch(part)
    try:
        yield
    finally:
        watch.switch(before)


@contextmanager
def compiling() -> Iterator[None]:
    """Counts the time within it for kernels, in every run: numba compiles one at a time, whoever asks for it."""
    watches = tuple(_all_running)
    for watch in watches:
        watch.compiling(1)
    try:
        yield
    finally:
        for watch in watches:
            watch.compiling(-1)


def process_began() -> float:
    """Returns when this process began, as a time of time.monotonic(); where the system does not tell, now."""
    now = time.monotonic()
    with suppress(AttributeError, OSError, ValueError, IndexError):
        with open("/proc/self/stat", encoding="utf-8") as file:
            # The name of the program is in parentheses, and may have spaces; the 22nd field counts ticks since boot.
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return now - max(age, 0.0)
    return now
