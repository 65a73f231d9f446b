"""The same recursion in rounds and without, on a path that lies across two workers."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.data.relations import Relations, graph
from benchmarks.recovery.runs import COMPONENTS, measured, with_arcs
from emberlog.config import Execution
from emberlog.database import Database

VERTICES = 1_000
WORKERS = 2
MODES = ("bsp", "async")


@dataclass(frozen=True, slots=True)
class ModeRun:
    mode: str
    whole: tuple[float, ...]
    """Seconds of each run."""
    in_recursion: tuple[float, ...]
    """Those that the workers spent on the recursion itself."""
    exchanges: int

    @property
    def middle(self) -> tuple[float, float]:
        return median(self.whole), median(self.in_recursion)


def path_both_ways(vertices: int) -> Relations:
    first = np.arange(vertices - 1, dtype=np.int64)
    return graph(np.concatenate([first, first + 1]), np.concatenate([first + 1, first]), vertices, seed=1)


def modes(database: Database, repeat: int) -> tuple[ModeRun, ...]:
    """They take turns; the first run of each does not count."""
    found: dict[str, list[tuple[float, float, int]]] = {mode: [] for mode in MODES}
    with with_arcs(database, path_both_ways(VERTICES)):
        for _ in range(repeat + 1):
            for mode in MODES:
                run = measured(database, COMPONENTS, Execution(executor="cyclic", mode=mode, workers=WORKERS))
                if run.facts != VERTICES:
                    raise AssertionError(f"{mode}: {run.facts:,} facts, not {VERTICES:,}")
                exchanges = max(one.exchanges for one in run.stratum.workers)
                found[mode].append((run.seconds, run.in_recursion, exchanges))
    return tuple(
        ModeRun(
            mode,
            tuple(whole for whole, _, _ in runs[1:]),
            tuple(inside for _, inside, _ in runs[1:]),
            max(exchanges for _, _, exchanges in runs[1:]),
        )
        for mode, runs in found.items()
    )
