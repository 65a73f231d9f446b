"""When the next checkpoint is worth its time."""

from __future__ import annotations

import time

MOST_OF_THE_TIME = 1 / 12
"""That goes into checkpoints: where one would take long, more time has to pass before it."""

SECONDS_PER_ROW = 1e-8
"""Until it is known how long it takes."""
ENOUGH_TO_TELL = 1 << 17
"""Rows that have to be written to tell how long one takes."""


class Pace:
    def __init__(self, every: float | None) -> None:
        """At least so many seconds are between two checkpoints; None for never."""
        self._every = every
        self._last_at = time.monotonic()
        self._took = 0.0
        self._rows: int | None = None
        self._seconds_per_row = SECONDS_PER_ROW

    def is_due(self, rows: int | None) -> bool:
        """`rows` is how many rows there are to save, of which those that were saved are not written again; None where
        that is not how the state changes."""
        if self._every is None:
            return False
        passed = time.monotonic() - self._last_at
        return passed >= self._every and passed * MOST_OF_THE_TIME >= self._price(rows)

    def _price(self, rows: int | None) -> float:
        """What has to be earned before the next one: what the last one took, or the next one would, if that is less."""
        if rows is None or self._rows is None:
            return self._took
        return min(self._took, (rows - self._rows) * self._seconds_per_row)

    def saved(self, seconds: float, written: int, rows: int | None) -> None:
        """A checkpoint took so long, and so many rows were written for it."""
        self._last_at, self._took, self._rows = time.monotonic(), seconds, rows
        if written >= ENOUGH_TO_TELL:
            self._seconds_per_row = seconds / written
