"""Names the golden programs that some tests are for, so that collecting tests plans none of them.

`selections.json` has the names; `test_selections.py` compares it with what the programs are.
"""

from __future__ import annotations

import json
from pathlib import Path

from emberlog.logical.nodes import Fixpoint, LogicalPlan
from emberlog.workers.plan.capabilities import obstacles
from tests.golden.corpus import GoldenCase, all_cases
from tests.property.test_async_programs import is_monotone

FILE = Path(__file__).with_name("selections.json")


def _has_recursion_for_workers(plan: LogicalPlan) -> bool:
    return any(isinstance(one.root, Fixpoint) and not obstacles(one.root) for one in plan.strata)


def chosen(selection: str) -> list[GoldenCase]:
    """Returns the golden programs of a selection."""
    names = set(json.loads(FILE.read_text(encoding="utf-8"))[selection])
    return [case for case in all_cases() if case.name in names]


def computed() -> dict[str, list[str]]:
    """Returns the names of each selection, as the programs are now."""
    answering = [case for case in all_cases() if case.expected_answers]
    failing = [case for case in all_cases() if case.fails_while_running]
    return {
        "without rounds": [case.name for case in answering if is_monotone(case.planned())],
        "by workers": [case.name for case in (*answering, *failing) if _has_recursion_for_workers(case.planned())],
    }


def update() -> None:
    """Writes the file anew."""
    FILE.write_text(f"{json.dumps(computed(), indent=1)}\n", encoding="utf-8")
