"""Measures windows beside DuckDB, which computes each slide from scratch, and Pathway, which is told what comes and
goes.

Times are those of the processor, so that they compare on a machine that others use, too. The answers are compared after
every slide that DuckDB computes, and with Pathway's in the end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks import locations
from benchmarks.data.randomness import Sequence as Randomness
from benchmarks.machine import this_machine
from benchmarks.streaming.pathway_process import Batch, by_pathway, pathway_version
from benchmarks.table_page import table_page
from benchmarks.workloads import program
from emberlog.config import DEFAULT_LIMITS, Evaluation
from emberlog.io.local_relation import facts_of_table
from emberlog.live.slides import LivePlan
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.streams.evaluate.methods import plan_evaluation, slide_evaluator
from emberlog.streams.plan.maintenance import plan_maintenance
from emberlog.streams.plan.slides import schedule_of
from emberlog.syntax.parser import parse

DAY = 24 * 3600
FROM_SCRATCH = 200
"""Slides, spread evenly, that DuckDB computes; all of them where there are no more."""

_STREAM = "STREAM arc(Ts: timestamp, N: int, X: int, Y: int, W: int).\n"
_RULES = {
    "wcc": "link(X, Y) :- arc(_, _, X, Y, _).  link(Y, X) :- arc(_, _, X, Y, _).\n"
    "wcc(X, min<X>) :- link(X, _).  wcc(X, min<L>) :- link(X, Y), wcc(Y, L).\nquery wcc(X, L)",
    "sssp": "sssp(X, min<D>) :- X = 0, D = 0.\n"
    "sssp(Y, min<D>) :- sssp(X, D1), arc(_, _, X, Y, W), D = D1 + W.\nquery sssp(X, D)",
    "sum": "total(X, sum<W>, count<N>) :- arc(_, N, X, _, W).\nquery total(X, W, N)",
}
_SUM = "SELECT src, sum(weight), count(*) FROM arc GROUP BY src"

_HEAD = """\
# Windows of a stream, beside peers

Tuples a second of processor time on one core of {processor} (`python -m benchmarks stream-peers`). Emberlog evaluates
from slide to slide in one process, and tells what each slide has changed. DuckDB computes the answer of each slide anew
from the tuples of its window, with one thread; of more than {scratch} slides it computes so many, and its tuples are
those of all slides in the time that these would take. Pathway {pathway} is told which tuples come and go. All answers
are equal, those of Emberlog and DuckDB at every slide that both compute.

The messages are made up in the shape of CollegeMsg: {messages:,} between 1,899 people in 193 days, most of them early.

