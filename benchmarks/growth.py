"""Measures how the time of a recursion grows with the facts that it derives, in one process, and writes a page."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from benchmarks.data import graphs, program_analysis
from benchmarks.data.relations import Relations
from benchmarks.data.rmat import rmat
from benchmarks.workloads import program
from emberlog.database import Database

Size = tuple[str, Callable[[], Relations]]

CASES: Mapping[str, Sequence[Size]] = {
    "tc": [(f"a grid of {side} × {side}", partial(graphs.grid, side - 1)) for side in (50, 70, 100)],
    "cc": [(f"R-MAT, {size:,} vertices", partial(rmat, 1, size)) for size in (50_000, 200_000, 800_000)],
    "andersen": [
        (f"{size:,} variables", partial(program_analysis.andersen, size)) for size in (12_500, 50_000, 200_000)
    ],
}
"""By program: three sizes, each about four times the one before."""

_HEAD = """\
# Growth

Time against derived facts, three sizes each, in one process (`python -m benchmarks growth`): from registered tables to
the count, the median of {repeat} runs after a first one that does not count, each with a database of its own, so that
nothing is there from the one before. An exponent of 1 is linear in the facts; it is that from the smallest size on.

"""
_TITLES = ("program", "data", "rows read", "facts", "seconds", "ns per fact", "exponent")


@dataclass(frozen=True, slots=True)
class Row:
    program: str
    data: str
    read: int
    facts: int
    seconds: float

    def exponent(self, smallest: Row) -> float:
        """Returns the power of the number of facts by which the time has grown."""
        return math.log(self.seconds / smallest.seconds) / math.log(self.facts / smallest.facts)


def run(only: Sequence[str], repeat: int, output: Path) -> Iterator[str]:
    """Yields the lines of a table as they are known, and writes the page."""
    lines = [f"| {' | '.join(_TITLES)} |", "| --- | --- |" + " ---: |" * (len(_TITLES) - 2)]
    yield from lines
    for name in only:
        rows: list[Row] = []
        for data, generate in CASES[name]:
            rows.append(_measured(name, data, generate(), repeat))
            lines.append(_line(rows))
            yield lines[-1]
    output.mkdir(parents=True, exist_ok=True)
    (output / "growth.md").write_text(_HEAD.format(repeat=repeat) + "\n".join(lines) + "\n", encoding="utf-8")


def _measured(name: str, data: str, relations: Relations, repeat: int) -> Row:
    workload = program.load(name)
    text = workload.text("emberlog.dl")
    assert text is not None
    tables = {relation: pa.table(dict(relations[table])) for relation, table in workload.inputs.items()}
    times, facts = [], 0
    for _ in range(repeat + 1):
        with Database(engine="local") as database:
            database.update(tables)
            since = time.perf_counter()
            facts = database.datalog(text)[workload.output].count()
            times.append(time.perf_counter() - since)
    return Row(name, data, sum(table.num_rows for table in tables.values()), facts, statistics.median(times[1:]))


def _line(rows: Sequence[Row]) -> str:
    last = rows[-1]
    exponent = f"{last.exponent(rows[0]):.2f}" if len(rows) > 1 else ""
    per_fact = f"{last.seconds / last.facts * 1e9:,.0f}"
    cells = (last.program, last.data, f"{last.read:,}", f"{last.facts:,}", f"{last.seconds:.3f}", per_fact, exponent)
    return f"| {' | '.join(cells)} |"
