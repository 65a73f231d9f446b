"""Partitions in threads give what one place gives, whoever has lost its state, and whoever takes which part."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from emberlog.config import StreamOptions
from emberlog.datatypes import FLOAT, STRING
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram, Column
from emberlog.source import Source
from emberlog.streams.evaluate.incremental_plan import incremental_plan
from emberlog.streams.evaluate.methods import slide_evaluator
from emberlog.streams.plan.maintenance import plan_maintenance
from emberlog.streams.plan.slides import schedule_of
from emberlog.streams.steps import resident_state
from emberlog.streams.steps.checkpoint import Checkpoint, Record
from emberlog.streams.steps.exactly_once import ExactlyOnce
from emberlog.streams.steps.measures import Measures, merged
from emberlog.streams.steps.spec import Spec, Step
from emberlog.streams.steps.step import take_step, take_step_together
from emberlog.syntax.parser import parse
from emberlog.workers.wire.messages import Mail
from tests.unit.streams.stream_runs import Delivered

CHEAP_PATH = """\
{ride(Ts: Timestamp, Pickup: String, Drop: String, Fare: Float)}
bestPrice(Ts, P, D, mmin<F>) ← ride(Ts, P, D, F).
bestPrice(Ts, P, D, mmin<F>) ← ride(Ts1, P, P2, F1), bestPrice(Ts2, P2, D, F2), F = F1 + F2, largest(Ts, Ts1, Ts2).
query bestPrice(_, P, D, C), WINDOW(20, 5).
"""
RIDE = pa.schema([("c0", pa.int64()), ("c1", pa.string()), ("c2", pa.string()), ("c3", pa.float64())])


def checked(text: str) -> CheckedProgram:
    return analyze(parse(Source("p.dl", text)))


def spec_of(folder: Path) -> Spec:
    program = checked(CHEAP_PATH)
    schedule = schedule_of(program, plain_clock=True)
    return Spec(
        query="one",
        options=StreamOptions(str(folder), outputMode="changes"),
        schedule=schedule,
        streams={"ride": program.relations["ride"].columns},
        statics=(),
        outputs={"bestPrice": (Column("P", STRING), Column("D", STRING), Column("C", FLOAT))},
        plain_times=True,
        make=partial(slide_evaluator, incremental_plan(plan_maintenance(program)), schedule, True),
    )


def rides(chance: random.Random) -> list[pa.Table]:
    batches = []
    for number in range(12):
        rows = [
            (
                7 * number + chance.randint(0, 6),
                chance.choice("ABCDEFG"),
                chance.choice("ABCDEFG"),
                chance.randint(1, 9) / 2,
            )
            for _ in range(6)
        ]
        batches.append(pa.table([list(column) for column in zip(*rows, strict=True)], schema=RIDE))
    return batches


class Together:
    """Workers that exchange mail when all of them have some."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.barrier = Barrier(count)
        self.sent: list[Mail] = [[] for _ in range(count)]

    def swap(self, number: int, mail: Mail) -> Mail:
        self.sent[number] = mail
        self.barrier.wait()
        received = [one[number] for one in self.sent]
        self.barrier.wait()
        return received

    def take(self, spec: Spec, step: Step, batch: pa.Table | None, places: list[int]) -> tuple[Record, Measures]:
        """`places` say in which process, by its name, each worker runs this time."""

        def one(number: int) -> tuple[Record, Measures]:
            share = {} if batch is None else {"ride": batch.take(list(range(number, batch.num_rows, self.count)))}
            own = replace(spec, query=f"process {places[number]}")
            return take_step_together(own, step, share, number, self.count, partial(self.swap, number))

        with ThreadPoolExecutor(self.count) as threads:
            return merged(list(threads.map(one, range(self.count))))


def run(
    spec: Spec, batches: list[pa.Table], evaluate: Callable[[Step, pa.Table | None], tuple[Record, Measures]]
) -> Delivered:
    delivered = Delivered(spec)
    steps: ExactlyOnce[pa.Table] = ExactlyOnce(Checkpoint(spec.location), evaluate, delivered.deliver, delivered.tell)
    for number, batch in enumerate(batches):
        steps.batch(number, batch)
    steps.close_all()
    return delivered


@pytest.mark.parametrize("count", [2, 3])
def test_partitions_give_what_one_place_gives(count: int, tmp_path: Path) -> None:
    chance = random.Random(count)
    batches = rides(chance)
    alone = spec_of(tmp_path / "alone")
    expected = run(alone, batches, lambda step, batch: take_step(alone, step, {} if batch is None else {"ride": batch}))

    together = Together(count)
    pickled: bytes = cloudpickle.dumps(spec_of(tmp_path / "together"))  # type: ignore[no-untyped-call]
    spec: Spec = cloudpickle.loads(pickled)  # as tasks of Spark get it
    places = list(range(count))

    def evaluate(step: Step, batch: pa.Table | None) -> tuple[Record, Measures]:
        chance.shuffle(places)  # Spark gives a task to whichever process is free
        if step.number == 6:
            del resident_state._states[f"process {places[0]}"]
        return together.take(spec, step, batch, places)

    found = run(spec, batches, evaluate)
    rows = [sorted(one.rows("bestPrice")) for one in (found, expected)]
    assert rows[0] == rows[1] != []
    assert [one.totals for one in found.records] == [one.totals for one in expected.records]
    assert [one.is_rebuilt for one in found.measures] == [number == 6 for number in range(13)]
    assert len({file.relation for one in found.records for file in one.log}) == 1


def test_another_number_of_workers_from_step_to_step(tmp_path: Path) -> None:
    """As where executors have gone, and come back: the state of one of three parts is none of one of two."""
    chance = random.Random(5)
    batches = rides(chance)
    alone = spec_of(tmp_path / "alone")
    expected = run(alone, batches, lambda step, batch: take_step(alone, step, {} if batch is None else {"ride": batch}))
    pickled: bytes = cloudpickle.dumps(spec_of(tmp_path / "together"))  # type: ignore[no-untyped-call]
    spec: Spec = cloudpickle.loads(pickled)
    counts = [3, 3, 2, 2, 3, 2, 1, 1, 3, 3, 3, 2, 2]

    def evaluate(step: Step, batch: pa.Table | None) -> tuple[Record, Measures]:
        count = counts[step.number]
        return Together(count).take(spec, step, batch, list(range(count)))

    found = run(spec, batches, evaluate)
    assert sorted(found.rows("bestPrice")) == sorted(expected.rows("bestPrice"))
    changes = [count != before for before, count in pairwise(counts)]
    assert [one.is_rebuilt for one in found.measures] == [False, *changes]


def test_what_keeps_a_program_in_one_place() -> None:
    assert plan_maintenance(checked(CHEAP_PATH)).why_one_partition is None
    counted = "STREAM s(T: timestamp, X: int).\nn(T, count<X>) :- s(T, X).\nquery n(_, N), WINDOW(5)."
    assert "n computed anew" in str(plan_maintenance(checked(counted)).why_one_partition)
