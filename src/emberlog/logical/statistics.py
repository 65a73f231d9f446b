"""What is known of the data before a program runs: how many rows, how many values, which of them are frequent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from emberlog.semantics.model import CellValue


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Of one column; both numbers may come from a sample."""

    distinct: float
    """At least 1."""
    frequent: Mapping[CellValue, float]
    """Values that many rows have, with the share of the rows that have them."""


@dataclass(frozen=True, slots=True)
class RelationStatistics:
    rows: float
    columns: tuple[ColumnStatistics, ...]
    """One for each column of the relation."""
    origin: str
    """Where the numbers come from, in a few words."""


Statistics: TypeAlias = Mapping[str, RelationStatistics]
"""By relation. One that is missing is one of which nothing is known."""

NO_STATISTICS: Statistics = {}
