"""What a stream query tells about each step."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from emberlog.io.moments import moment_of
from emberlog.streams.plan.slides import Schedule
from emberlog.streams.steps.checkpoint import Record
from emberlog.streams.steps.step import Measures

REMEMBERED_SLIDES = 1_000
"""Of which latencies are told."""


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """Of one step. Counts that do not say otherwise are those of the step alone."""

    batchId: int
    numInputRows: int
    processedRowsPerSecond: float
    slides: int
    """That closed in this step."""
    lastSlide: datetime | int | None
    """A number where times are plain numbers; so is the watermark."""
    watermark: datetime | int | None
    late: int
    expired: int
    facts: Mapping[str, int]
    """Of the last slide's answer, by relation."""
    added: Mapping[str, int]
    """Empty where whole answers are asked for; so is `removed`."""
    removed: Mapping[str, int]
    windowTuples: int
    """That are kept in the checkpoint, for the window and for slides that are still open."""
    stateBytes: int
    """WorkerRelation in the worker."""
    latencies: Mapping[str, float]
    """Seconds from the tuples of a slide to its answer: `p50`, `p95`, `p99` of the last thousand slides."""
    seconds: float
    """Of the whole step, with the job of Spark."""
    isRebuilt: bool
    """The worker did not have the state, and made it again from the checkpoint."""
    totalRows: int
    """Since the query began; so are the others that begin with `total`."""
    totalLate: int
    totalExpired: int
    totalSlides: int


class Latencies:
    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=REMEMBERED_SLIDES)

    def add(self, seconds: Sequence[float]) -> None:
        self._seconds.extend(seconds)

    def percentiles(self) -> dict[str, float]:
        return {f"p{part}": percentile(sorted(self._seconds), part) for part in (50, 95, 99)} if self._seconds else {}


def percentile(ordered: Sequence[float], part: int) -> float:
    """The value that `part` per cent are not above."""
    return ordered[max(0, -(-len(ordered) * part // 100) - 1)]


def progress_of(
    record: Record,
    measures: Measures,
    schedule: Schedule,
    streams: Sequence[str],
    seconds: float,
    latencies: Mapping[str, float],
    *,
    plain_times: bool,
) -> StreamProgress:
    closed, watermark = record.clock.closed, record.clock.watermark(schedule, streams)
    return StreamProgress(
        record.step,
        measures.tuples,
        measures.tuples / seconds if seconds else 0.0,
        record.slides,
        None if closed is None else moment_of(closed, plain_times=plain_times),
        None if watermark is None else moment_of(watermark, plain_times=plain_times),
        measures.late,
        measures.expired,
        record.totals.facts,
        measures.added,
        measures.removed,
        measures.window_tuples,
        measures.state_bytes,
        latencies,
        seconds,
        measures.is_rebuilt,
        record.totals.tuples,
        record.totals.late,
        record.totals.expired,
        record.totals.slides,
    )
