"""What a stream query tells about each step, and the log of the last ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from emberlog.language.spellings import moment_or_number
from emberlog.streams.steps.checkpoint import Record
from emberlog.streams.steps.measures import Measures
from emberlog.streams.steps.spec import Spec

REMEMBERED_STEPS = 100
REMEMBERED_SLIDES = 1_000
"""The percentiles of latencies are those of so many slides."""


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """Tells how one step went. Counts that do not say otherwise are those of the step alone."""

    batchId: int
    numInputRows: int
    processedRowsPerSecond: float
    slides: int
    """The slides that closed in this step."""
    lastSlide: datetime | int | None
    """A number where times are plain numbers; so is the watermark."""
    watermark: datetime | int | None
    late: int
    bad: int
    """The rows that could not be used; `query.bad(stream)` has them."""
    expired: int
    facts: Mapping[str, int]
    """The number of facts in the last slide's answer, by relation."""
    added: Mapping[str, int]
    """Empty where whole answers are asked for; so is `removed`."""
    removed: Mapping[str, int]
    windowTuples: int
    """The tuples that are kept in the checkpoint, for the window and for slides that are still open."""
    stateBytes: int
    """The memory of what is resident in the workers."""
    latencies: Mapping[str, float]
    """Seconds from the tuples of a slide to its answer: `p50`, `p95`, `p99` of the last thousand slides."""
    seconds: float
    """The time of the whole step, with the job of Spark."""
    isRebuilt: bool
    """Whether the worker did not have the state, and made it again from the checkpoint."""
    totalRows: int
    """Since the query began; so are the others that begin with `total`."""
    totalLate: int
    totalBad: int
    totalExpired: int
    totalSlides: int


def percentile(ordered: Sequence[float], part: int) -> float:
    """Returns the value that `part` per cent are not above."""
    return ordered[max(0, -(-len(ordered) * part // 100) - 1)]


class ProgressLog:
    """Keeps the progress of the last steps, and tells a listener about each."""

    def __init__(self, spec: Spec, listener: Callable[[StreamProgress], None] | None) -> None:
        self._spec = spec
        self._listener = listener
        self._recent: deque[StreamProgress] = deque(maxlen=REMEMBERED_STEPS)
        self._slide_seconds: deque[float] = deque(maxlen=REMEMBERED_SLIDES)

    @property
    def recent(self) -> list[StreamProgress]:
        return list(self._recent)

    def add(self, record: Record, measures: Measures, seconds: float) -> None:
        """Enters a step that took so many seconds, with the job of Spark."""
        self._slide_seconds.extend(measures.slide_seconds)
        ordered, totals = sorted(self._slide_seconds), record.totals
        progress = StreamProgress(
            batchId=record.step,
            numInputRows=measures.tuples,
            processedRowsPerSecond=measures.tuples / seconds if seconds else 0.0,
            slides=record.slides,
            lastSlide=self._moment(record.clock.closed),
            watermark=self._moment(record.clock.watermark(self._spec.schedule, self._spec.streams)),
            late=measures.late,
            bad=measures.bad,
            expired=measures.expired,
            facts=totals.facts,
            added=measures.added,
            removed=measures.removed,
            windowTuples=measures.window_tuples,
            stateBytes=measures.state_bytes,
            latencies={f"p{part}": percentile(ordered, part) for part in (50, 95, 99)} if ordered else {},
            seconds=seconds,
            isRebuilt=measures.is_rebuilt,
            totalRows=totals.tuples,
            totalLate=totals.late,
            totalBad=totals.bad,
            totalExpired=totals.expired,
            totalSlides=totals.slides,
        )
        self._recent.append(progress)
        if self._listener is not None:
            self._listener(progress)

    def _moment(self, time: int | None) -> datetime | int | None:
        return None if time is None else moment_or_number(time, plain_times=self._spec.plain_times)
