"""Divides work among threads of this process: kernels leave the interpreter to others while they run.

A worker that may use several threads shares its memory with none, so that they have one copy of every relation, and
nothing is exchanged. Whoever divides something does so in an order that does not depend on who was faster.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Generic, TypeVar, cast

import numpy as np

from emberlog.workers.kernels.lanes import Lane

Found = TypeVar("Found")
Given = TypeVar("Given")

_allowed: ContextVar[int] = ContextVar("threads", default=1)
"""How many the run at hand may use. What runs in one of them has itself alone: a new thread begins without."""

_pools: dict[int, ThreadPoolExecutor] = {}
"""By their number. They stay: to start one takes as long as a small kernel."""

os.register_at_fork(after_in_child=_pools.clear)


@contextmanager
def threads_allowed(number: int) -> Iterator[None]:
    """Lets what is called meanwhile use so many threads, its own among them."""
    token = _allowed.set(number)
    try:
        yield
    finally:
        _allowed.reset(token)


def threads_here() -> int:
    """Returns how many threads may be used."""
    return _allowed.get()


def _pool(threads: int) -> ThreadPoolExecutor:
    # Two runs may ask at once, and a pool has no thread before it has something to do.
    return _pools.get(threads) or _pools.setdefault(threads, ThreadPoolExecutor(threads - 1, "kernels"))


def in_threads(calls: Sequence[Callable[[], Found]], threads: int | None = None) -> list[Found]:
    """Calls functions, so many at once; returns what they return. The first failure in their order is raised, once all
    are done."""
    threads = threads_here() if threads is None else threads
    if threads == 1 or len(calls) == 1:
        return [call() for call in calls]
    return list(mapped(_called, calls, threads=threads, ahead=len(calls)))


def _called(call: Callable[[], Found]) -> Found:
    return call()


def mapped(
    function: Callable[[Given], Found], given: Iterable[Given], *, threads: int | None = None, ahead: int | None = None
) -> Iterator[Found]:
    """Yields what a function returns for each thing given, in that order. Threads go ahead by so many of them; who
    waits for one calls the function himself, for it or, where another thread has begun, for those behind it."""
    threads = threads_here() if threads is None else threads
    if threads == 1:
        yield from map(function, given)
        return
    waiting: deque[_Piece[Given, Found]] = deque()
    pool, ahead = _pool(threads), ahead or 2 * threads
    try:
        for one in given:
            waiting.append(_Piece(pool.submit(function, one), one))
            if len(waiting) >= ahead:
                yield _next(function, waiting)
        while waiting:
            yield _next(function, waiting)
    finally:
        for piece in waiting:
            piece.future.cancel()
        for piece in waiting:
            if not piece.future.cancelled():
                piece.future.exception()  # nothing goes on behind the back of who has given up


@dataclass(slots=True)
class _Piece(Generic[Given, Found]):
    future: Future[Found]
    given: Given

    def take(self, function: Callable[[Given], Found]) -> None:
        """Calls the function here, if no thread has begun."""
        if self.future.cancel():
            self.future = Future()
            try:
                self.future.set_result(function(self.given))
            except Exception as error:  # for who asks for this piece, when it is its turn
                self.future.set_exception(error)


def _next(function: Callable[[Given], Found], waiting: deque[_Piece[Given, Found]]) -> Found:
    first = waiting.popleft()
    first.take(function)
    for piece in waiting:
        if first.future.done():
            break
        piece.take(function)
    return first.future.result()


class MadeOnce:
    """Holds what all workers of a process would make alike: the first one makes it, and the others wait for it."""

    def __init__(self) -> None:
        self._made: dict[str, object] = {}
        self._making = Lock()

    def get(self, name: str, make: Callable[[], Found]) -> Found:
        with self._making:
            if name not in self._made:
                self._made[name] = make()
            return cast(Found, self._made[name])

    def forget(self, name: str) -> None:
        """Lets go of something that all workers have by now."""
        with self._making:
            self._made.pop(name, None)


def ranges(count: int, fewest: int) -> list[tuple[int, int]]:
    """Divides `count` things into a range for each thread, none with fewer than that but the only one."""
    pieces = max(1, min(threads_here(), count // max(fewest, 1)))
    bounds = [count * piece // pieces for piece in range(pieces + 1)]
    return list(pairwise(bounds))


def even_ranges(ends: Lane, fewest: int) -> list[tuple[int, int]]:
    """Divides things into ranges of about the same weight, a few for each thread. `ends` are the sums of the weights up
    to each of them."""
    if not len(ends):
        return []
    total, threads = int(ends[-1]), threads_here()
    pieces = 1 if threads == 1 else max(1, min(_PIECES * threads, total // fewest))
    cuts = np.searchsorted(ends, [total * piece // pieces for piece in range(1, pieces)], side="left").tolist()
    bounds = sorted({0, *cuts, len(ends)})
    return list(pairwise(bounds))


_PIECES = 4
"""Ranges for each thread: weights do not tell all about the time."""


def over(kernel: Callable[..., Found], pieces: Sequence[tuple[int, int]], *arguments: object) -> list[Found]:
    """Calls a kernel for ranges, which are its first two arguments."""
    return in_threads([partial(kernel, begin, end, *arguments) for begin, end in pieces])
