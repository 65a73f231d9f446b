"""The queries of the Streamlog paper with its windows and slides, and what the paper measured with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.data.relations import Relations
from benchmarks.data.streams import citations, organisations, related_users, rides
from benchmarks.locations import PACKAGE


@dataclass(frozen=True, slots=True)
class StreamQuery:
    name: str
    """As in the paper."""
    title: str
    program: str
    """The folder of its text; the window is replaced by that of each case."""
    data: Callable[[int], Relations]
    density: int
    """Tuples per unit of time, about, as the paper's data has them."""
    disorder: int
    """How late tuples arrive at most, in units of time."""
    windows: tuple[int, ...]
    slides: tuple[int, ...]
    throughput: Mapping[tuple[int, int], float]
    """Of the paper's prototype, in tuples per second, by window and slide (its Table III)."""

    def text(self, window: int | None, slide: int) -> str:
        written = (PACKAGE / "workloads" / "programs" / self.program / "emberlog.dl").read_text(encoding="utf-8")
        rules, _, query = written.rpartition("query ")
        atom = query.partition(", WINDOW")[0].rstrip().removesuffix(".")
        return f"{rules}query {atom}{f', WINDOW({window}, {slide})' if window else ''}.\n"


def _table(windows: tuple[int, ...], slides: tuple[int, ...], *rows: tuple[float, ...]) -> dict[tuple[int, int], float]:
    return {(w, s): value for w, row in zip(windows, rows, strict=True) for s, value in zip(slides, row, strict=True)}


_ORGANISATIONS = (50_000, 100_000, 150_000, 200_000), (10_000, 15_000, 20_000)
_RIDES = (4_000, 6_000, 8_000, 10_000), (1_000, 1_500, 2_000)
_USERS = (1_000_000, 2_000_000, 3_000_000, 4_000_000), (100_000, 300_000, 500_000)
_PAPERS = (40, 60, 80, 100), (10, 20, 30)

QUERIES = (
    StreamQuery(
        "Q3",
        "sub-organisations",
        "stream-sub-organisations",
        organisations,
        1,
        50,
        *_ORGANISATIONS,
        _table(
            *_ORGANISATIONS,
            (729.59, 763.012, 850.89),
            (179.75, 180.34, 202.85),
            (64.90, 68.55, 76.27),
            (17.01, 23.15, 29.33),
        ),
    ),
    StreamQuery(
        "Q4",
        "cheapest path",
        "stream-cheap-path",
        rides,
        20,
        1,
        *_RIDES,
        _table(
            *_RIDES,
            (103.15, 115.62, 124.6),
            (95.05, 108.9, 122.33),
            (94.01, 100.94, 120.66),
            (87.39, 95.96, 118.85),
        ),
    ),
    StreamQuery(
        "Q5",
        "earliest organiser",
        "stream-earliest-organiser",
        related_users,
        1,
        500,
        *_USERS,
        _table(
            *_USERS,
            (192, 193.63, 219.72),
            (90.12, 94.24, 104.11),
            (66.25, 69.08, 70.49),
            (39.99, 40.06, 42.24),
        ),
    ),
    StreamQuery(
        "Q7",
        "PaperRank",
        "stream-paper-rank",
        citations,
        54,
        1,
        *_PAPERS,
        _table(
            *_PAPERS,
            (128.96, 143.24, 169.77),
            (90.05, 91.87, 104.38),
            (82.82, 88.69, 90.17),
            (78.02, 81.13, 86.39),
        ),
    ),
)
