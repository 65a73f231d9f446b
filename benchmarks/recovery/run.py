"""Measures everything on one session of Spark, and keeps it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.machine import Machine, this_machine
from benchmarks.recovery import PARTS
from benchmarks.recovery.checkpoint_cost import PROGRAMS, CheckpointCost, checkpoint_costs
from benchmarks.recovery.killed import CASES, KilledRun, killed
from benchmarks.recovery.modes import WORKERS, ModeRun, modes
from emberlog.database import Database

RESULTS = "recovery.json"


@dataclass(frozen=True, slots=True)
class RecoveryOptions:
    only: tuple[str, ...]
    kills: int
    """Of each case."""
    repeat: int
    """Timed runs of everything else."""


@dataclass(frozen=True, slots=True)
class RecoveryResults:
    machine: Machine
    killed: tuple[KilledRun, ...] = ()
    modes: tuple[ModeRun, ...] = ()
    costs: tuple[CheckpointCost, ...] = ()


def run_parts(options: RecoveryOptions, folder: Path, say: Callable[[str], None]) -> RecoveryResults:
    folder.mkdir(parents=True, exist_ok=True)
    results = RecoveryResults(this_machine())
    parts = options.only or PARTS
    with Database(master=f"local[{WORKERS}]") as database:
        for case in CASES if "killed" in parts else ():
            one = killed(database, case, options.kills)
            say(f"{one.case}, {one.mode}: {one.facts:,} facts; " + (f"{one.share:.0%}" if one.rest else "too short"))
            results = _kept(replace(results, killed=(*results.killed, one)), folder)
        if "async" in parts:
            found = modes(database, options.repeat)
            for mode in found:
                say(f"{mode.mode}: {mode.middle[0]:.3f} s, {mode.middle[1]:.3f} s of them in the recursion")
            results = _kept(replace(results, modes=found), folder)
        for program in PROGRAMS if "checkpoints" in parts else ():
            costs = checkpoint_costs(database, program, options.repeat)
            for cost in costs:
                say(f"{cost.program}, checkpoints {cost.setting}: {cost.ratio:.3f} times the time without")
            results = _kept(replace(results, costs=(*results.costs, *costs)), folder)
    return results


def _kept(results: RecoveryResults, folder: Path) -> RecoveryResults:
    (folder / RESULTS).write_text(json.dumps(asdict(results), indent=1), encoding="utf-8")
    return results
