"""Merges what the workers of a recursion report into one account for all of them."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import assert_never

from emberlog.workers.plan.mode import Mode
from emberlog.workers.wire.messages import Progress


class MergedProgress:
    """Tells of an iteration when it is over.

    Workers in step all report the sums of everyone, so one of them is enough. Workers that never meet report their own
    numbers, each at its own pace and to its own last iteration: it is over when every worker is through with it.
    Workers that go on by themselves may rest in between, so the one with the most local rounds sets the pace.
    """

    def __init__(self, workers: int, tell: Callable[[Progress], None], mode: Mode, since: int = 0) -> None:
        """`since` is the iteration from which all go on in step."""
        self._tell = tell
        self._mode = mode
        self._ahead = 0
        self._changed = 0
        self._reports: list[list[Progress]] = [[] for _ in range(workers)]
        self._is_running = [True] * workers
        self._told = 0
        self._since = since
        self._lock = Lock()

    @property
    def iterations(self) -> int:
        """Returns how many iterations were told of."""
        return self._told

    def report(self, worker: int, progress: Progress) -> None:
        with self._lock:
            match self._mode:
                case Mode.DECOMPOSED:
                    self._reports[worker].append(progress)
                    self._tell_what_is_complete()
                case Mode.ASYNC:
                    if progress.iteration > self._ahead:
                        self._tell_where_they_are()
                        self._ahead = progress.iteration
                    self._reports[worker] = [progress]
                    self._changed += progress.changed
                case Mode.BSP if worker == 0:
                    self._told = progress.iteration
                    self._tell(progress)
                case Mode.BSP:
                    pass
                case _:
                    assert_never(self._mode)

    def finish(self, worker: int) -> None:
        with self._lock:
            self._is_running[worker] = False
            if self._mode is Mode.ASYNC:
                if not any(self._is_running):
                    self._tell_where_they_are()
            else:
                self._tell_what_is_complete()

    def _tell_where_they_are(self) -> None:
        """Tells of workers that go on by themselves what changed on any of them since the last time."""
        if self._ahead > self._told:
            at = [progress for reports in self._reports for progress in reports]
            total, sent = sum(progress.total for progress in at), sum(progress.bytes_sent for progress in at)
            self._tell(Progress(self._ahead, self._changed, total, sent))
            self._told, self._changed = self._ahead, 0

    def _tell_what_is_complete(self) -> None:
        while self._is_complete(self._told):
            at = [reports[min(self._told, len(reports) - 1)] for reports in self._reports if reports]
            changed = sum(reports[self._told].changed for reports in self._reports if len(reports) > self._told)
            self._told += 1
            total, sent = sum(progress.total for progress in at), sum(progress.bytes_sent for progress in at)
            self._tell(Progress(self._since + self._told, changed, total, sent))

    def _is_complete(self, iteration: int) -> bool:
        some = any(len(reports) > iteration for reports in self._reports)
        pairs = zip(self._reports, self._is_running, strict=True)
        return some and all(len(reports) > iteration or not is_running for reports, is_running in pairs)
