"""Streamlog's queue-based index: which rows expire with which slide, found without looking at any other row."""

from __future__ import annotations

import numpy as np

from emberlog.streams.plan.expiring_program import NEVER
from emberlog.workers.kernels.lanes import Lane


class ExpiryQueue:
    """A bucket of rows per slide. A row whose life grows longer is entered again, and its old entry counts no more:
    whoever takes a bucket out looks whether its rows still expire then."""

    def __init__(self) -> None:
        self._buckets: dict[int, list[Lane]] = {}
        self._first: int | None = None
        """No bucket is earlier."""

    def enter(self, rows: Lane, last_slides: Lane) -> None:
        """Enters rows with the last slide at which each holds; those that never expire are not entered."""
        mortal = last_slides < NEVER
        rows, last_slides = rows[mortal], last_slides[mortal]
        if not len(rows):
            return
        order = np.argsort(last_slides, kind="stable")
        rows, last_slides = rows[order], last_slides[order]
        starts = np.flatnonzero(np.concatenate([[True], last_slides[1:] != last_slides[:-1]]))
        for slide, part in zip(last_slides[starts].tolist(), np.split(rows, starts[1:]), strict=True):
            self._buckets.setdefault(slide, []).append(part)
        earliest = int(last_slides[0])
        self._first = earliest if self._first is None else min(self._first, earliest)

    def take(self, slide: int) -> Lane:
        """Takes out the rows that were entered for a slide before this one, some perhaps twice."""
        found: list[Lane] = []
        if self._first is not None:
            past = range(self._first, slide)
            # After a long silence there are fewer buckets than slides that went by.
            for number in past if len(past) <= len(self._buckets) else [one for one in self._buckets if one < slide]:
                found += self._buckets.pop(number, ())
            self._first = max(self._first, slide)
        return np.concatenate(found) if found else np.empty(0, np.int64)

    @property
    def entries(self) -> int:
        return sum(len(part) for parts in self._buckets.values() for part in parts)
