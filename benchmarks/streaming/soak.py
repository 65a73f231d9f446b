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
from emberlog.config import DEFAULT_LIMITS, StreamOptions
from emberlog.live.slides import LivePlan
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.streams.evaluate.methods import plan_evaluation, slide_evaluator
from emberlog.streams.plan.maintenance import plan_maintenance
from emberlog.streams.plan.slides import schedule_of
from emberlog.streams.state.copies import CHANGE
from emberlog.streams.steps.checkpoint import Checkpoint, Record
from emberlog.streams.steps.exactly_once import ExactlyOnce
from emberlog.streams.steps.measures import Measures
from emberlog.streams.steps.resident_state import forget_other_states
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


OF_CHANGES = f"""\
STREAM subOrg(Ts: timestamp, OrgId: int, SubOrgId: int).
parts(X, count<Y>) :- subOrg(_, X, Y).
top(X) :- subOrg(_, X, _), !subOrg(_, _, X).
query parts(X, N), WINDOW({SIZE}, {SLIDE}).
query top(X), WINDOW({SIZE}, {SLIDE}).
"""
"""What is asked of a stream in which every second row is deleted half a window later."""


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
    restart_seconds: float = 0.0
    """The time of the last batch, before which the state was lost and is made again from the checkpoint."""

    @property
    def growth(self) -> float:
        """The memory at the end by that after a quarter, when the window has been full for long."""
        return self.moments[-1].resident_bytes / self.moments[len(self.moments) // 4].resident_bytes


def soak(tuples: int, folder: Path, say: Callable[[str], None], month: int = MONTH, *, deletes: bool = False) -> Soak:
    """Lets a stream run. With `deletes` a third of its tuples delete what came before."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / ("soak-deletes.json" if deletes else "soak.json")
    moments: list[Moment] = []
    since = time.monotonic()
    restart = 0.0
    with TemporaryDirectory(prefix="emberlog-soak-") as location:
        last: list[tuple[Record, Measures]] = []

        def tell(record: Record, measures: Measures) -> None:
            last[:] = [(record, measures)]

        spec = _spec(location, deletes=deletes)
        steps: ExactlyOnce[pa.Table] = ExactlyOnce(
            Checkpoint(location),
            lambda step, batch: take_step(spec, step, {} if batch is None else {"subOrg": batch}),
            lambda _record: None,
            tell,
        )
        noted = 0
        batches = list(range(0, tuples, BATCH))
        for number, batch in enumerate((_changing if deletes else _arriving)(tuples, month)):
            if number == len(batches) - 1:
                forget_other_states("another")
            steps.batch(number, batch)
            record, measures = last[0]
            restart = measures.seconds
            if record.totals.tuples * PARTS // tuples > noted:
                noted = record.totals.tuples * PARTS // tuples
                moments.append(_moment(record, measures, time.monotonic() - since, location))
                say(_line(moments[-1]))
                report.write_text(json.dumps(asdict(Soak(tuple(moments), restart)), indent=1), encoding="utf-8")
        assert last[0][1].is_rebuilt, "the state was not made again"
    return Soak(tuple(moments), restart)


def _spec(location: str, *, deletes: bool) -> Spec:
    checked = analyze(parse(Source("soak.dl", OF_CHANGES if deletes else PROGRAM)))
    maintenance, schedule = plan_maintenance(checked), schedule_of(checked, plain_clock=True)
    plan = plan_evaluation(maintenance, "live" if deletes else "incremental", DEFAULT_LIMITS, LivePlan)
    return Spec(
        query="soak",
        options=StreamOptions(location, outputMode="changes"),
        schedule=schedule,
        streams=maintenance.program.arriving,
        statics=(),
        outputs=maintenance.program.outputs,
        plain_times=True,
        make=partial(slide_evaluator, plan, schedule, True),
        changing=frozenset({"subOrg"}) if deletes else frozenset(),
    )


def _arriving(tuples: int, month: int) -> Iterator[pa.Table]:
    """Times are spread over the month; everything else is as the generator has it."""
    columns = organisations(tuples)["subOrg"]
    times = np.arange(tuples, dtype=np.int64) * month // tuples
    for start in range(0, tuples, BATCH):
        rows = slice(start, start + BATCH)
        yield pa.table([times[rows], columns["OrgId"][rows], columns["SubOrgId"][rows]], names=["c0", "c1", "c2"])


def _changing(tuples: int, month: int) -> Iterator[pa.Table]:
    """Every second row goes half a window after it came."""
    goes = np.arange(0, tuples * 2 // 3, 2)
    comes = np.arange(tuples - len(goes))
    columns = organisations(len(comes))["subOrg"]
    came_at = comes * month // len(comes)
    times = np.concatenate([came_at, came_at[goes] + SIZE // 2])
    rows = np.concatenate([comes, goes])
    signs = np.repeat(np.array([1, -1], np.int8), [len(comes), len(goes)])
    order = np.argsort(times, kind="stable")
    for start in range(0, tuples, BATCH):
        some = order[start : start + BATCH]
        yield pa.table(
            [times[some], columns["OrgId"][rows[some]], columns["SubOrgId"][rows[some]], signs[some]],
            names=["c0", "c1", "c2", CHANGE],
        )


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
