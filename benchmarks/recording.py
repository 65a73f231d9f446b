"""Turns the answers of a run into expected answers, where engines that share no code agree."""

from __future__ import annotations

from benchmarks import results
from benchmarks.results import Measurement, Run
from benchmarks.workloads import expected

_FAMILIES = ("emberlog", "spark", "graphx", "flink", "duckdb", "nemo", "clingo", "souffle")
"""Engines whose names start alike share code, and their agreement proves little."""


def record_agreed_answers(run: Run) -> list[str]:
    """Records what is not known yet; gives a line for each workload that it looked at."""
    said = []
    for workload in run.workloads:
        measurements = [one for one in run.of_workload(workload.name) if one.answer is not None]
        if workload.expected is not None or not measurements:
            continue
        if any(one.status != results.OK for one in measurements):
            said.append(f"{workload.name}: the engines disagree")
        elif len(_families(measurements)) < 2:
            said.append(f"{workload.name}: only {measurements[0].engine} answered, which is not enough")
        else:
            # The most complete answer: an engine may know no checksum.
            best = max(measurements, key=lambda one: one.answer is not None and one.answer.checksum is not None)
            assert best.answer is not None
            names = sorted(one.engine for one in measurements)
            expected.record(workload.name, workload.data_origin, best.answer, names)
            said.append(f"{workload.name}: {best.answer.rows:,} facts, by {', '.join(names)}")
    return said


def _families(measurements: list[Measurement]) -> set[str]:
    return {family for one in measurements for family in _FAMILIES if one.engine.startswith(family)}
