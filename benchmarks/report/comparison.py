"""What changed between two runs, workload by workload."""

from __future__ import annotations

from benchmarks.report.numbers import seconds
from benchmarks.results import Measurement, Run

NOTABLE = 1.1
"""Smaller changes than this are called the same: runs of the same thing differ that much."""


def compare(before: Run, after: Run) -> str:
    lines = [f"before: {_about(before)}", f"after:  {_about(after)}", ""]
    faster = slower = same = 0
    for one in after.measurements:
        other = before.measurement(one.workload, one.engine)
        if other is None:
            continue
        name = f"{one.workload:35} {one.engine:22}"
        if one.median is not None and other.median is not None and one.is_usable and other.is_usable:
            ratio = other.median / one.median
            faster, slower = faster + (ratio >= NOTABLE), slower + (ratio <= 1 / NOTABLE)
            same += 1 / NOTABLE < ratio < NOTABLE
            verdict = (
                f"{ratio:.2f} × faster"
                if ratio >= NOTABLE
                else f"{1 / ratio:.2f} × slower"
                if ratio <= 1 / NOTABLE
                else "same"
            )
            lines.append(
                f"{name} {seconds(other.median):>9} s → {seconds(one.median):>9} s   {verdict}{_memory(other, one)}"
            )
        elif one.status != other.status:
            lines.append(f"{name} {other.status} → {one.status}")
    lines += ["", f"{faster} faster, {slower} slower, {same} the same (within {NOTABLE - 1:.0%})"]
    return "\n".join(lines)


def _memory(before: Measurement, after: Measurement) -> str:
    if not before.peak_bytes or not after.peak_bytes:
        return ""
    ratio = after.peak_bytes / before.peak_bytes
    return f", {ratio:.2f} × the memory" if ratio >= NOTABLE or ratio <= 1 / NOTABLE else ""


def _about(run: Run) -> str:
    return (
        f"{run.started}, commit {run.machine.commit or 'unknown'}, {run.machine.processor}, {run.machine.cores} cores"
    )
