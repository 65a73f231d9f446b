"""Windows in the unit of the clock, and the slides that they make."""

from __future__ import annotations

import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram
from emberlog.source import Source
from emberlog.streams.plan.window import Slide, Window, window_of
from emberlog.syntax.parser import parse

STREAM = "STREAM s(Ts: timestamp, X: int).\na(Ts, X) :- s(Ts, X).\nb(Ts, X) :- s(Ts, X).\n"


def checked(queries: str) -> CheckedProgram:
    return analyze(parse(Source("p.dl", STREAM + queries)))


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        ("query a(_, X), WINDOW(60 minutes).", Window(3_600_000_000, 60_000_000)),
        ("query a(_, X), WINDOW(1 year, 3 month).", Window(365 * 86_400_000_000, 90 * 86_400_000_000)),
        ("query a(_, X), WINDOW(100, 10). query b(_, X), WINDOW(100, 10).", Window(100, 10)),
        ("query a(_, X), WINDOW(100).", Window(100, 1)),
        ("query a(_, X).", None),
        ("", None),
    ],
)
def test_window_in_units_of_the_clock(queries: str, expected: Window | None) -> None:
    assert window_of(checked(queries), plain_clock=False) == expected


@pytest.mark.parametrize("other", ["query b(_, X), WINDOW(20).", "query b(_, X)."])
def test_different_windows_are_refused(other: str) -> None:
    with pytest.raises(EmberlogError, match="DL321"):
        window_of(checked("query a(_, X), WINDOW(10). " + other), plain_clock=True)


def test_units_need_real_times() -> None:
    with pytest.raises(EmberlogError, match="DL322"):
        window_of(checked("query a(_, X), WINDOW(10 days)."), plain_clock=True)


def test_slides_are_multiples_of_the_step() -> None:
    window = Window(100, 10)
    assert [window.next_slide(moment) for moment in (-11, 0, 1, 10, 11)] == [-10, 0, 10, 10, 20]
    assert window.slide(20) == Slide(20, -80)
