"""The moment by which a run has to be over, whatever it is doing: reading the text, checking, planning or computing.

Reading and planning are many small functions that know nothing of a run, so the moment is a context variable: whoever
begins a run sets it, and whatever may take long looks at the clock now and then. Nothing is looked at where there is no
timeout. A thread has a context of its own, so executors take the moment along when they begin.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from emberlog.diagnostics import fail


@dataclass(frozen=True, slots=True)
class _Deadline:
    end: float
    seconds: float
    """What the person asked for."""


_current: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Lets all that is done inside take so many seconds, or as many as are left of what is around it."""
    outer = _current.get()
    if seconds is None or (outer is not None and outer.end <= time.monotonic() + seconds):
        yield
        return
    token = _current.set(_Deadline(time.monotonic() + seconds, seconds))
    try:
        yield
    finally:
        _current.reset(token)


def check_time(doing: str) -> None:
    """Raises the error of a timeout if the moment has passed. `doing` completes «it was passed while …»."""
    deadline = _current.get()
    if deadline is not None and time.monotonic() > deadline.end:
        raise fail(
            "DL512",
            f"the timeout of {deadline.seconds:,} seconds was passed while {doing}",
            None,
            "nothing was computed yet",
            "raise timeout, or register large data as relations: what stands in the text is read word by word",
        )


def end_of(timeout: float) -> float:
    """The moment when a run that is about to compute has to be over: it may have taken time to get there."""
    deadline = _current.get()
    end = time.monotonic() + timeout
    return end if deadline is None else min(end, deadline.end)
