"""The memory of an engine: the resident sets of all its processes, added up, as Linux tells them in /proc.

An engine is started as the leader of its own session, and what it starts (Java, Python workers) stays in that session,
even when a parent dies. Pages that two processes share are counted twice.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_PROC = Path("/proc")
_SESSION = 3
"""Where the session stands in /proc/PID/stat, counted from the field after the name in parentheses."""


def members(session: int) -> list[int]:
    """The living processes of a session."""
    return [process for process, fields in statuses() if int(fields[_SESSION]) == session and fields[0] != "Z"]


def statuses() -> Iterator[tuple[int, list[str]]]:
    """Of each process, what stands in /proc/PID/stat after the name in parentheses."""
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit():
            try:
                yield int(entry.name), (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended


def resident_bytes(session: int) -> int:
    total = 0
    for process in members(session):
        try:
            total += int((_PROC / str(process) / "statm").read_text().split()[1]) * _PAGE
        except OSError:
            continue
    return total


def kill(session: int) -> None:
    """Ends every process of the session; a second look catches what was being started meanwhile."""
    for _ in range(3):
        processes = members(session)
        if not processes:
            return
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue


class PeakMeter:
    """Watches a session's memory in a thread, and remembers the largest sum."""

    def __init__(self, session: int, interval: float = 0.1) -> None:
        self.peak = resident_bytes(session)
        self._session = session
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMeter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.peak = max(self.peak, resident_bytes(self._session))

    def _watch(self) -> None:
        while not self._stop.wait(self._interval):
            self.peak = max(self.peak, resident_bytes(self._session))
