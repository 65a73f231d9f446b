"""A recursion whose length is known, tried on a session: how it ended, what was told, how long it took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from emberlog.config import Execution, Limits
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.launcher import Launcher
from emberlog.events import Event, ExecutorChosen, IterationFinished, RecursionRetried
from tests.cluster.strikes import Strike

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Z) :- tc(X, Y), arc(Y, Z).\n"


@dataclass
class Trial:
    """Holds what became of one run."""

    seconds: float = 0.0
    error: str = ""
    """What a person would read, if it ended with an error."""
    right: bool = False
    events: list[Event] = field(default_factory=list)

    @property
    def retries(self) -> list[RecursionRetried]:
        return [event for event in self.events if isinstance(event, RecursionRetried)]

    @property
    def chosen(self) -> list[ExecutorChosen]:
        return [event for event in self.events if isinstance(event, ExecutorChosen)]

    @property
    def iterations(self) -> list[IterationFinished]:
        return [event for event in self.events if isinstance(event, IterationFinished)]

    @property
    def outcome(self) -> str:
        """Returns how it ended, in the words of the table."""
        if self.right:
            last = self.chosen[-1]
            return "right" if last.executor == "cyclic" else f"right, on the dataframe executor: {last.why}"
        return self.error.splitlines()[0] if self.error else "wrong answer"


@dataclass
class Ledger:
    """Collects what became of each fault, a row for each."""

    rows: list[tuple[str, str, str, str]] = field(default_factory=list)

    def add(self, what: str, trial: Trial) -> None:
        retries = "; ".join(f"{one.reason}; on from round {one.since:,}" for one in trial.retries)
        self.rows.append((what, trial.outcome, f"{trial.seconds:.0f}", retries or "none"))

    def write(self, path: Path) -> None:
        """Puts the rows into the table of a page, in the place of those that it has."""
        head = "| what happens | outcome | seconds | retries told |\n| --- | --- | --- | --- |\n"
        before, found, rest = path.read_text(encoding="utf-8").partition(head)
        after = rest.partition("\n\n")[2]
        rows = "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in self.rows)
        assert found, f"{path} has no such table"
        path.write_text(f"{before}{head}{rows}\n{after}", encoding="utf-8")


def chain_closure(
    spark: SparkSession,
    length: int,
    execution: Execution,
    *,
    strike: Strike | None = None,
    timeout: float | None = None,
    inputs: str | None = None,
) -> Trial:
    """Computes the closure of a chain, in as many rounds as it has arcs, and checks every fact of it."""
    trial = Trial()
    Launcher.injector = strike
    began = time.monotonic()
    try:
        with Database(spark) as database:
            database["arc"] = inputs or [(number, number + 1) for number in range(length)]
            limits = Limits(timeout=timeout)
            with database.datalog(TC, execution=execution, listener=trial.events.append, limits=limits) as result:
                facts = result["tc"].toDF("x", "y")
                ordered = F.sum((F.col("x") < F.col("y")).cast("int"))
                row = facts.agg(F.count("*"), F.countDistinct("x", "y"), ordered, F.min("x"), F.max("y")).first()
                expected = length * (length + 1) // 2
                trial.right = row is not None and tuple(row) == (expected, expected, expected, 0, length)
    except EmberlogError as error:
        trial.error = str(error)
    finally:
        Launcher.injector = None
        trial.seconds = time.monotonic() - began
    return trial
