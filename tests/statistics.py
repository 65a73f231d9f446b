"""Statistics for tests: counted from facts, or written down."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from emberlog.io.sampling import statistics_of_facts
from emberlog.logical.statistics import ColumnStatistics, RelationStatistics, Statistics
from emberlog.semantics.model import CheckedProgram, Fact

_WRITTEN = re.compile(r"^% (\w+) has ([\d,]+) rows; values by column: (.+)$", re.MULTILINE)


def counted(checked: CheckedProgram, facts: Mapping[str, Collection[Fact]]) -> Statistics:
    """Of the inputs of a program."""
    return {
        name: statistics_of_facts(facts[name], checked.relations[name].arity)
        for name in checked.inputs
        if name in facts
    }


def written(program: str) -> Statistics:
    """`% arc has 1,000 rows; values by column: 100 90` as a line of its own."""
    return {
        name: RelationStatistics(
            float(rows.replace(",", "")),
            tuple(ColumnStatistics(float(one.replace(",", "")), {}) for one in values.split()),
            "written down",
        )
        for name, rows, values in _WRITTEN.findall(program)
    }
