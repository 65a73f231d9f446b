"""Measures engines on workloads: set-up and loading apart, a first run that is checked, then interleaved runs."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import machine, results
from benchmarks.data.dataset import StoredDataset
from benchmarks.engines.catalogue import Entry
from benchmarks.engines.process import EngineProcess, EngineTrouble, Reply
from benchmarks.engines.protocol import Settings
from benchmarks.results import EngineRecord, Measurement, Run, WorkloadRecord
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.expected import expected
from benchmarks.workloads.workload import Workload

_STARTING = 180.0
_LOADING = 600.0
_RESETTING = 120.0


@dataclass(frozen=True, slots=True)
class Options:
    set_name: str
    settings: Settings
    repeat: int
    timeout: float
    fresh: bool
    """Each workload gets new processes, so that memory is its own."""
    papers_data: Path | None = None


class Runner:
    """`run` goes through all workloads; results are written after each, so that nothing is lost when it is stopped."""

    def __init__(self, entries: Iterable[Entry], options: Options, tell: Callable[[str], None]) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._options = options
        self._tell = tell
        self._processes: dict[str, EngineProcess] = {}
        self._loaded: dict[str, str] = {}
        """Which workload each living process has prepared."""
        self._given_up: dict[tuple[str, str, str], str] = {}
        self._records: dict[str, EngineRecord] = {}

    def run(self, workloads: Iterable[Workload], output: Path) -> Run:
        chosen = tuple(workloads)
        started = datetime.now(UTC).isoformat(timespec="seconds")
        options = self._options
        run = Run(
            started=started,
            set_name=options.set_name,
            threads=options.settings.threads,
            memory_gib=options.settings.memory_gib,
            repeat=options.repeat,
            timeout=options.timeout,
            machine=machine.this_machine(),
            engines=(),
            workloads=(),
            measurements=(),
        )
        with tempfile.TemporaryDirectory(prefix="emberlog-bench-") as logs:
            self._logs = Path(logs)
            try:
                for entry in self._entries.values():
                    self._records[entry.name] = self._describe(entry)
                for number, workload in enumerate(chosen, 1):
                    self._tell(f"[{number}/{len(chosen)}] {workload.name}: {workload.program.title}")
                    record, measurements = self._measure(workload)
                    run = replace(
                        run,
                        engines=tuple(self._records.values()),
                        workloads=(*run.workloads, record),
                        measurements=(*run.measurements, *measurements),
                    )
                    run.write(output)
            finally:
                for name in list(self._processes):
                    self._close(name)
        return run

    def _describe(self, entry: Entry) -> EngineRecord:
        engine = entry.create()
        record = EngineRecord(entry.name, engine.title, None, engine.installed_by, engine.timing)
        process = EngineProcess(entry, self._logs / f"{entry.name}.log")
        try:
            version = process.ask("describe", _STARTING).content["version"]
        except EngineTrouble as trouble:
            self._tell(f"    {entry.name} is left out: {trouble}")
            return replace(record, missing=str(trouble))
        finally:
            process.close()
        return replace(record, version=version)

    def _measure(self, workload: Workload) -> tuple[WorkloadRecord, tuple[Measurement, ...]]:
        options = self._options
        stored = workload.dataset.stored(options.papers_data)
        known = expected(workload.name, stored.origin)
        record = WorkloadRecord(
            name=workload.name,
            program=workload.program_name,
            title=workload.program.title,
            origin=workload.program.origin,
            dataset=workload.dataset_name,
            about=workload.dataset.about,
            data_origin=stored.origin,
            input_rows=workload.input_rows(stored),
            vertices=stored.rows.get("node"),
            expected=known,
        )
        present = [name for name, engine in self._records.items() if engine.missing is None]
        measured = {name: self._first(name, workload, stored) for name in present}
        for round_number in range(options.repeat):
            # Every round starts with another engine, so that none always runs in the wake of the same one.
            shift = round_number % max(1, len(present))
            for name in present[shift:] + present[:shift]:
                if measured[name].status == results.OK:
                    measured[name] = self._again(measured[name], workload, stored)
        judged = results.judged(known, tuple(measured.values()))
        for one in judged:
            self._tell(f"    {one.engine:22} {_in_words(one)}")
        if options.fresh:
            for name in list(self._processes):
                self._close(name)
        return record, judged

    def _first(self, name: str, workload: Workload, stored: StoredDataset) -> Measurement:
        """Loads the data, runs once and takes the answer."""
        refusal = self._entries[name].create().refusal(workload)
        if refusal is not None:
            return Measurement(workload.name, name, results.CANNOT, refusal)
        reason = self._given_up.get(_size_series(name, workload))
        if reason is not None:
            return Measurement(workload.name, name, results.SKIPPED, reason)
        measurement = Measurement(workload.name, name, results.OK)
        try:
            started, prepared = self._make_ready(name, workload, stored)
            measurement = replace(measurement, start_seconds=started, prepare_seconds=prepared)
            reply = self._timed(name, workload)
            measurement = _with_run(measurement, reply, is_first=True)
            checked = self._processes[name].ask("check", self._limit(workload) + _LOADING)
            return _with_answer(measurement, Answer(**checked.content["answer"]), int(reply.content["rows"]))
        except EngineTrouble as trouble:
            return self._troubled(measurement, workload, trouble)

    def _again(self, measurement: Measurement, workload: Workload, stored: StoredDataset) -> Measurement:
        name = measurement.engine
        try:
            self._make_ready(name, workload, stored)
            return _with_run(measurement, self._timed(name, workload), is_first=False)
        except EngineTrouble as trouble:
            return self._troubled(measurement, workload, trouble)

    def _timed(self, name: str, workload: Workload) -> Reply:
        self._processes[name].ask("reset", _RESETTING)
        return self._processes[name].ask("run", self._limit(workload))

    def _troubled(self, measurement: Measurement, workload: Workload, trouble: EngineTrouble) -> Measurement:
        if trouble.kind == results.TIMEOUT:
            reason = f"{workload.name} already took more than {self._limit(workload):,.0f} s"
            self._given_up[_size_series(measurement.engine, workload)] = reason
        return replace(measurement, status=trouble.kind, note=str(trouble), seconds=())

    def _limit(self, workload: Workload) -> float:
        return workload.timeout or self._options.timeout

    def _make_ready(self, name: str, workload: Workload, stored: StoredDataset) -> tuple[float | None, float | None]:
        """A living process with the workload's data in it; gives what starting and loading took, if needed."""
        self._make_room(name)
        started = prepared = None
        process = self._processes.get(name)
        if process is None or not process.alive:
            process = EngineProcess(self._entries[name], self._logs / f"{name}.log")
            self._processes[name] = process
            self._loaded.pop(name, None)
            settings = {
                "threads": self._options.settings.threads,
                "memory_gib": self._options.settings.memory_gib,
            }
            started = process.ask("start", _STARTING, settings=settings).seconds
        if self._loaded.get(name) != workload.name:
            inputs = {relation: str(path) for relation, path in workload.inputs(stored).items()}
            prepared = process.ask("prepare", _LOADING, workload=workload.name, inputs=inputs).seconds
            self._loaded[name] = workload.name
        return started, prepared

    def _make_room(self, name: str) -> None:
        """Ends idle engines, the largest first, until the next one can have the memory that it may use."""
        wanted = self._options.settings.memory_gib * 2**30
        idle = [other for other in self._processes if other != name and self._processes[other].alive]
        idle.sort(key=lambda other: self._processes[other].resident_bytes(), reverse=True)
        own = self._processes[name].resident_bytes() if name in self._processes else 0
        while idle and 0 < machine.memory_bytes("MemAvailable") + own < wanted:
            self._close(idle.pop(0))

    def _close(self, name: str) -> None:
        self._processes.pop(name).close()
        self._loaded.pop(name, None)


