"""How time changes with the number of workers, and of threads in one process, where both were measured."""

from __future__ import annotations

from benchmarks.report.choices import WHOLE
from benchmarks.report.colours import PALETTE
from benchmarks.report.conclusions import LOCAL
from benchmarks.report.document import Cell, Figure, Section, Table, Text
from benchmarks.report.numbers import seconds
from benchmarks.report.svg import Line, lines
from benchmarks.results import Run

_ONE_THREAD = f"{LOCAL}-1-thread"
_FIXED = {"emberlog-1-worker": 1, "emberlog-4-workers": 4}


def section(run: Run) -> Section | None:
    numbers = {**_FIXED, WHOLE: run.threads}
    series: list[Line] = []
    for workload in run.workloads:
        points = []
        for engine, workers in sorted(numbers.items(), key=lambda item: item[1]):
            one = run.measurement(workload.name, engine)
            if one is not None and one.is_usable and one.median:
                points.append((float(workers), one.median))
        if len(points) > 1:
            series.append(Line(workload.name, points, PALETTE[len(series) % len(PALETTE)]))
    if not series:
        return None
    told = "; ".join(
        f"{line.label} " + ", ".join(f"{time:.2f} s with {workers:.0f}" for workers, time in line.points)
        for line in series
    )
    text = f"Each worker has a partition of every relation. The machine has {run.machine.cores} cores."
    figure = Figure(lines(series, "workers", "seconds"), f"{told}.")
    return Section("Time against workers", (Text(text), figure))


def threads(run: Run) -> Section | None:
    rows = []
    for workload in run.workloads:
        one, all_ = (run.measurement(workload.name, name) for name in (_ONE_THREAD, LOCAL))
        times = [each.median for each in (one, all_) if each is not None and each.is_usable and each.median]
        if len(times) == 2:
            alone, together = times
            rows.append((workload.name, seconds(alone), seconds(together), f"{alone / together:.2f} ×"))
    if not rows:
        return None
    text = "Emberlog in one process, in seconds, and how many times as long one thread takes."
    header = ("", "one thread", f"{run.threads} threads", "")
    return Section("Time against threads", (Text(text), Table(header, tuple(tuple(map(Cell, row)) for row in rows))))
