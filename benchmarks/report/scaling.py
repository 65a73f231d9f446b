"""How time grows with size: one plot for each program and kind of data that was measured at several sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from benchmarks.engines.catalogue import WITHOUT
from benchmarks.report.colours import colour_of
from benchmarks.report.document import Figure, Section, Text
from benchmarks.report.svg import Line, lines
from benchmarks.results import Run, WorkloadRecord


def sizes(run: Run) -> Section | None:
    figures = [
        figure
        for (_, family), workloads in _series(run.workloads).items()
        if not _is_about_iterations(run, workloads)
        and (figure := _figure(run, family, workloads, "rows in", [float(one.input_rows) for one in workloads]))
    ]
    text = "Both axes are logarithmic: a line that rises as fast as it goes right is linear in the size of the input."
    return Section("Time against size", (Text(text), *figures)) if figures else None


def iterations(run: Run) -> Section | None:
    """Chains and the like, where a larger input means as many more rounds and nothing else."""
    figures = []
    for (_, family), workloads in _series(run.workloads).items():
        if _is_about_iterations(run, workloads):
            rounds = [max(1.0, _iterations(run, one) or 0.0) for one in workloads]
            figures.append(_figure(run, family, workloads, "iterations", rounds))
    drawn = [figure for figure in figures if figure is not None]
    text = "Inputs in which every iteration finds next to nothing: what is measured is the cost of an iteration."
    return Section("Time against iterations", (Text(text), *drawn)) if drawn else None


def _figure(
    run: Run, family: str, workloads: Sequence[WorkloadRecord], axis: str, at: Sequence[float]
) -> Figure | None:
    series = []
    for engine in (engine for engine in run.engines if WITHOUT not in engine.name):
        points = []
        for workload, x in zip(workloads, at, strict=True):
            one = run.measurement(workload.name, engine.name)
            if one is not None and one.is_usable and one.median:
                points.append((x, one.median))
        if len(points) > 1:
            series.append(Line(engine.name, points, colour_of(engine.name)))
    if not series:
        return None
    about = re.sub(r"with [\d,]+ vertices, ", "", workloads[0].about)
    title = f"{workloads[0].title} on {family}: {about}; {_growth(series, axis)}"
    return Figure(lines(series, axis, "seconds"), title)


def _is_about_iterations(run: Run, workloads: Sequence[WorkloadRecord]) -> bool:
    first, last = _iterations(run, workloads[0]), _iterations(run, workloads[-1])
    if not first or not last:
        return False
    return last / first > 0.5 * workloads[-1].input_rows / workloads[0].input_rows


def _iterations(run: Run, workload: WorkloadRecord) -> float | None:
    return next(
        (one.metrics["iterations"] for one in run.of_workload(workload.name) if "iterations" in one.metrics), None
    )


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


def _growth(series: list[Line], axis: str) -> str:
    """How much longer the largest takes than the smallest, for as far as each engine came."""
    said: dict[str, list[str]] = {}
    for line in series:
        (first_x, first_y), (last_x, last_y) = line.points[0], line.points[-1]
        said.setdefault(f"{last_x / first_x:.3g} ×", []).append(f"{line.label} {last_y / first_y:.2g} ×")
    return "; ".join(f"time for {times} the {axis}: {', '.join(engines)}" for times, engines in said.items()) + "."
