"""Gives transactions to Pathway, in the environment that it has to itself."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import locations

_PEER = Path(__file__).parent / "pathway_peer.py"

Arc = tuple[int, int, int, int]
"""Its number, its ends and its weight."""
Batch = tuple[Sequence[Arc], Sequence[Arc]]
"""The arcs that come, and those that go."""


@dataclass(frozen=True, slots=True)
class Found:
    seconds: float
    """Of the processor, for all batches."""
    facts: frozenset[tuple[int, ...]]


def by_pathway(program: str, batches: Sequence[Batch]) -> Found:
    given = json.dumps({"program": program, "batches": batches})
    found = json.loads(_run(str(_PEER), given=given).splitlines()[-1])
    return Found(found["seconds"], frozenset(map(tuple, found["facts"])))


def pathway_version() -> str:
    if not locations.pathway_python().exists():
        return "is not installed, and would be what"
    return _run("-c", "import importlib.metadata as m; print(m.version('pathway'))").strip()


def _run(*arguments: str, given: str = "") -> str:
    command = [str(locations.pathway_python()), *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
