"""One run on Spark, with its time and what it told."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from benchmarks.data.relations import Relations
from emberlog.config import Execution
from emberlog.database import Database
from emberlog.events import Event, StratumFinished

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
COMPONENTS = "hcc(X, X) :- arc(X, _).\nhcc(Y, min<Z>) :- hcc(X, Z), arc(X, Y).\n"


@dataclass(frozen=True, slots=True)
class Measured:
    seconds: float
    """Until the facts are there to be read."""
    ended: float
    """By the clock that counts them."""
    facts: int
    events: tuple[Event, ...]

    @property
    def stratum(self) -> StratumFinished:
        return next(event for event in self.events if isinstance(event, StratumFinished) and event.iterations)

    @property
    def iterations(self) -> int:
        return self.stratum.iterations

    @property
    def in_recursion(self) -> float:
        """Seconds that the workers spent on the recursion itself, without what Spark takes to start them."""
        return max(one.busy + one.waiting for one in self.stratum.workers)


def measured(database: Database, program: str, execution: Execution) -> Measured:
    """`program` has one relation."""
    events: list[Event] = []
    since = time.perf_counter()
    with database.datalog(program, execution=execution, listener=events.append) as result:
        ended = time.perf_counter()
        (relation,) = result
        facts = result[relation].count()
    return Measured(ended - since, ended, facts, tuple(events))


@contextmanager
def with_arcs(database: Database, relations: Relations) -> Iterator[None]:
    """The database has `arc` while this is entered."""
    with tempfile.TemporaryDirectory(prefix="emberlog-recovery-") as folder:
        file = Path(folder) / "arc.parquet"
        source, target, *_ = relations["arc"].values()
        pa.parquet.write_table(pa.table([source, target], names=["a", "b"]), file)
        database["arc"] = str(file)
        yield