"""
_TITLES = ("workload", "slides", "Emberlog", "DuckDB, from scratch", "Pathway", "× DuckDB", "× Pathway")

Times = npt.NDArray[np.int64]
Answer = frozenset[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Arcs:
    """Holds the tuples of a stream in the order of their times; their numbers are their places."""

    times: Times
    ends: npt.NDArray[np.int64]
    """The two ends and the weight of each."""

    def __len__(self) -> int:
        return len(self.times)

    def rows(self, begin: int, end: int) -> list[tuple[int, int, int, int]]:
        return [(number, *self.ends[number].tolist()) for number in range(begin, end)]

    def table(self, begin: int, end: int) -> pa.Table:
        columns = [self.times[begin:end], np.arange(begin, end), *self.ends[begin:end].T]
        return pa.table([pa.array(one) for one in columns], names=[f"c{place}" for place in range(5)])


@dataclass(frozen=True, slots=True)
class Case:
    title: str
    program: str
    size: int
    slide: int
    arcs: Callable[[], Arcs]


def messages(count: int = 60_000, people: int = 1_899, days: int = 193) -> Arcs:
    """Makes messages up between people, of whom a few write many; most are written in the first months."""
    random = Randomness(1, "messages")
    times = np.sort((random.units(count) ** 2.5 * days * DAY).astype(np.int64))
    ends = [(random.units(count) ** 2 * people).astype(np.int64) for _ in range(2)]
    return Arcs(times, np.stack([*ends, 1 + random.below(100, count)], axis=1))


def sales(count: int = 150_000, keys: int = 1_000) -> Arcs:
    """Makes a tuple up for each unit of time, of one of so many keys."""
    random = Randomness(1, "sales")
    columns = [random.below(keys, count), random.below(keys, count), random.below(100, count)]
    return Arcs(np.arange(count, dtype=np.int64), np.stack(columns, axis=1))


CASES = (
    Case("weakly connected components, messages of 7 days by 1", "wcc", 7 * DAY, DAY, messages),
    Case("shortest paths from one person, messages of 7 days by 1", "sssp", 7 * DAY, DAY, messages),
    Case("sum and count by key, 50,000 tuples by 100", "sum", 50_000, 100, sales),
)


@dataclass(frozen=True, slots=True)
class Window:
    """Names a slide, and the places of the tuples of its window."""

    at: int
    begin: int
    end: int


def run(output: Path) -> Iterator[str]:
    """Yields the lines of a table as they are known, and writes the page."""
    head = _HEAD.format(
        processor=this_machine().processor,
        scratch=FROM_SCRATCH,
        pathway=pathway_version(),
        messages=len(messages()),
    )
    return table_page(output / "stream_peers.md", head, _TITLES, map(_measured, CASES))


def _measured(case: Case) -> Iterator[str]:
    arcs = case.arcs()
    windows = windows_of(case, arcs)
    by_emberlog(case, arcs, windows[:50])  # loads its kernels
    seconds, answers = by_emberlog(case, arcs, windows)
    chosen = windows[:: max(1, len(windows) // FROM_SCRATCH)]
    duckdb = by_duckdb(case.program, arcs, chosen, answers) / len(chosen) * len(windows)
    yield case.title
    yield f"{len(windows):,}"
    yield f"{len(arcs) / seconds:,.0f}"
    yield f"{len(arcs) / duckdb:,.0f}"
    if not locations.pathway_python().exists():
        yield from ("", f"{duckdb / seconds:.1f}", "")
        return
    found = by_pathway(case.program, list(_changes(arcs, windows)))
    assert found.facts == answers[windows[-1].at], f"Pathway gives another answer to {case.title}"
    yield f"{len(arcs) / found.seconds:,.0f}"
    yield f"{duckdb / seconds:.1f}"
    yield f"{found.seconds / seconds:.1f}"


def windows_of(case: Case, arcs: Arcs) -> list[Window]:
    """Lists the slides until the last tuple has come; windows are closed at both ends."""
    first, last = (-(-int(time) // case.slide) * case.slide for time in (arcs.times[0], arcs.times[-1]))
    found = []
    for at in range(first, last + 1, case.slide):
        begin = int(np.searchsorted(arcs.times, at - case.size, "left"))
        found.append(Window(at, begin, int(np.searchsorted(arcs.times, at, "right"))))
    return found


def _changes(arcs: Arcs, windows: Sequence[Window]) -> Iterator[Batch]:
    """Yields for each slide the arcs that come into its window, and those that leave it."""
    for before, now in pairwise([Window(0, 0, 0), *windows]):
        yield arcs.rows(before.end, now.end), arcs.rows(before.begin, min(now.begin, before.end))


def by_emberlog(case: Case, arcs: Arcs, windows: Sequence[Window]) -> tuple[float, dict[int, Answer]]:
    text = f"{_STREAM}{_RULES[case.program]}, WINDOW({case.size}, {case.slide})."
    checked = analyze(parse(Source(case.program, text)))
    maintenance, schedule = plan_maintenance(checked), schedule_of(checked, plain_clock=True)
    evaluation: Evaluation = "live" if maintenance.why_by_tuples else "incremental"
    plan = plan_evaluation(maintenance, evaluation, DEFAULT_LIMITS, LivePlan)
    evaluator = slide_evaluator(plan, schedule, True, {})
    times, answers = [], {}
    answer: Answer = frozenset()
    came = 0
    for window in windows:
        arrived = {"arc": arcs.table(came, window.end)}
        came = window.end
        since = time.process_time()
        evaluator.advance(schedule.slide(window.at), arrived)
        (changes,) = evaluator.changes().values()
        times.append(time.process_time() - since)
        added, removed = (frozenset(facts_of_table(one)) for one in (changes.added, changes.removed))
        answer = (answer - removed) | added
        answers[window.at] = answer
    return math.fsum(times), answers


def by_duckdb(name: str, arcs: Arcs, windows: Sequence[Window], answers: dict[int, Answer]) -> float:
    import duckdb

    query = _SUM if name == "sum" else program.load(name).text("duckdb.sql")
    assert query is not None
    parameters = {"source": 0} if name == "sssp" else None
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    table = arcs.table(0, len(arcs)).rename_columns(["ts", "number", "src", "dst", "weight"])
    connection.register("given", table)
    connection.execute("CREATE TABLE message AS FROM given")
    seconds = 0.0
    for window in windows:
        numbers = f"number >= {window.begin} AND number < {window.end}"
        since = time.process_time()
        connection.execute(f"CREATE OR REPLACE TABLE arc AS SELECT src, dst, weight FROM message WHERE {numbers}")
        found = connection.execute(query, parameters).fetchall()
        seconds += time.process_time() - since
        assert frozenset(found) == answers[window.at], f"DuckDB gives another answer to {name} at {window.at:,}"
    return seconds
