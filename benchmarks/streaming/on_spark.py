"""Stream queries inside Spark: files in, `start(availableNow=True)`, files out, by the clock on the wall."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from benchmarks.streaming.cases import QUERIES, StreamQuery
from benchmarks.streaming.measure import stream_of
from emberlog.database import Database
from emberlog.engines.spark.session import start_session
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.streams.plan.maintenance import plan_maintenance
from emberlog.syntax.parser import parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH = 100_000
"""Tuples of a file, which is a micro-batch."""
CORES = 2


@dataclass(frozen=True, slots=True)
class SparkStreamMeasurement:
    query: str
    window: int
    slide: int
    workers: int
    tuples: int
    batches: int
    slides: int
    seconds: float
    """From `start` to the end, the start of the query included."""
    p50: float
    p99: float
    """Seconds for a slide, its answer written, of the last thousand."""
    state_bytes: int

    @property
    def throughput(self) -> float:
        return self.tuples / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class _Case:
    query: StreamQuery
    window: int
    slide: int
    workers: int


def _cases(only: tuple[str, ...]) -> Iterator[_Case]:
    """The paper's slowest case of each query, and its fastest one of all; each with one worker, and with as many as
    there are cores where facts can be shared."""
    fastest_of_all = max(max(query.throughput.values()) for query in QUERIES)
    for query in QUERIES:
        if only and query.name not in only:
            continue
        slowest, fastest = (choose(query.throughput, key=query.throughput.__getitem__) for choose in (min, max))
        places = [slowest, fastest] if query.throughput[fastest] == fastest_of_all else [slowest]
        for window, slide in places:
            for workers in (1,) if why_one_worker(query) else (1, CORES):
                yield _Case(query, window, slide, workers)


def why_one_worker(query: StreamQuery) -> str | None:
    """What keeps the facts of a query in one place; None if nothing does."""
    checked = analyze(parse(Source(query.program, query.text(query.windows[0], query.slides[0]))))
    return plan_maintenance(checked).why_one_partition


def measured_on_spark(tuples: int, only: tuple[str, ...]) -> Iterator[SparkStreamMeasurement]:
    session = start_session(f"local[{CORES}]", memory="3g", conf={"spark.sql.shuffle.partitions": str(CORES)})
    known: set[tuple[str, int]] = set()
    try:
        for case in _cases(only):
            if (case.query.name, case.workers) not in known:  # Java and kernels compile at first; nobody counts that
                known.add((case.query.name, case.workers))
                _measure(session, case, min(tuples, 2 * BATCH))
            yield _measure(session, case, tuples)
    finally:
        session.stop()


def _measure(session: SparkSession, case: _Case, tuples: int) -> SparkStreamMeasurement:
    query = case.query
    with TemporaryDirectory(prefix="emberlog-stream-") as location, Database(session) as database:
        folder = Path(location)
        stream, frame = _source(session, query, tuples, folder / "input")
        database[stream] = frame
        result = database.datalog(query.text(case.window, case.slide))
        since = time.monotonic()
        run = result.start(
            folder / "answers",
            checkpointLocation=folder / "checkpoint",
            outputMode="changes",
            availableNow=True,
            closes=True,
            watermark=query.disorder,
            workers=case.workers,
        )
        run.awaitTermination()
        seconds = time.monotonic() - since
        last = run.lastProgress
        assert last is not None
        return SparkStreamMeasurement(
            query.name,
            case.window,
            case.slide,
            case.workers,
            last.totalRows,
            len(run.recentProgress),
            last.totalSlides,
            seconds,
            last.latencies.get("p50", 0.0),
            last.latencies.get("p99", 0.0),
            max(one.stateBytes for one in run.recentProgress),
        )


def _source(session: SparkSession, query: StreamQuery, tuples: int, folder: Path) -> tuple[str, DataFrame]:
    """The stream as files, each a batch, in the order of their times of modification."""
    stream, table = stream_of(query.data, query.density, tuples)
    folder.mkdir()
    for number, start in enumerate(range(0, table.num_rows, BATCH)):
        path = folder / f"{number:04}.parquet"
        pq.write_table(table.slice(start, BATCH), path)
        os.utime(path, (1_000_000 + 10 * number, 1_000_000 + 10 * number))
    schema = session.read.parquet(str(folder)).schema
    return stream, session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
