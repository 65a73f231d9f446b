"""Takes from the results of a run what is shown of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from emberlog.cli.answers import Answer, answer_of
from emberlog.engines.spark.frames.faults import coded_errors
from emberlog.logical.nodes import Fixpoint
from emberlog.semantics.model import CellValue

if TYPE_CHECKING:
    from emberlog.cli.live_line import LiveLine
    from emberlog.result import Result


@contextmanager
def computed_once(result: Result) -> Iterator[None]:
    """While this is entered, an answer that is a Spark query is computed once, by whoever reads it first."""
    strata = result.plan.strata
    held = {name for stratum in strata if isinstance(stratum.root, Fixpoint) for name in stratum.relations}
    frames = [frame.persist() for name, frame in result.items() if name not in held]
    try:
        yield
    finally:
        for frame in frames:
            frame.unpersist()


def read_answers(result: Result, show: int, line: LiveLine | None = None) -> list[Answer]:
    """The number of facts of each answer, and the first of them in order."""
    answers = []
    with coded_errors(result.explained.places):
        for name, frame in result.items():
            if line is not None:
                line.begin(f"  {name}")
            total = frame.count()
            # Moments as Python knows them depend on the time zone of the machine.
            names = [(f"`{column.replace('`', '``')}`", kind) for column, kind in frame.dtypes]
            plain = frame.selectExpr(*(f"unix_micros({n})" if kind == "timestamp" else n for n, kind in names))
            rows = plain.orderBy(*range(1, len(plain.columns) + 1)).limit(show).collect() if show else []
            facts = [tuple(_cell(value) for value in row) for row in rows]
            answers.append(answer_of(result.explained.checked, name, facts, total))
    return answers


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
