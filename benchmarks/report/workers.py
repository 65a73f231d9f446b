"""How time changes with the number of workers: one line for each workload that was measured with several."""

from __future__ import annotations

from benchmarks.report.choices import WHOLE
from benchmarks.report.colours import PALETTE
from benchmarks.report.document import Figure, Section, Text
from benchmarks.report.svg import Line, lines
from benchmarks.results import Run

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
        f"{line.label} " + ", ".join(f"{seconds:.2f} s with {workers:.0f}" for workers, seconds in line.points)
        for line in series
    )
    text = f"Each worker has a partition of every relation. The machine has {run.machine.cores} cores."
    figure = Figure(lines(series, "workers", "seconds"), f"{told}.")
    return Section("Time against workers", (Text(text), figure))
