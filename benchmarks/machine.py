"""What the measurements were made on."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.locations import REPOSITORY


@dataclass(frozen=True, slots=True)
class Machine:
    processor: str
    cores: int
    memory_gib: float
    system: str
    python: str
    java: str
    commit: str
    """The commit that was measured, with a plus sign when files differ from it."""


def this_machine() -> Machine:
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory_gib=round(memory_bytes("MemTotal") / 2**30, 1),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        java=_first_line(["java", "-version"]),
        commit=_commit(),
    )


def memory_bytes(field: str) -> int:
    """`MemTotal` or `MemAvailable`, as Linux tells them."""
    for line in _lines(Path("/proc/meminfo")):
        name, _, amount = line.partition(":")
        if name == field:
            return int(amount.split()[0]) * 1024
    return 0


def _processor() -> str:
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def _commit() -> str:
    commit = _first_line(["git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD"])
    changed = _first_line(["git", "-C", str(REPOSITORY), "status", "--porcelain", "--untracked-files=no"])
    return f"{commit}+" if commit and changed else commit


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines and done.returncode == 0 else ""
