"""Opens the database that a command asks, on either engine, and reads from its results what is shown of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from emberlog.cli.described_inputs import register_described
from emberlog.cli.parameters import given_text_options, refuse_spark_options
from emberlog.database import Database
from emberlog.io.paths import is_text
from emberlog.logical.nodes import Fixpoint
from emberlog.render.answer_text import Answer, answer_of
from emberlog.semantics.model import CellValue, Fact

if TYPE_CHECKING:
    from emberlog.cli.running import Task
    from emberlog.progress.live_line import LiveLine
    from emberlog.result import Result


@contextmanager
def open_database(arguments: argparse.Namespace, *, progress: bool = False) -> Iterator[Database[Any]]:
    """Opens a database on the engine that the options say, and closes it in the end. Commands that have a line of their
    own need no progress of the database."""
    refuse_spark_options(arguments)
    if arguments.engine == "local":
        with Database(engine="local", progress=progress) as local:
            yield local
        return
    from emberlog.cli.terminal import silence_py4j
    from emberlog.engines.spark.failures import told_as_such

    silence_py4j()
    with told_as_such(), Database(master=arguments.master, conf=dict(arguments.conf), progress=progress) as database:
        yield database


def register_inputs(database: Database[Any], task: Task, arguments: argparse.Namespace) -> None:
    """Registers the files of all inputs."""
    for name in task.inputs:
        register_input(database, task, name, arguments)


def register_input(database: Database[Any], task: Task, name: str, arguments: argparse.Namespace) -> None:
    """Registers the files of an input, as the program describes them if it does. What the options say of text files is
    only for the other inputs, as far as they are of text."""
    path, described = task.inputs[name], task.named.get(name)
    if described is not None:
        register_described(database, described, path, task.checked.relations[name])
    else:
        database.register(name, path, **(given_text_options(arguments) if is_text(path) else {}))


def read_answers(
    result: Result[Any], show: int, line: LiveLine | None = None, *, origins: bool = False
) -> list[Answer]:
    """Returns how many facts each answer has, and the first of them in order, with their origins if these were
    recorded."""
    answers = []
    with _coded_errors(result):
        for name in result:
            if line is not None:
                line.begin(f"  {name}")
            here = result._at_hand(name)
            frame = result[name] if here is None else here
            first = _first(frame, show) if here is None else here.first(show)
            answers.append(answer_of(result.explained.checked, name, first, frame.count()))
    return [_with_origins(answer, result) for answer in answers] if origins else answers


def _with_origins(answer: Answer, result: Result[Any]) -> Answer:
    found = (result.origin(answer.relation, fact) for fact in answer.first)
    return replace(answer, origins=tuple((origin.when, origin.by) for origin in found))


@contextmanager
def computed_once(result: Result[Any]) -> Iterator[None]:
    """While this is entered, an answer that is a Spark query is computed once, by whoever reads it first."""
    strata = result.plan.strata
    held = {name for stratum in strata if isinstance(stratum.root, Fixpoint) for name in stratum.relations}
    frames = [result[name].persist() for name in result if name not in held and result._at_hand(name) is None]
    try:
        yield
    finally:
        for frame in frames:
            frame.unpersist()


def _coded_errors(result: Result[Any]) -> Any:
    if all(result._at_hand(name) is not None for name in result):
        return nullcontext()
    from emberlog.engines.spark.frames.faults import coded_errors

    return coded_errors(result.explained.places)


def _first(frame: Any, show: int) -> Sequence[Fact]:
    # Moments as Python knows them depend on the time zone of the machine.
    names = [(f"`{column.replace('`', '``')}`", kind) for column, kind in frame.dtypes]
    plain = frame.selectExpr(*(f"unix_micros({n})" if kind == "timestamp" else n for n, kind in names))
    rows = plain.orderBy(*range(1, len(plain.columns) + 1)).limit(show).collect() if show else []
    return [tuple(_cell(value) for value in row) for row in rows]


def _cell(value: object) -> CellValue:
    match value:
        case list() | tuple():  # a row of Spark is a tuple
            return tuple(_cell(part) for part in value)
        case datetime():
            return round(value.timestamp() * 1_000_000)
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)
