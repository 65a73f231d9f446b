"""Measures all cases and keeps what was measured after each, so that a run that is stopped loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.machine import Machine, this_machine
from benchmarks.streaming.cases import QUERIES, StreamQuery
from benchmarks.streaming.measure import StreamMeasurement, measure
from benchmarks.streaming.on_spark import SparkStreamMeasurement, measured_on_spark
from emberlog.config import Evaluation

RESULTS = "streams.json"

_EVALUATIONS: tuple[Evaluation, ...] = ("incremental", "simple")

FOR_EVER = "Q8"
"""Query 3 without a window, on the smaller stream that the paper takes for it."""
FOR_EVER_TUPLES = 10_000
FOR_EVER_SLIDES = (100, 1_000, 10_000)


@dataclass(frozen=True, slots=True)
class StreamRunOptions:
    tuples: int
    budget: float
    """Seconds of evaluation for each case."""
    only: Sequence[str]
    spark: bool
    """Whether to measure inside Spark, too."""


@dataclass(frozen=True, slots=True)
class StreamRunResults:
    machine: Machine
    tuples: int
    measurements: tuple[StreamMeasurement, ...]
    on_spark: tuple[SparkStreamMeasurement, ...] = ()


def run_cases(options: StreamRunOptions, folder: Path, say: Callable[[str], None]) -> StreamRunResults:
    folder.mkdir(parents=True, exist_ok=True)
    found: list[StreamMeasurement] = []
    results = StreamRunResults(this_machine(), options.tuples, ())
    for one in _measured(options):
        found.append(one)
        say(
            f"{one.query} window {one.window} slide {one.slide:,} {one.evaluation:12} "
            f"{one.throughput:>12,.0f} tuples/s   p99 {one.p99:.4f} s   {one.tuples:,} tuples, {one.slides:,} slides"
        )
        results = replace(results, measurements=tuple(found))
        _write(results, folder)
    for inside in measured_on_spark(options.tuples, tuple(options.only)) if options.spark else ():
        say(
            f"{inside.query} window {inside.window} slide {inside.slide:,} Spark, {inside.workers} workers "
            f"{inside.throughput:>9,.0f} tuples/s   p99 {inside.p99:.4f} s   {inside.seconds:.1f} s"
        )
        results = replace(results, on_spark=(*results.on_spark, inside))
        _write(results, folder)
    return results


def _write(results: StreamRunResults, folder: Path) -> None:
    (folder / RESULTS).write_text(json.dumps(asdict(results), indent=1), encoding="utf-8")


def read_results(folder: Path) -> StreamRunResults:
    given = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    return StreamRunResults(
        Machine(**given["machine"]),
        given["tuples"],
        tuple(StreamMeasurement(**one) for one in given["measurements"]),
        tuple(SparkStreamMeasurement(**one) for one in given["on_spark"]),
    )


def _measured(options: StreamRunOptions) -> Iterator[StreamMeasurement]:
    tuples, budget = options.tuples, options.budget
    for query in QUERIES:
        if options.only and query.name not in options.only:
            continue
        for evaluation in _EVALUATIONS:  # the first run of a program loads its kernels; nobody counts that
            measure(query, query.windows[0], query.slides[0], evaluation, tuples=100_000, budget=5.0)
        for window in reversed(query.windows):
            for slide in query.slides:
                yield measure(query, window, slide, "incremental", tuples=tuples, budget=budget)
                if window == query.windows[-1]:
                    yield measure(query, window, slide, "simple", tuples=tuples, budget=budget)
    if not options.only or FOR_EVER in options.only:
        yield from _for_ever(budget)


def _for_ever(budget: float) -> Iterator[StreamMeasurement]:
    query = QUERIES[0]
    whole = StreamQuery(
        FOR_EVER, f"{query.title}, for ever", query.program, query.data, query.density, query.disorder, (), (), {}
    )
    for slide in FOR_EVER_SLIDES:
        yield measure(whole, None, slide, "incremental", tuples=FOR_EVER_TUPLES, budget=budget)
        yield measure(whole, None, slide, "simple", tuples=FOR_EVER_TUPLES, budget=budget)
