"""Tells how much memory a worker uses, and may use.

Its budget is for what the run adds to the process. Whoever is about to make a large array claims the room first, and
rules look now and then while they derive, so that a single join cannot pass the budget by much.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from emberlog.workers.kernels.tuning import (
    BYTES_BESIDE,
    FEWEST_AT_ONCE,
    HELD_SHARE,
    LARGE_BYTES,
    LEAST_WRITE,
    LOOK_SECONDS,
    MOST_CODE,
    MOST_HELD,
    SHORT_OF_MEMORY,
    WAITING_SHARE,
)

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Of the C library's `mallopt`."""

_STATISTICS = Path("/proc/self/statm")


class TooLarge(Exception):
    """Says that the facts do not fit; the text says what was allowed."""


@dataclass(slots=True, eq=False)
class _Budget:
    most: int
    """Bytes that the whole process may use."""
    size: int
    """Those of them that are for the facts."""


_budgets: list[_Budget] = []
"""Of the runs that go on in this process. It has one memory, so the smallest counts for all of them."""


def used_memory() -> int:
    """Returns the bytes that this process has in memory now, files that are only looked into not counted; or what it
    had at most, where the system tells nothing else."""
    if _STATISTICS.exists():
        _, resident, shared, *_ = _STATISTICS.read_text().split()
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@contextmanager
def allowed(size: int | None, *, is_share: bool = False) -> Iterator[None]:
    """Lets the process use so many bytes more than now while this is entered; None for no limit. `is_share` of what is
    free on the machine: what this process has freed and holds is room then, too, and need not be given back."""
    if size is None:
        yield
        return
    if not is_share:
        give_back()  # what is not used any more is not to count as room later
    budget = _Budget(used_memory() + size, size)
    _budgets.append(budget)
    try:
        yield
    finally:
        _budgets.remove(budget)


@contextmanager
def loading_code() -> Iterator[None]:
    """Lets code that is loaded while this is entered be no part of the budgets."""
    if not _budgets:
        yield
        return
    before = used_memory()
    try:
        yield
    finally:
        # Other threads may have made arrays meanwhile.
        loaded = min(max(used_memory() - before, 0), MOST_CODE)
        for budget in tuple(_budgets):
            budget.most += loaded


def claim(size: int) -> None:
    """Claims room before so many bytes are used; raises TooLarge if there is none."""
    if _budgets and size >= LARGE_BYTES:
        _check(size)


def check() -> None:
    """Raises TooLarge if the budget does not hold any more; it looks often enough to be worth its while, however often
    it is called."""
    if _budgets and time.monotonic() - _Looked.at >= LOOK_SECONDS:
        _check(0)


def has_room(size: int) -> bool:
    """Tells whether so many bytes more can be used: for those who can do with less."""
    return not _budgets or size < LARGE_BYTES or used_memory() + size <= _smallest().most


def room() -> int | None:
    """Returns the bytes that are left; None where nobody counts them."""
    return max(0, _smallest().most - used_memory()) if _budgets else None


def at_once(most: int) -> int:
    """Returns how many rows are made at a time: at most so many, and fewer where a budget is small."""
    if not _budgets:
        return most
    return max(min(most, _smallest().size // BYTES_BESIDE), FEWEST_AT_ONCE)


def may_wait(most: int) -> int:
    """Returns how many bytes wait at a time for one of many writes: at most so many, and fewer where a budget is small,
    so that all that wait together are a small part of it."""
    if not _budgets:
        return most
    return max(min(most, _smallest().size // WAITING_SHARE), LEAST_WRITE)


def is_short() -> bool:
    """Tells whether a good part of the budget is in use; like `check`, it looks only now and then."""
    if not _budgets or time.monotonic() - _Looked.for_much < LOOK_SECONDS:
        return False
    _Looked.for_much = time.monotonic()
    budget = _smallest()
    return used_memory() > budget.most - (1 - SHORT_OF_MEMORY) * budget.size


def hold_freed(budget: int | None) -> None:
    """Keeps some of the memory that is freed, for all that this process does from now on. The C library would return
    the arrays of each batch to the system, and get the same pages for the next one, each of them cleared."""
    mallopt = _of_c_library("mallopt")
    if mallopt is not None:
        held = MOST_HELD if budget is None else min(MOST_HELD, budget // HELD_SHARE)
        mallopt(_MMAP_THRESHOLD, held // 2)
        mallopt(_TRIM_THRESHOLD, held)


def give_back() -> None:
    """Asks the allocators to return what nobody uses any more: the system counts it as used."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    trim = _of_c_library("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _of_c_library(name: str) -> Any | None:
    """Returns a function that not every C library has."""
    return getattr(ctypes.CDLL(None), name, None)


class _Looked:
    """Records when the system was last asked how much is used."""

    at = 0.0
    for_much = 0.0


def _smallest() -> _Budget:
    return min(tuple(_budgets), key=lambda one: one.most)


def _check(coming: int) -> None:
    _Looked.at = time.monotonic()
    budget = _smallest()
    if used_memory() + coming <= budget.most:
        return
    give_back()
    if used_memory() + coming > budget.most:
        raise TooLarge(f"the facts need more than the {in_words(budget.size)} of a worker")


def in_words(size: float) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.1f} MiB"
