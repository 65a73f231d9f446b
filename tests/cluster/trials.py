"""A recursion whose length is known, tried on a session: how it ended, what was told, how long it took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from emberlog.config import Execution, Limits
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.launcher import Launcher
from emberlog.events import Event, ExecutorChosen, IterationFinished, RecursionRetried
from tests.cluster.strikes import Strike

TC = "tc(X, Y) :- arc(X, Y){only}.\ntc(X, Z) :- tc(X, Y), arc(Y, Z).\n"


@dataclass
class Trial:
    """Holds what became of one run."""

    seconds: float = 0.0
    """Until its results can be read; to read and check them is the affair of the test."""
    error: str = ""
    """What a person would read, if it ended with an error."""
    right: bool = False
    events: list[Event] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """When each event came."""
    began: float = field(default_factory=time.time)
    struck: float | None = None
    """When something was broken, if so."""

    def hear(self, event: Event) -> None:
        self.events.append(event)
        self.times.append(time.time())

    @property
    def after_strike(self) -> float | None:
        """Returns the seconds from when something was broken to the end."""
        return None if self.struck is None else self.began + self.seconds - self.struck

    @property
    def phases(self) -> str:
        """Tells where these seconds went: until the loss was told, the next attempt came to a round, and the end."""
        if self.struck is None or not self.retries:
            return ""
        told = next(place for place, event in enumerate(self.events) if isinstance(event, RecursionRetried))
        rounds = [place for place, event in enumerate(self.events) if isinstance(event, IterationFinished)]
        again = next((place for place in rounds if place > told), told)
        last = max(rounds[-1], again)
        ends = [self.struck, self.times[told], self.times[again], self.times[last], self.began + self.seconds]
        spent = [f"{end - begin:.1f}" for begin, end in pairwise(ends)]
        until, to_round, rounds_again, writing = spent
        return f"{until} until it was told, {to_round} to the next round, {rounds_again} of rounds, {writing} to write"

    def heard(self, kind: type[Event]) -> list[tuple[float, Event]]:
        """Returns the events of a kind, each with when it came."""
        return [(at, event) for at, event in zip(self.times, self.events, strict=True) if isinstance(event, kind)]

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
            if not self.chosen:  # a command whose output says so
                return "right"
            last = self.chosen[-1]
            return "right" if last.executor == "cyclic" else f"right, on the dataframe executor: {last.why}"
        return self.error.splitlines()[0] if self.error else "wrong answer"


@dataclass
class Ledger:
    """Collects what became of each fault, a row for each."""

    rows: list[tuple[str, ...]] = field(default_factory=list)
    page: Path | None = None
    """Whose table has them, too, each as soon as it is known."""

    def add(self, what: str, trial: Trial, fresh: Trial | None = None, says: str = "") -> None:
        """`fresh` is the same run without the fault, if there was one; what it `says` stands beside the outcome."""
        retries = "; ".join(f"{one.reason}; on from round {one.since:,}" for one in trial.retries)
        after = "" if trial.after_strike is None else f"{trial.after_strike:.1f}"
        if fresh is not None and trial.after_strike is not None:
            after += f" ({trial.after_strike / fresh.seconds:.0%} of a run without it)"
        if trial.phases:
            after += f": {trial.phases}"
        outcome = f"{trial.outcome}, {says}" if says else trial.outcome
        self.rows.append((what, outcome, f"{trial.seconds:.1f}", after, retries or "none"))
        if self.page is not None:
            self._write(self.page)

    def _write(self, path: Path) -> None:
        """Puts the rows into the table of a page, in the place of those that say the same, or behind all."""
        head = (
            "| what happens | outcome | seconds | after the strike | retries told |\n| --- | --- | --- | --- | --- |\n"
        )
        before, found, rest = path.read_text(encoding="utf-8").partition(head)
        assert found, f"{path} has no such table"
        table, _, after = rest.partition("\n\n")
        rows = {line.split(" | ")[0]: f"{line}\n" for line in table.splitlines()}
        for row in self.rows:
            what, *cells = (cell.replace("|", "/") for cell in row)
            rows[f"| {what}"] = f"| {' | '.join((what, *cells))} |\n"
        path.write_text(f"{before}{head}{''.join(rows.values())}\n{after}", encoding="utf-8")


def chain_closure(
    spark: SparkSession,
    length: int,
    execution: Execution,
    *,
    strike: Strike | None = None,
    timeout: float | None = None,
    inputs: str | None = None,
    sources: int | None = None,
) -> Trial:
    """Computes the closure of a chain, in as many rounds as it has arcs, and checks every fact of it. `sources` is how
    many of its vertices count as beginnings, if not all."""
    trial = Trial()
    Launcher.injector = strike
    program = TC.format(only="" if sources is None else f", X < {sources}")
    beginnings = length if sources is None else sources
    try:
        with Database(spark) as database:
            database["arc"] = inputs or [(number, number + 1) for number in range(length)]
            limits = Limits(timeout=timeout)
            with database.datalog(program, execution=execution, listener=trial.hear, limits=limits) as result:
                trial.seconds = time.time() - trial.began
                facts = result["tc"].toDF("x", "y")
                ordered = F.sum((F.col("x") < F.col("y")).cast("int"))
                row = facts.agg(F.count("*"), F.countDistinct("x", "y"), ordered, F.min("x"), F.max("y")).first()
                expected = sum(length - first for first in range(beginnings))
                trial.right = row is not None and tuple(row) == (expected, expected, expected, 0, length)
    except EmberlogError as error:
        trial.error = str(error)
        trial.seconds = time.time() - trial.began
    finally:
        Launcher.injector = None
        trial.struck = strike.struck if strike is not None else None
    return trial
