"""Leaves every pass out of the workloads, and out of the cases that are made for it, and keeps what that costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.ablation.measure import Patience, ablations
from benchmarks.ablation.record import IN_PROCESS, ON_SPARK, Ablation
from benchmarks.ablation.subjects import subjects
from benchmarks.ablation.trial import Subject
from benchmarks.engines.protocol import Settings
from benchmarks.engines.spark_session import ShuffleMeter, answer_of, open_session
from benchmarks.pass_cases import CASES, PassCase
from benchmarks.results import Run
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.workload import Workload
from emberlog.database import Database
from emberlog.optimize.pipeline import PASS_NAMES
from emberlog.result import Result

CASE_SIZES = {"small": 1.0, "tiny": 0.01}


@dataclass(frozen=True, slots=True)
class AblationOptions:
    size: str
    parts: tuple[str, ...]
    """Passes; all of them if there are none."""
    settings: Settings
    patience: Patience


def ablate(options: AblationOptions, output: Path, tell: Callable[[str], None]) -> Run:
    """Results are written after each program, so that nothing is lost when it is stopped."""
    run = Run(
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        set_name="ablation",
        threads=options.settings.threads,
        memory_gib=options.settings.memory_gib,
        repeat=options.patience.repeat,
        timeout=options.patience.timeout,
        machine=machine.this_machine(),
        engines=(),
        workloads=(),
        measurements=(),
    )
    parts = options.parts or PASS_NAMES
    for found in _found(options, parts, tell):
        run = replace(run, ablations=(*run.ablations, *found))
        run.write(output)
    return run


def _found(
    options: AblationOptions, parts: tuple[str, ...], tell: Callable[[str], None]
) -> Iterator[tuple[Ablation, ...]]:
    for case in CASES:
        if case.without in parts:
            tell(f"{case.without}: {case.title}")
            with _case(case, CASE_SIZES[options.size]) as subject:
                yield ablations(subject, (case.without,), options.patience, tell)
    spark = open_session(options.settings)
    try:
        for workload in subjects(options.size):
            tell(f"{workload.name}: {workload.program.title}")
            yield ablations(_workload(workload, Database(spark)), parts, options.patience, tell)
    finally:
        spark.stop()


@contextmanager
def _case(case: PassCase, size: float) -> Iterator[Subject[frozenset[tuple[object, ...]]]]:
    def facts(result: Result[Any]) -> frozenset[tuple[object, ...]]:
        return frozenset((name, *fact) for name, relation in result.items() for fact in relation.facts)

    with Database(engine="local") as database:
        for name, rows in case.data(size).items():
            database[name] = rows
        yield Subject(
            case.title,
            IN_PROCESS,
            database,
            case.program,
            lambda _result: None,
            facts,
            lambda one, other: one == other,
            case.params,
        )


def _workload(workload: Workload, database: Database[Any]) -> Subject[Answer]:
    text, output = workload.program.text("emberlog.dl"), workload.program.output
    assert text is not None
    for relation, path in workload.inputs(workload.dataset.stored()).items():
        database[relation] = str(path)

    def count(result: Result[Any]) -> None:
        result[output].count()

    return Subject(
        workload.name,
        ON_SPARK,
        database,
        text,
        count,
        lambda result: answer_of(result[output], workload.program.columns),
        Answer.agrees_with,
        dict(workload.parameters),
        lambda: ShuffleMeter(database.spark).bytes,
    )
