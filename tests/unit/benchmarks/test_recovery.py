"""The report of killed workers, checkpoints and modes; what it measures needs Spark, and a machine that is still."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.machine import Machine
from benchmarks.recovery.checkpoint_cost import CheckpointCost
from benchmarks.recovery.killed import KilledRun
from benchmarks.recovery.modes import ModeRun, path_both_ways
from benchmarks.recovery.report import document
from benchmarks.recovery.run import RecoveryResults
from benchmarks.report import markdown

ROOT = Path(__file__).parents[3]
MACHINE = Machine("a processor", 2, 8.0, "Linux", "3.11", "17", "abc")


def test_the_report_has_what_was_measured() -> None:
    results = RecoveryResults(
        MACHINE,
        (
            KilledRun("one path", "bsp", 1_000, (10.0, 20.0, 30.0), (2.0, 6.0, 3.0), (80, 70, 90), 100),
            KilledRun("a star", "bsp", 10, (), (), (), 2),
        ),
        (ModeRun("async", (0.7, 0.5, 0.6), (0.1, 0.3, 0.2), 2),),
        (CheckpointCost("tc/grid150", "default", (2.2, 2.1, 2.0), (2.0, 2.1, 1.9)),),
    )
    lines = markdown.render(document(results)).splitlines()
    (path,) = (line for line in lines if "one path" in line)
    assert [cell.strip(" *") for cell in path.strip("|").split("|")] == [
        "one path",
        "bsp",
        "1,000",
        "20.00",
        "3.00",
        "20%",
        "80 70 90 of 100",
    ]
    assert any("a star" in line and "over before it was killed" in line for line in lines)
    assert any("async" in line and "0.200" in line and "0.600" in line for line in lines)
    assert any("tc/grid150" in line and "+5.0%" in line for line in lines)


def test_what_was_not_measured_has_no_section() -> None:
    assert [section.title for section in document(RecoveryResults(MACHINE)).sections] == ["How it was measured"]


def test_a_path_goes_both_ways() -> None:
    arcs = path_both_ways(3)["arc"]
    assert sorted(zip(*(values.tolist() for values in arcs.values()), strict=True)) == [(0, 1), (1, 0), (1, 2), (2, 1)]


def test_only_own_workers_are_killed() -> None:
    """A process without Spark has none, whatever the tests around it have."""
    program = "from benchmarks.recovery.worker_processes import kill_a_busy_one; kill_a_busy_one()"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "there is no worker to kill" in ran.stderr
