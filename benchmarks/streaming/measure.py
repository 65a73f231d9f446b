"""One stream query in this process, slide by slide, as the task of a micro-batch evaluates it.

Times are those of the processor: one worker waits for nobody, so on a machine that has nothing else to do they are what
a clock shows, and on one that is shared they are still comparable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from benchmarks.data.relations import Relations
from benchmarks.streaming.cases import StreamQuery
from emberlog.config import Evaluation
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.streams.evaluate.methods import plan_evaluation, slide_evaluator
from emberlog.streams.plan.maintenance import plan_maintenance
from emberlog.streams.plan.slides import Clock, Schedule
from emberlog.streams.state.backlog import Backlog, sort_out
from emberlog.streams.steps.progress import percentile
from emberlog.syntax.parser import parse

BATCH = 10_000
"""Tuples that arrive together."""


@dataclass(frozen=True, slots=True)
class StreamMeasurement:
    query: str
    window: int | None
    slide: int
    evaluation: str
    tuples: int
    """That were evaluated, in slides that closed."""
    is_whole: bool
    """Whether that was the whole stream; else the time was up."""
    slides: int
    late: int
    seconds: float
    p50: float
    p99: float
    """Seconds for a slide, answer and changes included."""
    window_tuples: int
    """In a window, on the average."""
    state_bytes: int
    """Kept from slide to slide, on the average over full windows."""
    facts: int
    """In the last answer."""
    answer_seconds: float = 0.0
    """Those of the seconds in which answers were made; in the others, what changed was found out."""

    @property
    def throughput(self) -> float:
        return self.tuples / self.seconds if self.seconds else 0.0

    @property
    def answer_throughput(self) -> float:
        return self.tuples / self.answer_seconds if self.answer_seconds else 0.0


def measure(
    query: StreamQuery, window: int | None, slide: int, evaluation: Evaluation, *, tuples: int, budget: float
) -> StreamMeasurement:
    """Feeds the stream until it ends or `budget` seconds of evaluation are used up."""
    checked = analyze(parse(Source(query.program, query.text(window, slide))))
    schedule = Schedule(slide, window, query.disorder)
    evaluator = slide_evaluator(plan_evaluation(plan_maintenance(checked), evaluation), schedule, True, {})
    stream, table = stream_of(query.data, query.density, tuples)
    clock, backlog = Clock(), Backlog(schedule, {stream: table.schema.empty_table()})
    latencies: list[float] = []
    held: list[int] = []
    state: list[int] = []
    evaluated = late = facts = 0
    answer_seconds = 0.0
    times = np.sort(table.column(0).to_numpy())
    for batch in _batches(table):
        told = sort_out(schedule, clock, {stream: batch})
        late += told.late[stream].num_rows
        backlog.add(told.in_time)
        due = backlog.due(told.clock)
        clock = due.clock
        for at, arrived in backlog.take(due.slides):
            begin = time.process_time()
            evaluator.advance(schedule.slide(at), arrived)
            answer_seconds += time.process_time() - begin
            changes = evaluator.changes()
            latencies.append(time.process_time() - begin)
            facts += sum(one.added.num_rows - one.removed.num_rows for one in changes.values())
            evaluated += arrived[stream].num_rows
            begin_of_window = 0 if window is None else int(np.searchsorted(times, at - window))
            held.append(int(np.searchsorted(times, at, "right")) - begin_of_window)
            state.append(evaluator.state_bytes())
        if sum(latencies) > budget:
            break
    ordered = sorted(latencies)
    full = len(state) // 2
    return StreamMeasurement(
        query.name,
        window,
        slide,
        evaluation,
        evaluated,
        sum(latencies) <= budget,
        len(latencies),
        late,
        sum(latencies),
        percentile(ordered, 50) if ordered else 0.0,
        percentile(ordered, 99) if ordered else 0.0,
        int(np.mean(held[full:])) if held else 0,
        int(np.mean(state[full:])) if state else 0,
        facts,
        answer_seconds,
    )


@lru_cache(maxsize=1)
def stream_of(data: Callable[[int], Relations], density: int, tuples: int) -> tuple[str, pa.Table]:
    """Cases with the same stream come one after the other."""
    ((stream, columns),) = data(tuples).items()
    arrays = [pa.array(values) for values in columns.values()]
    arrays[0] = pa.array(np.asarray(arrays[0]) // density, pa.int64())
    return stream, pa.table(arrays, names=[f"c{place}" for place in range(len(arrays))])


def _batches(table: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, table.num_rows, BATCH):
        yield table.slice(start, BATCH)
