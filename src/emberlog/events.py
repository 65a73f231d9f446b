"""What a run tells while it goes on: typed events, for progress lines, profiles and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class RunStarted:
    strata: int


@dataclass(frozen=True, slots=True)
class StratumStarted:
    stratum: int
    """Counted from 1, as in plans."""
    relations: tuple[str, ...]
    is_recursive: bool


@dataclass(frozen=True, slots=True)
class IterationFinished:
    """One round of a recursive stratum."""

    stratum: int
    relations: tuple[str, ...]
    iteration: int
    delta_rows: int
    """Facts that are new, or whose aggregated value changed."""
    total_rows: int
    """Facts of the stratum so far."""
    seconds: float


@dataclass(frozen=True, slots=True)
class StratumFinished:
    stratum: int
    relations: tuple[str, ...]
    iterations: int
    """0 for a stratum without recursion, which is left for Spark to run when someone reads it."""
    rows: int | None
    """None where nobody has counted them."""
    seconds: float


@dataclass(frozen=True, slots=True)
class RunFinished:
    seconds: float


Event: TypeAlias = RunStarted | StratumStarted | IterationFinished | StratumFinished | RunFinished


class Listener(Protocol):
    def __call__(self, event: Event, /) -> None: ...


def ignore(_event: Event, /) -> None:
    """The listener of a run that nobody watches."""
