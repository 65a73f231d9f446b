"""The raw results of a run: what is written as JSON, and read back by reports and comparisons."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.ablation.record import Ablation, from_json
from benchmarks.machine import Machine
from benchmarks.workloads.answer import Answer

FILE = "results.json"

ANEW = "-anew"
"""`emberlog-local-anew` is that engine with a database of its own for each run, so that nothing is kept."""

OK = "ok"
WRONG = "WRONG"
DISAGREES = "disagrees"
"""Engines gave different answers, and nobody knows the right one."""
TIMEOUT = "timeout"
FAILED = "failed"
CRASHED = "crashed"
CANNOT = "cannot"
SKIPPED = "skipped"
"""Not tried, because a smaller size already took too long."""

RAN = (OK, WRONG, DISAGREES)


@dataclass(frozen=True, slots=True)
class EngineRecord:
    name: str
    title: str
    version: str | None
    installed_by: str
    timing: str
    missing: str | None = None
    """Why it could not be used at all."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One engine on one workload."""

    workload: str
    engine: str
    status: str
    note: str = ""
    start_seconds: float | None = None
    prepare_seconds: float | None = None
    first_seconds: float | None = None
    """The first run, apart from the others: it warms up and is the one whose answer is checked."""
    seconds: tuple[float, ...] = ()
    peak_bytes: int | None = None
    """The largest resident set of all the engine's processes while it ran."""
    answer: Answer | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def median(self) -> float | None:
        return median(self.seconds) if self.seconds else None

    @property
    def is_usable(self) -> bool:
        """Finished with a right answer: its time means something."""
        return self.status == OK and bool(self.seconds)


@dataclass(frozen=True, slots=True)
class WorkloadRecord:
    name: str
    program: str
    title: str
    origin: str
    dataset: str
    about: str
    data_origin: str
    """`paper` for the papers' own file, or `generated`."""
    input_rows: int
    vertices: int | None
    expected: Answer | None


@dataclass(frozen=True, slots=True)
class Run:
    started: str
    set_name: str
    threads: int
    memory_gib: float
    repeat: int
    timeout: float
    machine: Machine
    engines: tuple[EngineRecord, ...]
    workloads: tuple[WorkloadRecord, ...]
    measurements: tuple[Measurement, ...]
    ablations: tuple[Ablation, ...] = ()
    """What `python -m benchmarks ablate` found."""

    def measurement(self, workload: str, engine: str) -> Measurement | None:
        for one in self.measurements:
            if one.workload == workload and one.engine == engine:
                return one
        return None

    def with_loading(self, one: Measurement) -> float | None:
        """Returns the seconds of a run with its loading. A run that has what those before it kept tells less than
        that: where the same engine was measured without it, that one counts."""
        anew = self.measurement(one.workload, f"{one.engine}{ANEW}")
        whole = anew if anew is not None and anew.is_usable else one
        if whole.median is None or whole.prepare_seconds is None:
            return None
        return whole.median + whole.prepare_seconds

    def of_workload(self, workload: str) -> tuple[Measurement, ...]:
        return tuple(one for one in self.measurements if one.workload == workload)

    def write(self, folder: Path) -> Path:
        """Whole or not at all, so that a run can be looked at while it goes on."""
        folder.mkdir(parents=True, exist_ok=True)
        scratch = folder / f"{FILE}.part"
        scratch.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False), encoding="utf-8")
        return scratch.replace(folder / FILE)


def read(folder: Path) -> Run:
    path = folder / FILE if folder.is_dir() else folder
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return Run(
        **{
            **content,
            "machine": Machine(**content["machine"]),
            "engines": tuple(EngineRecord(**engine) for engine in content["engines"]),
            "workloads": tuple(
                WorkloadRecord(**{**workload, "expected": _answer(workload["expected"])})
                for workload in content["workloads"]
            ),
            "measurements": tuple(
                Measurement(**{**one, "seconds": tuple(one["seconds"]), "answer": _answer(one["answer"])})
                for one in content["measurements"]
            ),
            "ablations": tuple(map(from_json, content.get("ablations", ()))),
        }
    )


def merged(runs: Sequence[Run]) -> Run:
    """Several runs of one machine as one: where two measured the same thing, the later one counts."""
    first = runs[0]
    commits = dict.fromkeys(run.machine.commit for run in runs if run.machine.commit)
    engines = {engine.name: engine for run in runs for engine in run.engines}
    workloads = {workload.name: workload for run in runs for workload in run.workloads}
    measurements = {(one.workload, one.engine): one for run in runs for one in run.measurements}
    ablations = {(one.part, one.subject): one for run in runs for one in run.ablations}
    return replace(
        first,
        set_name=" + ".join(dict.fromkeys(run.set_name for run in runs)),
        machine=replace(first.machine, commit=", ".join(commits)),
        engines=tuple(engines.values()),
        workloads=tuple(workloads.values()),
        measurements=tuple(measurements.values()),
        ablations=tuple(ablations.values()),
    )


def _answer(content: dict[str, Any] | None) -> Answer | None:
    return Answer(**content) if content is not None else None


def judged(expected: Answer | None, measurements: tuple[Measurement, ...]) -> tuple[Measurement, ...]:
    """Marks wrong answers. Without a known answer, engines that do not all agree are all marked."""
    answered = [one for one in measurements if one.status == OK and one.answer is not None]
    if expected is not None:
        return tuple(
            replace(one, status=WRONG, note=_difference(one.answer, expected))
            if one in answered and one.answer is not None and not one.answer.agrees_with(expected)
            else one
            for one in measurements
        )
    answers = [one.answer for one in answered if one.answer is not None]
    if all(answer.agrees_with(answers[0]) for answer in answers):
        return measurements
    return tuple(
        replace(one, status=DISAGREES, note="the engines disagree, and the right answer is not recorded")
        if one in answered
        else one
        for one in measurements
    )


def _difference(found: Answer, expected: Answer) -> str:
    if found.rows != expected.rows:
        return f"{found.rows:,} facts instead of {expected.rows:,}"
    return f"{found.rows:,} facts, as many as expected, but not the same ones"
