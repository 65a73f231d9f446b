"""What recording iterations costs: the same engine with and without provenance, on the same workload."""

from __future__ import annotations

from benchmarks.report.document import Cell, Section, Table, Text
from benchmarks.report.numbers import seconds
from benchmarks.results import Run

RECORDING = {"emberlog": "emberlog-provenance", "emberlog-local": "emberlog-local-provenance"}


def section(run: Run) -> Section | None:
    titles = {engine.name: engine.title for engine in run.engines}
    rows = []
    for workload in run.workloads:
        for plain, recording in RECORDING.items():
            one, other = run.measurement(workload.name, plain), run.measurement(workload.name, recording)
            if one is None or other is None or not one.is_usable or not other.is_usable:
                continue
            assert one.median is not None and other.median is not None
            texts = (
                workload.name,
                titles[plain],
                seconds(one.median),
                seconds(other.median),
                _times(one.median, other.median),
                _megabytes(one.peak_bytes),
                _megabytes(other.peak_bytes),
                _times(one.peak_bytes, other.peak_bytes),
            )
            rows.append(tuple(Cell(text) for text in texts))
    if not rows:
        return None
    text = "Medians of seconds, and the largest memory of all processes. Without provenance nothing is recorded."
    header = ("", "engine", "s without", "s with", "", "MB without", "MB with", "")
    return Section("Recording provenance", (Text(text), Table(header, tuple(rows))))


def _megabytes(count: int | None) -> str:
    return "–" if count is None else f"{count / 1e6:,.0f}"


def _times(plain: float | None, recording: float | None) -> str:
    return f"{recording / plain:.2f} ×" if plain and recording else "–"
