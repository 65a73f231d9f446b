"""The live line and what a run says on it."""

from __future__ import annotations

import io

import pytest

from emberlog.cli.live_line import LiveLine
from emberlog.cli.progress import Progress
from emberlog.events import Event, IterationFinished, RunFinished, RunStarted, StratumFinished, StratumStarted

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


class Screen(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


def watched(screen: Screen) -> str:
    with LiveLine(screen) as line:
        progress = Progress(line)
        for event in RUN:
            progress(event)
    assert progress.seconds == 1.0
    return screen.getvalue()


def test_plain_lines_where_there_is_no_terminal() -> None:
    assert watched(Screen(is_terminal=False)) == "  tc   2 iterations   1,204 facts   0.9 s\n"


def test_one_line_that_is_rewritten_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    text = watched(Screen(is_terminal=True))
    shown = text.split("\r\x1b[K")
    assert "  tc   iteration 2   +304 facts   1,204 in all   0.0 s" in shown
    assert shown[-1] == "  tc   2 iterations   1,204 facts   0.9 s\n"


def test_a_line_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    screen = Screen(is_terminal=True)
    with LiveLine(screen) as line:
        line.begin("  a relation with a very long name")
    assert max(len(shown) for shown in screen.getvalue().split("\r\x1b[K")) <= 20
    assert screen.getvalue().endswith("\r\x1b[K")


def test_long_work_is_told_now_and_then_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("emberlog.cli.live_line.time.monotonic", lambda: clock[0])
    screen = Screen(is_terminal=False)
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
