"""A month of event time with a window of a thousand slides: does memory stay flat?

The stream goes through the steps of a stream query with its checkpoint, as the tasks of micro-batches take them, in
this process: what grows here would grow in a worker of Spark.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from benchmarks.data.streams import organisations
from emberlog.config import StreamOptions
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.streams.evaluate.incremental_plan import incremental_plan
from emberlog.streams.evaluate.methods import slide_evaluator
from emberlog.streams.plan.maintenance import plan_maintenance
from emberlog.streams.plan.slides import schedule_of
from emberlog.streams.steps.checkpoint import Checkpoint, Record
from emberlog.streams.steps.exactly_once import ExactlyOnce
from emberlog.streams.steps.measures import Measures
from emberlog.streams.steps.spec import Spec
from emberlog.streams.steps.step import take_step
from emberlog.syntax.parser import parse

MONTH = 30 * 24 * 3600
"""Seconds, which are what the times count."""
SLIDE = 60
SIZE = 1_000 * SLIDE
BATCH = 20_000
PARTS = 20
"""Of the stream, after each of which the memory is noted."""

PROGRAM = f"""\
STREAM subOrg(Ts: timestamp, OrgId: int, SubOrgId: int).
isSubOrg(Ts, X, Y) :- subOrg(Ts, X, Y).
isSubOrg(Ts, X, Z) :- subOrg(Ts1, X, Y), isSubOrg(Ts2, Y, Z), largest(Ts, Ts1, Ts2).
query isSubOrg(_, X, Z), WINDOW({SIZE}, {SLIDE}).
"""


@dataclass(frozen=True, slots=True)
class Moment:
    """How it stood after a part of the stream."""

    tuples: int
    slides: int
    seconds: float
    resident_bytes: int
    state_bytes: int
    window_tuples: int
    checkpoint_bytes: int


@dataclass(frozen=True, slots=True)
class Soak:
    moments: tuple[Moment, ...]

    @property
    def growth(self) -> float:
        """The memory at the end by that after a quarter, when the window has been full for long."""
        return self.moments[-1].resident_bytes / self.moments[len(self.moments) // 4].resident_bytes


def soak(tuples: int, folder: Path, say: Callable[[str], None], month: int = MONTH) -> Soak:
    folder.mkdir(parents=True, exist_ok=True)
    moments: list[Moment] = []
    since = time.monotonic()
    with TemporaryDirectory(prefix="emberlog-soak-") as location:
        last: list[tuple[Record, Measures]] = []

        def tell(record: Record, measures: Measures) -> None:
            last[:] = [(record, measures)]

        spec = _spec(location)
        steps: ExactlyOnce[pa.Table] = ExactlyOnce(
            Checkpoint(location),
            lambda step, batch: take_step(spec, step, {} if batch is None else {"subOrg": batch}),
            lambda _record: None,
            tell,
        )
        noted = 0
        for number, batch in enumerate(_batches(tuples, month)):
            steps.batch(number, batch)
            record, measures = last[0]
            if record.totals.tuples * PARTS // tuples > noted:
                noted = record.totals.tuples * PARTS // tuples
                moments.append(_moment(record, measures, time.monotonic() - since, location))
                say(_line(moments[-1]))
                (folder / "soak.json").write_text(json.dumps(asdict(Soak(tuple(moments))), indent=1), encoding="utf-8")
    return Soak(tuple(moments))


def _spec(location: str) -> Spec:
    checked = analyze(parse(Source("soak.dl", PROGRAM)))
    maintenance, schedule = plan_maintenance(checked), schedule_of(checked, plain_clock=True)
    return Spec(
        query="soak",
        options=StreamOptions(location, outputMode="changes"),
        schedule=schedule,
        streams=maintenance.program.arriving,
        statics=(),
        outputs=maintenance.program.outputs,
        plain_times=True,
        make=partial(slide_evaluator, incremental_plan(maintenance), schedule, True),
    )


def _batches(tuples: int, month: int) -> Iterator[pa.Table]:
    """Times are spread over the month; everything else is as the generator has it."""
    columns = organisations(tuples)["subOrg"]
    for start in range(0, tuples, BATCH):
        end = min(start + BATCH, tuples)
        times = np.arange(start, end, dtype=np.int64) * month // tuples
        yield pa.table([times, columns["OrgId"][start:end], columns["SubOrgId"][start:end]], names=["c0", "c1", "c2"])


def _moment(record: Record, measures: Measures, seconds: float, location: str) -> Moment:
    files = [path for path in Path(location).rglob("*") if path.is_file()]
    return Moment(
        record.totals.tuples,
        record.totals.slides,
        seconds,
        _resident_bytes(),
        measures.state_bytes,
        measures.window_tuples,
        sum(path.stat().st_size for path in files),
    )


def _resident_bytes() -> int:
    """Of this process now; where nobody tells that, at most so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * resource.getpagesize()


def _line(moment: Moment) -> str:
    return (
        f"{moment.tuples:>11,} tuples  {moment.slides:>6,} slides  {moment.seconds:>7,.0f} s  "
        f"resident {moment.resident_bytes / 2**20:,.0f} MiB  state {moment.state_bytes / 2**20:,.0f} MiB  "
        f"window {moment.window_tuples:,} tuples  checkpoint {moment.checkpoint_bytes / 2**20:,.1f} MiB"
    )
