"""One run of a program without some pass, on whatever database, with its answer and with what it cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from benchmarks.ablation.record import Costs
from emberlog.config import Execution, Limits
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.events import Event, RulesProfiled, StratumFinished
from emberlog.result import Result
from emberlog.syntax.ast import Value

AnswerType = TypeVar("AnswerType")

OUT_OF_TIME = "DL512"


@dataclass(frozen=True, slots=True)
class Subject(Generic[AnswerType]):
    """A program and its data, ready to be run."""

    name: str
    where: str
    database: Database[Any]
    text: str
    complete: Callable[[Result[Any]], None]
    """What is left to do until all facts are there: on Spark, a count."""
    answer: Callable[[Result[Any]], AnswerType]
    agree: Callable[[AnswerType, AnswerType], bool]
    parameters: Mapping[str, Value] = field(default_factory=dict)
    meter: Callable[[], Callable[[], int]] = lambda: lambda: 0
    """Begins to count the bytes that are exchanged by others than the workers; gives what tells their number."""


@dataclass(frozen=True, slots=True)
class Trial(Generic[AnswerType]):
    costs: Costs
    answer: AnswerType | None
    """None where there was none in time, or where nobody asked for it."""


def first_run(subject: Subject[AnswerType], off: tuple[str, ...], timeout: float) -> Trial[AnswerType]:
    """Warms up, counts rows, and gives the answer."""
    return _run(subject, off, timeout, subject.answer, Execution(profile=True, representation="hash"))


def timed_run(subject: Subject[AnswerType], off: tuple[str, ...], timeout: float) -> Costs:
    return _run(subject, off, timeout, lambda _result: None, Execution()).costs


def _run(
    subject: Subject[AnswerType],
    off: tuple[str, ...],
    timeout: float,
    answer_of: Callable[[Result[Any]], AnswerType | None],
    execution: Execution,
) -> Trial[AnswerType]:
    heard, shuffled = _Heard(), subject.meter()
    answer = None
    since = time.perf_counter()
    try:
        with subject.database.datalog(
            subject.text,
            params=subject.parameters,
            off=off,
            limits=Limits(timeout=timeout),
            listener=heard,
            execution=execution,
        ) as result:
            subject.complete(result)
            seconds, others = time.perf_counter() - since, shuffled()
            answer = answer_of(result)
    except EmberlogError as error:
        if all(diagnostic.code != OUT_OF_TIME for diagnostic in error.diagnostics):
            raise
        seconds, others = time.perf_counter() - since, shuffled()
    return Trial(Costs((seconds,), heard.rows, heard.bytes + others, heard.rounds), answer)


class _Heard:
    def __init__(self) -> None:
        self.rounds = self.bytes = 0
        self.rows: int | None = None

    def __call__(self, event: Event, /) -> None:
        if isinstance(event, StratumFinished):
            self.rounds += event.iterations
            self.bytes += event.bytes_sent
        if isinstance(event, RulesProfiled):
            self.rows = (self.rows or 0) + sum(one.derived or 0 for one in event.rounds)
