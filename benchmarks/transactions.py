"""Measures transactions of ten rows that are only inserted: a live view, DuckDB and Pathway, side by side.

Times are those of the processor, so that they compare on a machine that others use, too. What each answers in the end
is compared.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random

import pyarrow as pa

from benchmarks import locations
from benchmarks.machine import this_machine
from benchmarks.streaming.pathway_process import Batch, by_pathway, pathway_version
from benchmarks.table_page import table_page
from benchmarks.workloads import program
from emberlog.database import Database

VERTICES = 1_000
ARCS = 3_000
ROWS = 10
"""In a transaction."""
FROM_SCRATCH = 15
"""Transactions, spread evenly, after which DuckDB computes anew: all of them would only take longer."""

PROGRAMS = {"wcc": "weakly connected components", "sssp": "shortest paths from one vertex"}

_HEAD = """\
# Transactions of ten rows

{arcs:,} arcs by chance between {vertices:,} vertices, inserted {rows} at a time; after each transaction its changes are
known (`python -m benchmarks transactions`). Processor time on one core of {processor}; DuckDB computes the answer anew,
after {scratch} of the transactions, with one thread; Pathway {pathway} keeps it up to date by `iterate`, and is given a
transaction when it has told the changes of the one before. All answers are equal.

"""
_TITLES = ("program", "engine", "rows a second", "a transaction, mean", "median", "99 of 100 within")

Row = tuple[int, int, int]
Answer = frozenset[tuple[int, int]]


def run(output: Path) -> Iterator[str]:
    """Yields the lines of a table as they are known, and writes the page."""
    head = _HEAD.format(
        arcs=ARCS,
        vertices=VERTICES,
        rows=ROWS,
        processor=this_machine().processor,
        scratch=FROM_SCRATCH,
        pathway=pathway_version(),
    )
    return table_page(output / "transactions.md", head, _TITLES, _rows(), words=2)


def _rows() -> Iterator[tuple[str, ...]]:
    random = Random(1)
    rows = [(random.randrange(VERTICES), random.randrange(VERTICES), random.randint(1, 100)) for _ in range(ARCS)]
    batches = [rows[first : first + ROWS] for first in range(0, len(rows), ROWS)]
    for name, title in PROGRAMS.items():
        expected: Answer | None = None
        for engine, times, answer in _measured(name, batches):
            assert expected in (None, answer), f"{engine} gives another answer to {name}"
            expected = answer
            yield (title, engine, *_cells(times))


def _cells(times: Sequence[float]) -> tuple[str, ...]:
    mean = statistics.fmean(times)
    cells = [f"{ROWS / mean:,.0f}", f"{mean * 1e3:.3g} ms"]
    if len(times) == 1:  # Pathway tells the time of all of them alone
        return (*cells, "", "")
    late = sorted(times)[int(len(times) * 0.99)]
    return (*cells, f"{statistics.median(times) * 1e3:.3g} ms", f"{late * 1e3:.3g} ms")


def _measured(name: str, batches: Sequence[Sequence[Row]]) -> Iterator[tuple[str, Sequence[float], Answer]]:
    workload = program.load(name)
    columns = 3 if name == "sssp" else 2
    yield "Emberlog, live view", *_live(workload, [[row[:columns] for row in batch] for batch in batches])
    yield "DuckDB, from scratch", *_duckdb(workload, batches)
    if locations.pathway_python().exists():
        yield "Pathway", *_pathway(name, batches)


def _live(workload: program.Program, batches: Sequence[Sequence[tuple[int, ...]]]) -> tuple[Sequence[float], Answer]:
    text = workload.text("emberlog.dl")
    assert text is not None
    names = ["src", "dst", "weight"][: len(batches[0][0])]
    with Database(engine="local") as database:
        database["arc"] = pa.table({name: pa.array([], pa.int64()) for name in names})
        with database.live(text, params={"source": 0} if workload.parameters else None) as view:
            times = []
            for batch in batches:
                since = time.process_time()
                with view.transaction() as transaction:
                    transaction.insert("arc", list(batch))
                changes = view.changes[workload.output]
                assert changes is not None
                times.append(time.process_time() - since)
            return times, frozenset((int(str(x)), int(str(value))) for x, value in view[workload.output].facts)


def _duckdb(workload: program.Program, batches: Sequence[Sequence[Row]]) -> tuple[Sequence[float], Answer]:
    import duckdb

    query = workload.text("duckdb.sql")
    assert query is not None
    parameters = {"source": 0} if workload.parameters else None
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("CREATE TABLE arc (src BIGINT, dst BIGINT, weight BIGINT)")
    times, answer = [], []
    for number, batch in enumerate(batches, 1):
        connection.executemany("INSERT INTO arc VALUES (?, ?, ?)", list(batch))
        if number % (len(batches) // FROM_SCRATCH) == 0:
            since = time.process_time()
            answer = connection.execute(query, parameters).fetchall()
            times.append(time.process_time() - since)
    return times, frozenset((x, value) for x, value in answer)


def _pathway(name: str, batches: Sequence[Sequence[Row]]) -> tuple[Sequence[float], Answer]:
    numbers = count()
    given: list[Batch] = [([(next(numbers), *row) for row in batch], []) for batch in batches]
    found = by_pathway(name, given)
    return [found.seconds / len(batches)], frozenset((x, value) for x, value in found.facts)
