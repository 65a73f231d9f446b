"""Windows in the unit of the clock, and the slides that they make."""

from __future__ import annotations

import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram
from emberlog.source import Source
from emberlog.streams.plan.slides import Schedule, Slide, schedule_of
from emberlog.syntax.parser import parse

STREAM = "STREAM s(Ts: timestamp, X: int).\na(Ts, X) :- s(Ts, X).\nb(Ts, X) :- s(Ts, X).\n"


def checked(queries: str) -> CheckedProgram:
    return analyze(parse(Source("p.dl", STREAM + queries)))


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        ("query a(_, X), WINDOW(60 minutes).", Schedule(60_000_000, 3_600_000_000)),
        ("query a(_, X), WINDOW(1 year, 3 month).", Schedule(90 * 86_400_000_000, 365 * 86_400_000_000)),
        ("query a(_, X), WINDOW(100, 10). query b(_, X), WINDOW(100, 10).", Schedule(10, 100)),
        ("query a(_, X), WINDOW(100).", Schedule(1, 100)),
        ("query a(_, X).", Schedule(1_000_000, None)),
        ("", Schedule(1_000_000, None)),
    ],
)
def test_window_in_units_of_the_clock(queries: str, expected: Schedule) -> None:
    assert schedule_of(checked(queries), plain_clock=False) == expected


@pytest.mark.parametrize("other", ["query b(_, X), WINDOW(20).", "query b(_, X)."])
def test_different_windows_are_refused(other: str) -> None:
    with pytest.raises(EmberlogError, match="DL321"):
        schedule_of(checked("query a(_, X), WINDOW(10). " + other), plain_clock=True)


def test_units_need_real_times() -> None:
    with pytest.raises(EmberlogError, match="DL322"):
        schedule_of(checked("query a(_, X), WINDOW(10 days)."), plain_clock=True)


def test_slides_are_multiples_of_the_step() -> None:
    schedule = Schedule(10, 100)
    assert [schedule.slide_of(moment) for moment in (-11, 0, 1, 10, 11)] == [-10, 0, 10, 10, 20]
    assert schedule.slide(20) == Slide(20, -80)
