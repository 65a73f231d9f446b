"""How much memory a worker uses, and may use.

Its budget is for what the run adds to the process. Whoever is about to make a large array claims the room first, and
rules look now and then while they derive, so that a single join cannot pass the budget by much.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LARGE = 1 << 20
"""Bytes: what is smaller is not worth a look."""

LOOK_SECONDS = 0.005
"""Between two looks by those who claim nothing: asking the system takes as long as a small round."""

_STATISTICS = Path("/proc/self/statm")


class TooLarge(Exception):
    """The facts do not fit; the text says what was allowed."""


@dataclass(frozen=True, slots=True, eq=False)
class _Budget:
    most: int
    """Bytes that the whole process may use."""
    size: int
    """Those of them that are for the facts."""


_budgets: list[_Budget] = []
"""Of the runs that go on in this process. It has one memory, so the smallest counts for all of them."""


def used_memory() -> int:
    """Bytes that this process has in memory now, files that are only looked into not counted; or what it had at most,
    where the system tells nothing else."""
    if _STATISTICS.exists():
        _, resident, shared, *_ = _STATISTICS.read_text().split()
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@contextmanager
def allowed(size: int | None) -> Iterator[None]:
    """While this is entered, the process may use so many bytes more than now; None for no limit."""
    if size is None:
        yield
        return
    budget = _Budget(used_memory() + size, size)
    _budgets.append(budget)
    try:
        yield
    finally:
        _budgets.remove(budget)


def claim(size: int) -> None:
    """To be called before so many bytes are used."""
    if _budgets and size >= LARGE:
        _check(size)


def check() -> None:
    """Whether the budget still holds; often enough to be worth its while, however often it is called."""
    if _budgets and time.monotonic() - _Looked.at >= LOOK_SECONDS:
        _check(0)


class _Looked:
    """When the system was last asked how much is used."""

    at = 0.0


def _check(coming: int) -> None:
    _Looked.at = time.monotonic()
    budget = min(tuple(_budgets), key=lambda one: one.most)
    if used_memory() + coming > budget.most:
        raise TooLarge(f"the facts need more than the {in_words(budget.size)} of a worker")


def in_words(size: float) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.1f} MiB"
