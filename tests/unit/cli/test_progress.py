"""The live line and what a run says on it."""

from __future__ import annotations

import io

import pytest

from emberlog.cli.progress import Progress
from emberlog.events import Event, IterationFinished, RunFinished, RunStarted, StratumFinished, StratumStarted
from emberlog.progress.live_line import LiveLine

RUN: tuple[Event, ...] = (
    RunStarted(2),
    StratumStarted(1, ("tc",), True),
    IterationFinished(1, ("tc",), 1, 900, 900, 0.5),
    IterationFinished(1, ("tc",), 2, 304, 1_204, 0.4),
    StratumFinished(1, ("tc",), 2, 1_204, 0.94),
    StratumStarted(2, ("size",), False),
    StratumFinished(2, ("size",), 0, None, 0.0),
    RunFinished(1.0),
)


def watched(screen: io.StringIO) -> str:
    with LiveLine(screen) as line:
        progress = Progress(line)
        for event in RUN:
            progress(event)
    assert progress.seconds == 1.0
    return screen.getvalue()


def test_plain_lines_where_there_is_no_terminal() -> None:
    assert watched(io.StringIO()) == "  tc   2 iterations   1,204 facts   0.9 s\n"


def test_long_work_is_told_now_and_then_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("emberlog.progress.live_line.time.monotonic", lambda: clock[0])
    screen = io.StringIO()
    with LiveLine(screen) as line:
        progress = Progress(line)
        progress(StratumStarted(1, ("tc",), True))
        for iteration in range(1, 41):
            clock[0] += 1.5
            progress(IterationFinished(1, ("tc",), iteration, 1, iteration, 0.5))
    assert screen.getvalue().splitlines() == [
        "  tc   iteration 20   +1 fact   20 in all   30.0 s",
        "  tc   iteration 40   +1 fact   40 in all   60.0 s",
    ]
