"""How long a worker computed and how long it waited, so that a profile can tell who held up whom."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from emberlog.events import WorkerEffort


@dataclass(slots=True)
class Effort:
    """A stopwatch: each call says what the time since the last one was."""

    busy: float = 0.0
    waiting: float = 0.0
    exchanges: int = 0
    _since: float = field(default_factory=time.monotonic)

    def began(self) -> None:
        self._since = time.monotonic()

    def worked(self) -> None:
        self.busy += self._lap()

    def waited(self) -> None:
        self.waiting += self._lap()

    def _lap(self) -> float:
        since, self._since = self._since, time.monotonic()
        return self._since - since

    def of_worker(self, number: int) -> WorkerEffort:
        return WorkerEffort(number + 1, self.busy, self.waiting, self.exchanges)
