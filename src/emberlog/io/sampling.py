"""Takes statistics of data at hand: counts small data, and takes a sample of large data, never with a Spark job.

A sample says how often values occur; how many there are that it missed is estimated from those that it met just once
(the first-order jackknife of Haas and Stokes).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from emberlog.io.text_format import TextFormat
from emberlog.logical.statistics import ColumnStatistics, RelationStatistics
from emberlog.semantics.model import CellValue, Fact

SAMPLE = 1 << 16
"""Rows that are looked at."""
MOST_ROWS_READ = 1 << 22
"""Rows of a group of a Parquet file, which can only be read as a whole; larger ones are left alone."""
FIRST_BYTES = 1 << 18
"""The bytes of a text file that are read."""
MOST_FREQUENT = 32
"""Values of a column that are listed as frequent."""
STANDS_OUT = 4
"""A value is frequent if this many times more rows have it than have a value on average."""


def statistics_of_table(table: pa.Table) -> RelationStatistics:
    rows = table.num_rows
    if rows <= SAMPLE:
        return _statistics(table, rows, "counted")
    chosen = np.sort(np.random.default_rng(0).choice(rows, SAMPLE, replace=False))
    return _statistics(table.take(chosen), rows, f"a sample of {SAMPLE:,} rows")


def statistics_of_facts(facts: Iterable[Fact], width: int) -> RelationStatistics:
    """Counts facts in this process, which are few or at least there already."""
    rows = list(facts)
    counts = [Counter(row[place] for row in rows) for place in range(width)]
    columns = tuple(_column(one, len(rows), len(rows)) for one in counts)
    return RelationStatistics(float(len(rows)), columns, "counted")


def statistics_of_parquet(paths: Sequence[str], columns: Sequence[str]) -> RelationStatistics | None:
    """Takes row counts from the footers and a sample of a few row groups; None if these are too large to be read."""
    footers = [(path, pq.read_metadata(path)) for path in paths]
    rows = sum(footer.num_rows for _, footer in footers)
    groups = [
        (path, group)
        for path, footer in footers
        for group in range(footer.num_row_groups)
        if footer.row_group(group).num_rows <= MOST_ROWS_READ
    ]
    if rows and not groups:
        return None
    chosen = [groups[place] for place in np.random.default_rng(0).permutation(len(groups))]
    parts: list[pa.Table] = []
    read = 0
    while chosen and read < SAMPLE:
        path, group = chosen.pop()
        parts.append(pq.ParquetFile(path).read_row_group(group, columns=list(columns)).select(list(columns)))
        read += parts[-1].num_rows
    if not parts:
        return RelationStatistics(0.0, tuple(ColumnStatistics(1.0, {}) for _ in columns), "Parquet footers")
    sample = pa.concat_tables(parts)
    if sample.num_rows > SAMPLE:
        sample = sample.take(np.sort(np.random.default_rng(0).choice(sample.num_rows, SAMPLE, replace=False)))
    origin = "counted" if sample.num_rows == rows else f"Parquet footers and a sample of {sample.num_rows:,} rows"
    return _statistics(sample, rows, origin)


def statistics_of_text(files: Sequence[Path], text: TextFormat, width: int) -> RelationStatistics | None:
    """Estimates from the size of the files and the first lines of the first; None if these tell nothing."""
    size = sum(file.stat().st_size for file in files)
    if any(file.suffix in (".gz", ".bz2", ".xz", ".zst") for file in files):
        return None
    with files[0].open("rb") as stream:
        start = stream.read(FIRST_BYTES)
    whole = start if len(start) < FIRST_BYTES else start[: start.rfind(b"\n") + 1]
    lines = re.split("\r\n|\r|\n", whole.decode(text.encoding, errors="replace"))[1 if text.header else 0 :]
    rows = [tuple(map(_cell, cells)) for line in lines if len(cells := line.split(text.delimiter)) == width]
    if not rows:
        return None
    total = max(round(size * len(rows) / len(whole)), len(rows))
    counts = [Counter(row[place] for row in rows) for place in range(width)]
    columns = tuple(_column(one, len(rows), total) for one in counts)
    origin = "counted" if len(whole) == size else f"the size of the files and their first {len(rows):,} rows"
    return RelationStatistics(float(total), columns, origin)


def _cell(text: str) -> CellValue:
    try:
        return int(text)
    except ValueError:
        return text


def _statistics(sample: pa.Table, rows: int, origin: str) -> RelationStatistics:
    columns = tuple(_counted(column, sample.num_rows, rows) for column in sample.columns)
    return RelationStatistics(float(rows), columns, origin)


def _counted(column: pa.ChunkedArray, seen: int, rows: int) -> ColumnStatistics:
    if pa.types.is_nested(column.type):
        return _column(Counter(map(repr, column.to_pylist())), seen, rows)
    found = pc.value_counts(column.combine_chunks())
    values, counts = found.field(0), found.field(1)
    # Arrays of numpy, and scalars of Python among the arguments, would make Arrow load pandas.
    times = {one["values"]: one["counts"] for one in pc.value_counts(counts).to_pylist()}
    most = pc.array_sort_indices(counts, order="descending")[:MOST_FREQUENT]
    frequent = zip(values.take(most).to_pylist(), counts.take(most).to_pylist(), strict=True)
    return _estimated(len(counts), times.get(1, 0), frequent, seen, rows)


def _column(counts: Counter[CellValue], seen: int, rows: int) -> ColumnStatistics:
    once = sum(count == 1 for count in counts.values())
    return _estimated(len(counts), once, counts.most_common(MOST_FREQUENT), seen, rows)


def _estimated(
    values: int, once: int, frequent: Iterable[tuple[CellValue, int]], seen: int, rows: int
) -> ColumnStatistics:
    """Estimates a column whose sample of `seen` rows has `values` different values, of which `once` occur just once."""
    if not values:
        return ColumnStatistics(1.0, {})
    expected = seen * values / (seen - once + once * seen / rows)
    least = max(STANDS_OUT * seen / values, 2)
    return ColumnStatistics(max(expected, 1.0), {value: count / seen for value, count in frequent if count >= least})