def _size_series(engine: str, workload: Workload) -> tuple[str, str, str]:
    """Workloads that differ in size only: grid50 and grid150, rmat1-100k and rmat1-1m."""
    family = re.sub(r"-?\d+[km]?$", "", workload.dataset_name)
    return engine, workload.program_name, family


def _with_run(measurement: Measurement, reply: Reply, is_first: bool) -> Measurement:
    metrics: Mapping[str, Any] = reply.content["metrics"]
    peak = max(measurement.peak_bytes or 0, reply.peak_bytes)
    updated = replace(measurement, metrics=dict(metrics), peak_bytes=peak)
    if is_first:
        return replace(updated, first_seconds=reply.seconds)
    assert measurement.answer is not None, "the first run comes first"
    timed = replace(updated, seconds=(*measurement.seconds, reply.seconds))
    return _with_answer(timed, measurement.answer, int(reply.content["rows"]))


def _with_answer(measurement: Measurement, answer: Answer, rows: int) -> Measurement:
    """`rows` is what the run itself counted, which must be what the checked answer has."""
    if rows == answer.rows:
        return replace(measurement, answer=answer)
    note = f"one run gave {answer.rows:,} facts, another {rows:,}"
    return replace(measurement, answer=answer, status=results.WRONG, note=note)


def _in_words(one: Measurement) -> str:
    if one.status == results.OK and one.answer is not None:
        time = f"{one.median:,.3f} s" if one.median is not None else f"{one.first_seconds or 0:,.3f} s (first run only)"
        return f"{time:>12}   {one.answer.rows:,} facts"
    return f"{one.status}: {one.note.splitlines()[0] if one.note else ''}"
