"""The same runs without checkpoints, with the default, and with many."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benchmarks.data.catalogue import DATASETS
from benchmarks.recovery.runs import COMPONENTS, TC, measured
from emberlog.config import Execution, Recovery
from emberlog.database import Database

SETTINGS = {
    "none": Recovery(checkpoint_seconds=None),
    "default": Recovery(),
    "every half second": Recovery(checkpoint_seconds=0.5),
}
PROGRAMS = {"tc/grid150": (TC, "grid150"), "cc/rmat1-1m": (COMPONENTS, "rmat1-1m")}


@dataclass(frozen=True, slots=True)
class CheckpointCost:
    program: str
    setting: str
    seconds: tuple[float, ...]
    without: tuple[float, ...]
    """The same run without checkpoints, next to each."""

    @property
    def ratio(self) -> float:
        """To a run without."""
        return median(self.seconds) / median(self.without)


def checkpoint_costs(database: Database, program: str, repeat: int) -> tuple[CheckpointCost, ...]:
    """They take turns; the first run of each does not count."""
    text, dataset = PROGRAMS[program]
    database["arc"] = str(DATASETS[dataset].stored().parquet("arc"))
    found: dict[str, list[float]] = {setting: [] for setting in SETTINGS}
    facts = set()
    for _ in range(repeat + 1):
        for setting, recovery in SETTINGS.items():
            run = measured(database, text, Execution(executor="cyclic", recovery=recovery))
            found[setting].append(run.seconds)
            facts.add(run.facts)
    if len(facts) > 1:
        raise AssertionError(f"{program}: answers differ: {sorted(facts)}")
    without = tuple(found["none"][1:])
    return tuple(CheckpointCost(program, setting, tuple(runs[1:]), without) for setting, runs in found.items())
