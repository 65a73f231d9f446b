"""The one place where a worker can be broken on purpose. A job has a injector in tests only; elsewhere it is None."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from emberlog.engines.spark.task import TaskRun


class Phase(Enum):
    """Names the phases of a worker's life, each at the moment when it begins."""

    READ = "read"
    FIRST_ROUND = "first round"
    EXCHANGE = "exchange"
    """Again before each."""
    CHECKPOINT = "checkpoint"
    """Its files are written, and it is not valid yet."""
    WRITE = "write"
    """Again after each batch of results."""
    RESULT_READ = "result read"
    """Everything is written, and nobody was told so yet."""


class FaultInjector(Protocol):
    def at(self, phase: Phase, run: TaskRun) -> None:
        """Breaks what it likes of the worker, its process, connections and files."""
        ...
