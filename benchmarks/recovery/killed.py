"""A worker is killed at nine tenths of a run: how long does the rest take, beside a run that is left alone?"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from benchmarks.data import graphs
from benchmarks.data.relations import Relations
from benchmarks.recovery.runs import TC, Measured, measured, with_arcs
from benchmarks.recovery.worker_processes import kill_a_busy_one
from emberlog.config import Execution, Recovery
from emberlog.database import Database
from emberlog.events import RecursionRetried

KILLED_AT = 0.9
CHECKPOINT_SECONDS = 0.5
"""Runs take some ten seconds here. With the default of ten seconds, the same holds for runs of some minutes."""


@dataclass(frozen=True, slots=True)
class KilledCase:
    name: str
    build: Callable[[], Relations]
    mode: str


CASES = tuple(
    KilledCase(name, build, mode)
    for name, build in (
        ("grid of 191 by 191", lambda: graphs.grid(190)),
        ("path of 22,000 arcs", lambda: graphs.chain(22_000)),
        ("10,000 vertices, 16 arcs each", lambda: graphs.random_graph(10_000, 16 / 10_000)),
    )
    for mode in ("decomposed", "bsp")
)


@dataclass(frozen=True, slots=True)
class KilledRun:
    case: str
    mode: str
    facts: int
    fresh: tuple[float, ...]
    """Seconds of runs that were left alone."""
    rest: tuple[float, ...]
    """Seconds from the kill to the answer."""
    since: tuple[int, ...]
    """The iterations that were gone on from."""
    iterations: int

    @property
    def share(self) -> float:
        """Of a run that is left alone."""
        return median(rest / fresh for rest, fresh in zip(self.rest, self.fresh, strict=True))


def killed(database: Database, case: KilledCase, repeat: int) -> KilledRun:
    execution = Execution(
        executor="cyclic",
        mode=case.mode,
        representation="hash",
        recovery=Recovery(checkpoint_seconds=CHECKPOINT_SECONDS),
    )
    with with_arcs(database, case.build()):
        fresh: list[float] = []
        rest: list[float] = []
        since: list[int] = []
        facts = iterations = 0
        for _ in range(2 * repeat):  # some may be over before they are killed
            if len(rest) == repeat:
                break
            alone = measured(database, TC, execution)
            facts, iterations = alone.facts, alone.iterations
            again, seconds = _killed(database, execution, KILLED_AT * alone.seconds)
            if again.facts != facts:
                raise AssertionError(f"{case.name}: {again.facts:,} facts after a kill, not {facts:,}")
            retries = [event.since for event in again.events if isinstance(event, RecursionRetried)]
            if retries:
                fresh.append(alone.seconds)
                rest.append(seconds)
                since.append(retries[0])
    return KilledRun(case.name, case.mode, facts, tuple(fresh), tuple(rest), tuple(since), iterations)


def _killed(database: Database, execution: Execution, after: float) -> tuple[Measured, float]:
    """The run, and the seconds from the kill to its end."""
    killed_at: list[float] = []

    def kill() -> None:
        kill_a_busy_one()
        killed_at.append(time.perf_counter())

    timer = threading.Timer(after, kill)
    timer.start()
    try:
        found = measured(database, TC, execution)
    finally:
        timer.cancel()
        timer.join()
    return found, found.ended - killed_at[0] if killed_at else 0.0
