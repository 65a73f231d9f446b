"""The line that shows how far a run is: in a terminal, in a notebook's kernel without widgets, and nowhere."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Callable

import pytest

import emberlog
from emberlog.events import IterationFinished, RunFinished, StratumStarted
from emberlog.progress import live_line
from emberlog.progress.bars import LineBar
from emberlog.progress.live_line import LiveLine
from emberlog.progress.run_line import RunLine, shown_run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """Everything that was ever shown on the line, without the spaces that wipe it."""
        return [shown for part in re.split(r"[\r\n]", self.getvalue()) if (shown := part.rstrip())]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(live_line, "REFRESH", 0.01)
    return Terminal()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_run_is_told_on_one_line(terminal: Terminal) -> None:
    with LiveLine(terminal) as line:
        run = RunLine(line)
        run(StratumStarted(1, ("tc",), True))
        run(IterationFinished(1, ("tc",), 2, 304, 1_204, 0.4))
        wait_until(lambda: "facts/s" in terminal.getvalue())
        run(IterationFinished(1, ("tc",), 3, 1, 1_205, 0.4))
        wait_until(lambda: "iteration 3" in terminal.getvalue())
        run(RunFinished(1.0))
    assert any(
        re.fullmatch(r"tc   iteration 2   \+304 facts   1,204 in all   +[\d.]+[kM]? facts/s   \d\.\d s", one)
        for one in terminal.lines()
    )
    assert "\n" not in terminal.getvalue()
    assert terminal.getvalue().endswith("\r") and not terminal.getvalue().split("\r")[-2].strip()


def test_the_rate_of_another_relation_begins_anew(terminal: Terminal) -> None:
    with LiveLine(terminal) as line:
        run = RunLine(line)
        run(IterationFinished(1, ("tc",), 2, 304, 1_000_000, 0.4))
        wait_until(lambda: "1,000,000 in all" in terminal.getvalue())
        run(StratumStarted(2, ("sg",), True))
        run(IterationFinished(2, ("sg",), 1, 10, 10, 0.4))
        wait_until(lambda: "sg   iteration 1" in terminal.getvalue())
        bar: LineBar = line._bar
        assert bar.n == 10


def test_what_is_kept_stands_above_the_line(terminal: Terminal) -> None:
    with LiveLine(terminal) as line:
        line.begin("reading")
        wait_until(lambda: "reading" in terminal.getvalue())
        line.keep("tc   2 iterations")
    assert terminal.lines()[-1] == "tc   2 iterations"
    assert re.search(r"\r +\rtc   2 iterations\n\r*$", terminal.getvalue())


def test_a_line_never_wraps(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    with LiveLine(terminal) as line:
        line.begin("a relation with a very long name")
        wait_until(lambda: "relation" in terminal.getvalue())
    assert max(map(len, terminal.lines())) <= 20


def test_what_is_over_in_a_blink_shows_nothing(terminal: Terminal) -> None:
    with LiveLine(terminal, delay=60) as line:
        line.begin("planning")
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("is_wanted", [True, False])
def test_a_database_shows_its_runs_in_a_terminal(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, is_wanted: bool
) -> None:
    monkeypatch.setattr("emberlog.progress.run_line.BLINK", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    database = emberlog.Database(engine="local", progress=is_wanted)

    def slow(number: int) -> int:
        time.sleep(0.02)
        return number + 1

    database.function("next", slow, ["int"], "int")
    database.datalog("n(0). n(Y) :- n(X), X < 30, Y = next(X).")
    assert any(one.startswith("n   iteration") for one in terminal.lines()) is is_wanted
    assert is_wanted or terminal.getvalue() == ""


def test_nothing_is_shown_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("emberlog.progress.run_line.BLINK", 0.0)
    with shown_run(True) as listener:
        listener(StratumStarted(1, ("tc",), True))
        time.sleep(0.05)
    assert stream.getvalue() == ""


def test_a_terminal_that_goes_away_ends_no_run(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: str) -> int:
        raise OSError("gone")

    monkeypatch.setattr(terminal, "write", gone)
    with LiveLine(terminal) as line:
        line.begin("reading")
        assert line._thread is not None
        line._thread.join(10)
        assert not line._thread.is_alive()
