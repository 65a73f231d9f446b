"""Measures transactions of one row on live views, beside computing anew, and writes a page.

A row of the data, chosen by chance, is deleted and inserted again, so the view is the same after each pair. What the
answers have changed by is counted, because a transaction has to tell all of it.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as Several
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from benchmarks.data import graphs, program_analysis
from benchmarks.data.randomness import Sequence
from benchmarks.data.relations import Relations, without_repeats
from benchmarks.machine import this_machine
from benchmarks.table_page import table_page
from benchmarks.workloads import program
from emberlog.database import Database

PAIRS = 50
"""Rows that are deleted and inserted again."""

DUCKDB_SECONDS = 60.0
"""After which DuckDB is not waited for."""


@dataclass(frozen=True, slots=True)
class Case:
    program: str
    data: str
    generate: Callable[[], Relations]
    changed: str
    """The input that changes."""


def _arcs(vertices: int, count: int) -> Relations:
    """Returns arcs between vertices chosen by chance."""
    random = Sequence(1, f"arcs {vertices} {count}")
    return {"arc": without_repeats({"src": random.below(vertices, count), "dst": random.below(vertices, count)})}


CASES: Mapping[str, Case] = {
    "tc-sparse": Case(
        "tc", "40,000 vertices, 38,090 arcs by chance", partial(graphs.random_graph, 40_000, 0.95 / 40_000), "arc"
    ),
    "tc-dense": Case("tc", "1,000 vertices, 10,059 arcs by chance", partial(graphs.random_graph, 1_000, 0.01), "arc"),
    "cc": Case("wcc", "1,000,000 vertices, 1,500,000 arcs by chance", partial(_arcs, 1_000_000, 1_500_000), "arc"),
    "andersen": Case("andersen", "20,000 variables", partial(program_analysis.andersen, 20_000), "assign"),
}

_HEAD = """\
# Live views

One row out and in again, {pairs} rows chosen by chance, beside computing anew (`python -m benchmarks live`). A
transaction ends when its changes are known. Anew is the same program with the table registered anew, as it would be
after a change, up to the count of its answers, with `Database(engine="local")`, the best of three runs, and with
DuckDB, one run. The view holds all of its facts in this process; the column «to begin» is what it takes to make it. All
are processor time, with one thread each, on {processor}: so they compare on a machine that others use, too.

"""
_TITLES = (
    "program",
    "data",
    "facts",
    "changes, median and most",
    "transaction, median",
    "mean",
    "99 of 100 within",
    "anew",
    "median × faster",
    "mean × faster",
    "DuckDB anew",
    "median × faster",
    "to begin",
)


@dataclass(frozen=True, slots=True)
class Row:
    case: Case
    facts: int
    changes: Several[int]
    transactions: Several[float]
    anew: float
    duckdb: float | None
    begin: float

    def cells(self) -> tuple[str, ...]:
        times = sorted(self.transactions)
        median, mean = statistics.median(times), statistics.fmean(times)
        late = times[int(len(times) * 0.99)]
        peer = "not in 60 s" if self.duckdb is None else _seconds(self.duckdb)
        faster = "" if self.duckdb is None else f"{self.duckdb / median:,.0f}"
        return (
            self.case.program,
            self.case.data,
            f"{self.facts:,}",
            f"{statistics.median(self.changes):,.0f}, {max(self.changes):,}",
            _seconds(median),
            _seconds(mean),
            _seconds(late),
            _seconds(self.anew),
            f"{self.anew / median:,.0f}",
            f"{self.anew / mean:,.0f}",
            peer,
            faster,
            _seconds(self.begin),
        )


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def run(only: Several[str], output: Path) -> Iterator[str]:
    """Yields the lines of a table as they are known, and writes the page."""
    head = _HEAD.format(pairs=PAIRS, processor=this_machine().processor)
    rows = (_measured(CASES[name]).cells() for name in only)
    return table_page(output / "live.md", head, _TITLES, rows, words=2)


def _measured(case: Case) -> Row:
    workload = program.load(case.program)
    text = workload.text("emberlog.dl")
    assert text is not None
    relations = case.generate()
    with Database(engine="local", workers=1) as database:
        tables = {relation: pa.table(dict(relations[table])) for relation, table in workload.inputs.items()}
        for relation, table in tables.items():
            database[relation] = table
        anew, facts = [], 0
        names = tables[case.changed].column_names
        for _ in range(3):
            since = time.process_time()
            # A row has changed, so nothing that was kept of the relation is good any more.
            database[case.changed] = pa.table(dict(zip(names, tables[case.changed].columns, strict=True)))
            facts = database.datalog(text)[workload.output].count()
            anew.append(time.process_time() - since)
        since = time.process_time()
        with database.live(text) as view:
            begin = time.process_time() - since
            table = tables[case.changed]
            times, changes = [], []
            for number in random.Random(1).sample(range(table.num_rows), PAIRS):
                row = tuple(column[number].as_py() for column in table.columns)
                for action in ("delete", "insert"):
                    since = time.process_time()
                    with view.transaction() as transaction:
                        getattr(transaction, action)(case.changed, [row])
                    change = view.changes[workload.output]
                    changes.append(len(change.added) + len(change.removed))
                    times.append(time.process_time() - since)
            assert len(view[workload.output]) == facts
    return Row(case, facts, changes, times, min(anew), _duckdb(workload, tables), begin)


def _duckdb(workload: program.Program, tables: Mapping[str, pa.Table]) -> float | None:
    """Returns the time of DuckDB for the same answers; None if it takes too long."""
    import duckdb

    query = workload.text("duckdb.sql")
    assert query is not None
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, table in tables.items():
        connection.register(f"{name}_given", table)
        connection.execute(f"CREATE TABLE {name} AS FROM {name}_given")
    since = time.process_time()
    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(lambda: connection.execute(f"SELECT count(*) FROM ({query})").fetchone())
        try:
            running.result(timeout=DUCKDB_SECONDS)
        except TookTooLong:
            connection.interrupt()
            return None
    return time.process_time() - since
