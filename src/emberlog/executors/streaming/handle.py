"""A stream query that runs: watched, waited for and stopped as PySpark's own streaming queries are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from emberlog.diagnostics import EmberlogError
from emberlog.executors.streaming.coordinator import Coordinator
from emberlog.executors.streaming.progress import StreamProgress

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


class StreamRun:
    """What `start` gives back."""

    def __init__(self, query: StreamingQuery, coordinator: Coordinator, watch: Watch, *, closes: bool) -> None:
        self._query = query
        self._coordinator = coordinator
        self._watch = watch
        self._closes = closes
        self._lock = Lock()

    @property
    def id(self) -> str:
        """The same after every restart from the checkpoint."""
        return str(self._query.id)

    @property
    def runId(self) -> str:
        return str(self._query.runId)

    @property
    def name(self) -> str | None:
        return self._query.name

    @property
    def isActive(self) -> bool:
        return bool(self._query.isActive)

    @property
    def status(self) -> dict[str, Any]:
        return dict(self._query.status)

    @property
    def recentProgress(self) -> list[StreamProgress]:
        """Of the last hundred steps."""
        return self._watch.recent

    @property
    def lastProgress(self) -> StreamProgress | None:
        recent = self._watch.recent
        return recent[-1] if recent else None

    def exception(self) -> EmberlogError | PySparkException | None:
        """Why it ended, if something went wrong."""
        return self._coordinator.error or self._query.exception()

    def awaitTermination(self, timeout: float | None = None) -> bool | None:
        """Waits for the end, and raises what went wrong; with a timeout, says whether the end came."""
        try:
            # PySpark's own takes whole seconds, and says so.
            ended = self._query.awaitTermination(None if timeout is None else max(1, round(timeout)))
        except PySparkException:
            self._raise()
            raise
        if ended is not False and self._query.exception() is None:
            self._close_all()
        return ended

    def processAllAvailable(self) -> None:
        """Waits until all input that was there is evaluated: for tests."""
        try:
            self._query.processAllAvailable()
        except PySparkException:
            self._raise()
            raise

    def stop(self) -> None:
        """Ends the query; a start with the same checkpoint goes on from here."""
        self._closes = False
        self._query.stop()

    def _raise(self) -> None:
        if self._coordinator.error is not None:
            raise self._coordinator.error from None

    def _close_all(self) -> None:
        with self._lock:
            if self._closes:
                self._closes = False
                self._coordinator.close_all()
