"""What Emberlog's own choices gain: as many workers as cores, the representation of facts, the executor."""

from __future__ import annotations

from benchmarks.report.document import Cell, Section, Table, Text
from benchmarks.results import Run

WHOLE = "emberlog"
OTHERS = {
    "emberlog-1-worker": "one worker",
    "emberlog-4-workers": "four workers",
    "emberlog-hash": "facts hashed",
    "emberlog-bsp-hash": "facts hashed, an exchange in every round",
    "emberlog-dataframe": "a series of jobs",
}


def section(run: Run) -> Section | None:
    present = [name for name in OTHERS if any(one.engine == name for one in run.measurements)]
    rows = []
    for workload in run.workloads:
        whole = run.measurement(workload.name, WHOLE)
        if whole is None or not whole.is_usable or not whole.median:
            continue
        cells = [_gain(run, workload.name, name, whole.median) for name in present]
        if any(cells):
            rows.append((Cell(workload.name), Cell(f"{whole.median:.2f}"), *map(Cell, cells)))
    if not rows:
        return None
    text = (
        "Emberlog as it is, in seconds, and how many times as long it takes when a choice is made for it. "
        "Below 1 × the choice it made was not the best one."
    )
    header = ("", WHOLE, *(OTHERS[name] for name in present))
    return Section("Emberlog against itself", (Text(text), Table(header, tuple(rows))))


def _gain(run: Run, workload: str, engine: str, seconds: float) -> str:
    one = run.measurement(workload, engine)
    if one is None:
        return ""
    if not one.is_usable or not one.median:
        return one.status
    return f"{one.median / seconds:.2f} ×"
