"""How time grows with size: one plot for each program and kind of data that was measured at several sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from benchmarks.engines.catalogue import WITHOUT
from benchmarks.report.colours import colour_of
from benchmarks.report.document import Block, Figure, Section, Text
from benchmarks.report.svg import Line, lines
from benchmarks.results import Run, WorkloadRecord


def section(run: Run) -> Section | None:
    blocks: list[Block] = []
    for (_, family), workloads in _series(run.workloads).items():
        series = []
        for engine in (engine for engine in run.engines if WITHOUT not in engine.name):
            points = []
            for workload in workloads:
                one = run.measurement(workload.name, engine.name)
                if one is not None and one.is_usable and one.median:
                    points.append((float(workload.input_rows), one.median))
            if len(points) > 1:
                series.append(Line(engine.name, points, colour_of(engine.name)))
        if series:
            about = re.sub(r"with [\d,]+ vertices, ", "", workloads[0].about)
            caption = f"{workloads[0].title} on {family}: {about}; {_growth(series)}"
            blocks.append(Figure(lines(series, "rows in", "seconds"), caption))
    if not blocks:
        return None
    text = "Both axes are logarithmic: a line that rises as fast as it goes right is linear in the size of the input."
    return Section("Time against size", (Text(text), *blocks))


def _series(workloads: Iterable[WorkloadRecord]) -> dict[tuple[str, str], list[WorkloadRecord]]:
    """Workloads that differ in size only, smallest first; those with one size are left out."""
    found: dict[tuple[str, str], list[WorkloadRecord]] = {}
    for workload in workloads:
        family = re.sub(r"-?\d+[km]?$", "", workload.dataset)
        found.setdefault((workload.program, family), []).append(workload)
    return {
        key: sorted(members, key=lambda workload: workload.input_rows)
        for key, members in found.items()
        if len(members) > 1
    }


def _growth(series: list[Line]) -> str:
    """How much longer the largest size takes than the smallest, for as far as each engine came."""
    said: dict[str, list[str]] = {}
    for line in series:
        (first_x, first_y), (last_x, last_y) = line.points[0], line.points[-1]
        said.setdefault(f"{last_x / first_x:.3g} ×", []).append(f"{line.label} {last_y / first_y:.2g} ×")
    return "; ".join(f"time for {rows} the rows: {', '.join(engines)}" for rows, engines in said.items()) + "."
