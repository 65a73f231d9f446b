"""The parts of a run are told apart, and add up to the whole."""

from __future__ import annotations

import time
from threading import Thread

import pytest

import emberlog
from emberlog.events import Event, TimeSpent
from emberlog.profile import RunProfile
from emberlog.render.profile_text import timing_text
from emberlog.timing import Part, Stopwatch, compiling, measured, process_began, running, timed

TC = "arc(1, 2). arc(2, 3).\ntc(X, Y) :- arc(X, Y).\ntc(X, Z) :- tc(X, Y), arc(Y, Z).\n"


class Clock:
    """Stands for the system's clock."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("emberlog.timing.time.monotonic", clock)
    return clock


def spent(watch: Stopwatch) -> dict[Part, float]:
    return {part: seconds for part, seconds in watch.spent.items() if seconds}


def test_a_moment_counts_for_the_innermost_part(clock: Clock) -> None:
    with measured(Stopwatch(Part.IMPORTS, since=90.0)) as watch:
        with timed(Part.PLANNING):
            clock.now += 1
            with timed(Part.READING):
                clock.now += 2
            clock.now += 4
        clock.now += 8
    assert spent(watch) == {Part.IMPORTS: 18.0, Part.PLANNING: 5.0, Part.READING: 2.0}


def test_a_run_within_another_has_the_same_stopwatch() -> None:
    with measured() as outer, measured() as inner:
        assert inner is outer is running()
    assert running() is None


def test_compiling_counts_once_whichever_threads_do_it(clock: Clock) -> None:
    def compile_in_a_thread() -> None:
        with compiling():
            clock.now += 3

    with measured() as watch, timed(Part.COMPUTING):
        clock.now += 1
        with compiling():
            thread = Thread(target=compile_in_a_thread)
            thread.start()
            thread.join()
            clock.now += 5
        clock.now += 1
    assert spent(watch) == {Part.COMPUTING: 2.0, Part.KERNELS: 8.0}


def test_workers_have_started_when_they_are_heard_of(clock: Clock) -> None:
    with measured() as watch, timed(Part.WORKERS):
        clock.now += 2
        assert watch.switch(Part.COMPUTING, only_from=Part.WORKERS) is Part.WORKERS
        clock.now += 1
        assert watch.switch(Part.COMPUTING, only_from=Part.WORKERS) is Part.COMPUTING
    assert watch.switch(Part.COMPUTING, only_from=Part.WORKERS) is Part.OTHER
    clock.now += 1
    assert spent(watch) == {Part.WORKERS: 2.0, Part.COMPUTING: 1.0, Part.OTHER: 1.0}


def test_without_a_stopwatch_nothing_is_measured() -> None:
    with timed(Part.PLANNING), compiling():
        assert running() is None


def test_a_process_began_before_now() -> None:
    assert process_began() <= time.monotonic()


def test_a_result_and_its_listener_tell_the_same() -> None:
    heard: list[Event] = []
    result = emberlog.Database(engine="local").datalog(TC, listener=heard.append)
    assert heard[-1] == TimeSpent(result.timing)
    assert {"parsing, checking, planning", "computing"} <= result.timing.keys()
    profile = RunProfile()
    for event in heard:
        profile(event)
    assert profile.spent == result.timing


def test_parts_are_shown_with_their_sum() -> None:
    assert timing_text({"computing": 0.25, "writing": 1.5}) == (
        "  time       seconds\n  computing    0.250\n  writing      1.500\n  total        1.750"
    )
