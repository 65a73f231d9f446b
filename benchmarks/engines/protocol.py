"""What every engine adapter offers.

The life of an adapter, inside a process of its own: `start` once; then for each workload `prepare`, and for each
repetition `reset` and `run`; `check` after a run gives the answer of that run; `close` ends it all. Only `run` is the
engine's time; `start` and `prepare` are reported apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.workloads.answer import Answer
from benchmarks.workloads.workload import Workload


class Unavailable(Exception):
    """The engine is not on this machine; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The same for all engines of a run."""

    threads: int
    memory_gib: float
    """What an engine may use, as far as it can be told so."""


@dataclass(frozen=True, slots=True)
class Outcome:
    rows: int
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Whatever the engine knows of the run: `iterations` (rounds that found something new after the seed),
    `bytes_exchanged`, `facts_in_recursions` (new or improved, over all rounds) …"""
    seconds: float | None = None
    """The engine's own clock, for an adapter whose call does more than the engine's work."""


class Engine(ABC):
    name: str
    title: str
    installed_by: str
    """How to get it, in words."""
    timing: str = "data registered beforehand; the time is that of the query and its count"
    """What the time of `run` contains: not all engines can separate reading from computing."""

    def leave_out(self, name: str, part: str) -> None:
        """Becomes the ablation of that name, which works without one part of itself."""
        raise Unavailable(f"{self.name} has no part called {part} that could be left out")

    @abstractmethod
    def version(self) -> str:
        """The version, or Unavailable."""

    def refusal(self, workload: Workload) -> str | None:
        """Why it cannot run a workload, or None if it can."""
        if workload.program.stream:
            return "runs no streams"
        return workload.program.refusal(self.name, workload.dataset_name)

    def start(self, settings: Settings) -> None:
        self.settings = settings

    @abstractmethod
    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        """Loads or registers the inputs, which are Parquet files."""

    def reset(self) -> None:  # noqa: B027  (most engines have nothing to forget)
        """Forgets the last run."""

    @abstractmethod
    def run(self) -> Outcome:
        """From registered inputs to the number of facts of the output relation."""

    @abstractmethod
    def check(self) -> Answer:
        """The answer of the last run, checksum included."""

    def close(self) -> None:  # noqa: B027  (most engines have nothing to end)
        """Ends sessions and processes that it started."""
