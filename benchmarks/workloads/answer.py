"""Whether two engines found the same facts: how many, and a checksum that does not depend on their order.

Each row becomes a number below 2³¹ (a linear mix of its columns, squared, modulo a prime), and these are added up.
That is plain 64-bit arithmetic, so every engine can do it in its own language, next to its data. Float columns are
rounded differently by every engine; a row with one adds its value times a weight that its other columns give, and the
sums are compared with a tolerance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data.randomness import Ints
from benchmarks.workloads.program import ColumnKind

PRIME = 2_147_483_647
START = 12_345
FACTORS = (1_000_003, 998_244_353, 754_974_721, 469_762_049, 167_772_161)
"""One for each column, by position."""
WEIGHTS = 1_000
TOLERANCE = 1e-6

PART = 100_000
"""Rows that are mixed at a time."""


@dataclass(frozen=True, slots=True)
class Answer:
    rows: int
    checksum: int | None = None
    weighted_sum: float | None = None

    def agrees_with(self, other: Answer) -> bool:
        """Parts that one side does not know (an engine that only counts) are not compared."""
        if self.rows != other.rows:
            return False
        if self.checksum is not None and other.checksum is not None and self.checksum != other.checksum:
            return False
        if self.weighted_sum is None or other.weighted_sum is None:
            return True
        return isclose(self.weighted_sum, other.weighted_sum, rel_tol=TOLERANCE)


def of_columns(kinds: Sequence[ColumnKind], columns: Sequence[NDArray[Any]]) -> Answer:
    """The answer of rows that are held as arrays."""
    rows = len(columns[0]) if columns else 0
    mixed: Ints = np.full(rows, START, dtype=np.int64)
    for factor, kind, column in zip(FACTORS, kinds, columns, strict=False):
        if kind != "float":
            whole = np.array([int(name[1:]) for name in column], dtype=np.int64) if kind == "name" else column
            mixed = (mixed + (whole.astype(np.int64) % PRIME) * factor % PRIME) % PRIME
    if "float" in kinds:
        values = columns[kinds.index("float")].astype(np.float64)
        return Answer(rows, weighted_sum=float((values * (mixed % WEIGHTS + 1)).sum() / WEIGHTS))
    return Answer(rows, checksum=int((mixed * mixed % PRIME).sum()))


def of_rows(kinds: Sequence[ColumnKind], rows: Iterable[Sequence[Any]]) -> Answer:
    """The answer of rows that come one by one; only a part of them is held at a time."""
    remaining = iter(rows)
    parts = iter(lambda: list(islice(remaining, PART)), [])
    return of_parts(kinds, ([np.array(column) for column in zip(*part, strict=True)] for part in parts))


def of_parts(kinds: Sequence[ColumnKind], parts: Iterable[Sequence[NDArray[Any]]]) -> Answer:
    """The answer of rows that come many at a time, as arrays."""
    total = Answer(0, weighted_sum=0.0) if "float" in kinds else Answer(0, checksum=0)
    for columns in parts:
        total = _sum(total, of_columns(kinds, columns))
    return total


def _sum(one: Answer, other: Answer) -> Answer:
    if one.checksum is not None and other.checksum is not None:
        return Answer(one.rows + other.rows, checksum=one.checksum + other.checksum)
    assert one.weighted_sum is not None and other.weighted_sum is not None
    return Answer(one.rows + other.rows, weighted_sum=one.weighted_sum + other.weighted_sum)


def sql(kinds: Sequence[ColumnKind], columns: Sequence[str]) -> str:
    """`count(*)` and the sum, as two select items that DuckDB and Spark both understand."""
    mixed = str(START)
    for factor, kind, column in zip(FACTORS, kinds, columns, strict=False):
        if kind != "float":
            whole = f"CAST(substring({column}, 2) AS BIGINT)" if kind == "name" else f"CAST({column} AS BIGINT)"
            mixed = f"({mixed} + ({whole} % {PRIME}) * {factor} % {PRIME}) % {PRIME}"
    if "float" in kinds:
        value = columns[list(kinds).index("float")]
        return f"count(*), coalesce(sum({value} * (({mixed}) % {WEIGHTS} + 1)) / {WEIGHTS}, 0)"
    return f"count(*), coalesce(sum(({mixed}) * ({mixed}) % {PRIME}), 0)"


def of_sql(kinds: Sequence[ColumnKind], row: Sequence[Any]) -> Answer:
    """What the select items of `sql` gave."""
    if "float" in kinds:
        return Answer(int(row[0]), weighted_sum=float(row[1]))
    return Answer(int(row[0]), checksum=int(row[1]))
