"""Runs of stream queries in this process: batches of tuples in, what a sink got out; killed wherever a test likes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from emberlog.config import StreamOptions
from emberlog.datatypes import INT, TIMESTAMP
from emberlog.semantics.model import Column
from emberlog.streams.plan.slides import Schedule
from emberlog.streams.steps import resident_state
from emberlog.streams.steps.checkpoint import Checkpoint, Record
from emberlog.streams.steps.culprits import find_culprits
from emberlog.streams.steps.exactly_once import ExactlyOnce
from emberlog.streams.steps.measures import Measures
from emberlog.streams.steps.silence import Silence
from emberlog.streams.steps.spec import Spec
from emberlog.streams.steps.step import take_step, with_slides
from emberlog.streams.steps.tables import read_table
from tests.unit.streams.echo import TUPLES, Echo

STREAMS = ("left", "right")
Rows = list[tuple[object, ...]]
Batch = Mapping[str, pa.Table]


def spec_of(folder: Path, schedule: Schedule, mode: str, streams: Sequence[str] = STREAMS) -> Spec:
    columns = (Column("Ts", TIMESTAMP), Column("X", INT))
    return Spec(
        query="test",
        options=StreamOptions(str(folder), outputMode=mode, late="keep"),
        schedule=schedule,
        streams=dict.fromkeys(streams, columns),
        statics=(),
        outputs={f"{stream}_seen": columns for stream in streams},
        plain_times=True,
        make=Echo,
    )


def batch_of_changes(rows: Mapping[str, Sequence[tuple[int, int | None, int | None]]]) -> Batch:
    schema = TUPLES.append(pa.field("change", pa.int8()))
    return {
        stream: pa.table([[row[place] for row in found] for place in range(3)], schema=schema)
        for stream, found in rows.items()
    }


def batch_of(rows: Mapping[str, Sequence[tuple[int, int | None]]]) -> Batch:
    return {
        stream: pa.table([[row[0] for row in found], [row[1] for row in found]], schema=TUPLES)
        for stream, found in rows.items()
    }


@dataclass
class Delivered:
    """A sink that replaces a step that comes again."""

    spec: Spec
    steps: dict[int, dict[str, Rows]] = field(default_factory=dict)
    measures: list[Measures] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def deliver(self, record: Record) -> None:
        folder = Checkpoint(self.spec.location).outputs
        told: dict[str, Rows] = {}
        for file in record.outputs:
            rows = (tuple(row.values()) for row in read_table(folder, file.name).to_pylist())
            told[file.relation] = sorted([*told.get(file.relation, []), *rows])
        self.steps[record.step] = told

    def tell(self, record: Record, measures: Measures) -> None:
        self.measures.append(measures)
        self.records.append(record)

    def quarantined(self) -> list[tuple[object, ...]]:
        """All rows that were put aside."""
        checkpoint = Checkpoint(self.spec.location)
        record = checkpoint.last()
        files = () if record is None else record.quarantine
        tables = [read_table(checkpoint.quarantine.folder, file.name) for file in files]
        return sorted((tuple(row.values()) for table in tables for row in table.to_pylist()), key=str)

    def rows(self, relation: str) -> Rows:
        return [row for step in sorted(self.steps) for row in self.steps[step].get(relation, [])]


@dataclass
class Source:
    """Gives batches as Spark does: again, after a restart, unless it knows that a batch was dealt with."""

    batches: Sequence[Batch]
    done: int = 0


def run(
    spec: Spec, source: Source, delivered: Delivered, *, closes: bool, silence: Silence | None = None
) -> ExactlyOnce[Batch]:
    """As a fresh process does it: nothing is resident at first."""
    resident_state._states.clear()
    steps: ExactlyOnce[Batch] = ExactlyOnce(
        Checkpoint(spec.location),
        lambda step, batch: told_slides(spec, *take_step(spec, step, batch or {})),
        delivered.deliver,
        delivered.tell,
        lambda step, batch: find_culprits(spec, step, batch or {}),
        silence,
    )
    steps.resume()
    while source.done < len(source.batches):
        steps.batch(source.done, source.batches[source.done])
        source.done += 1
    if closes:
        steps.close_all()
    return steps


def told_slides(spec: Spec, record: Record, measures: Measures) -> tuple[Record, Measures]:
    return with_slides(spec, record, measures), measures


def random_batches(chance: random.Random, streams: Sequence[str], *, disorder: int = 0) -> list[Batch]:
    """Bursts, gaps, repeats; arrivals out of order by at most `disorder`."""
    tuples: list[tuple[str, tuple[int, int | None]]] = []
    now = chance.randint(-20, 20)
    for _ in range(chance.randint(1, 60)):
        now += chance.choice((0, 0, 1, 1, 2, 5, 40))
        tuples.append((chance.choice(list(streams)), (now, chance.randint(0, 3))))
    broken = [(stream, (time, None)) for stream, (time, _) in tuples if chance.random() < 0.1]
    tuples += broken  # a null where a value is needed
    tuples.sort(key=lambda one: one[1][0] + chance.uniform(0, disorder))
    batches: list[Batch] = []
    while tuples:
        size = chance.choice((1, 1, 3, 10))
        batches.append(batch_of({s: [row for stream, row in tuples[:size] if stream == s] for s in streams}))
        tuples = tuples[size:]
    return batches
