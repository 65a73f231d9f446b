"""What libraries of graph algorithms take that do nothing else: a limit, and no peers."""

from __future__ import annotations

from benchmarks.report.conclusions import LOCAL
from benchmarks.report.document import Cell, Section, Table, Text
from benchmarks.report.numbers import seconds
from benchmarks.results import Run

FLOOR = ("scipy", "networkit", "igraph")


def section(run: Run) -> Section | None:
    engines = [
        name for name in (LOCAL, *FLOOR) if any(one.engine == name and one.is_usable for one in run.measurements)
    ]
    limits = [name for name in engines if name in FLOOR]
    rows = []
    for workload in run.workloads:
        if any(_times(run, workload.name, name) for name in limits):
            times = [_times(run, workload.name, name) or ("", "") for name in engines]
            rows.append((Cell(workload.name), *(Cell(time) for pair in times for time in pair)))
    if not rows:
        return None
    text = (
        "Libraries that know one kind of graph and a few algorithms, written in C and C++, over vertices that are "
        "numbered without gaps. They say how far there is to go, and are no peers: they run no rules. In seconds, the "
        "algorithm alone over a graph that is built already (for Emberlog the whole program, over tables), and all of "
        "it from Parquet files to the count."
    )
    header = ("", *(f"{name}{what}" for name in engines for what in ("", ", from Parquet")))
    return Section("The floor: a limit, not peers", (Text(text), Table(header, tuple(rows))))


def _times(run: Run, workload: str, engine: str) -> tuple[str, str] | None:
    one = run.measurement(workload, engine)
    whole = None if one is None or not one.is_usable else run.with_loading(one)
    if one is None or one.median is None or whole is None:
        return None
    return seconds(one.median), seconds(whole)
