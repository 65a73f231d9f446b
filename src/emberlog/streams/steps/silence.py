"""Knows which streams have given nothing for so long, by the clock on the wall, that nobody waits for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping


class Silence:
    def __init__(self, streams: Iterable[str], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._heard = dict.fromkeys(streams, clock())
        """When each stream last gave a row."""
        self._known: tuple[str, ...] = ()
        """The streams that a step has been taken without."""

    def heard(self, arrived: Mapping[str, int]) -> None:
        """Enters the rows that a step had of each stream."""
        now = self._clock()
        self._heard.update((stream, now) for stream, rows in arrived.items() if rows)
        self._known = tuple(stream for stream in self._known if not arrived.get(stream))

    def idle(self) -> tuple[str, ...]:
        since = self._clock() - self.seconds
        return tuple(stream for stream, last in self._heard.items() if last <= since)

    @property
    def is_complete(self) -> bool:
        """Tells whether no stream gives anything."""
        return len(self.idle()) == len(self._heard)

    def has_grown(self) -> bool:
        """Tells whether more streams are silent than when it was asked last."""
        idle = self.idle()
        grown = not set(idle) <= set(self._known)
        self._known = idle
        return grown
