"""How much memory a worker uses, and may use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

SHARE = 0.8
"""Of what is left: others need some, too."""

_STATISTICS = Path("/proc/self/statm")
_MACHINE = Path("/proc/meminfo")


class TooLarge(Exception):
    """The facts do not fit; the text says what was allowed."""


def used_memory() -> int:
    """Bytes that this process has in memory now, or had at most where the system tells nothing else."""
    if _STATISTICS.exists():
        return int(_STATISTICS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def memory_for_each(workers: int) -> int | None:
    """Bytes that each of several workers on this machine may use; None where the system does not tell."""
    if not _MACHINE.exists():
        return None
    figures = dict(line.split(":", 1) for line in _MACHINE.read_text().splitlines())
    return int(int(figures["MemAvailable"].split()[0]) * 1024 * SHARE / workers)
