"""Statistics that are wrong: they may mislead a pass to a slow plan, never to another answer."""

from __future__ import annotations

from emberlog.logical.statistics import ColumnStatistics, RelationStatistics, Statistics
from emberlog.semantics.model import CheckedProgram


def made_up(checked: CheckedProgram) -> Statistics:
    """Every input is large, with few values that come in all combinations, but for `node`, which hardly has any."""
    return {
        name: RelationStatistics(
            2.0 if name == "node" else 1_000_000.0,
            (ColumnStatistics(2.0 if name == "node" else 30.0, {}),) * checked.relations[name].arity,
            "made up",
        )
        for name in checked.inputs
    }
