"""A stream query from the moment it runs: Spark's side of it, ours, and what is heard of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql.streaming.query import StreamingQuery

from emberlog.config import Limits
from emberlog.semantics.model import CheckedProgram
from emberlog.streams.spark.coordinator import Coordinator
from emberlog.streams.steps.progress import StreamProgress

REMEMBERED_STEPS = 100


class Watch:
    """Hears of every step, keeps the last ones, and tells those who want to know."""

    def __init__(self, tell: Callable[[StreamProgress], None] | None) -> None:
        self._tell = tell
        self._recent: deque[StreamProgress] = deque(maxlen=REMEMBERED_STEPS)

    def __call__(self, progress: StreamProgress) -> None:
        self._recent.append(progress)
        if self._tell is not None:
            self._tell(progress)

    @property
    def recent(self) -> list[StreamProgress]:
        return list(self._recent)


@dataclass(frozen=True, slots=True)
class Started:
    query: StreamingQuery
    coordinator: Coordinator
    watch: Watch
    checked: CheckedProgram
    limits: Limits
    closes: bool
    """Whether the slides that are still open close at the end of the input."""
