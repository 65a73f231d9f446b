"""Which slides close, what arrives at each, and what is late, compared with the definition; windows and their units."""

from __future__ import annotations

import random

import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram
from emberlog.source import Source
from emberlog.streams.plan.slides import Clock, Schedule, Slide, schedule_of
from emberlog.streams.state.backlog import Backlog, sort_out
from emberlog.syntax.parser import parse
from tests.unit.streams.echo import TUPLES
from tests.unit.streams.stream_runs import batch_of

Arrivals = list[tuple[int, list[int]]]


def run(schedule: Schedule, batches: list[list[int]]) -> tuple[Arrivals, int]:
    """Each slide with the times of the tuples that arrived for it, and how many tuples were late."""
    clock, backlog = Clock(), Backlog(schedule, {"s": TUPLES.empty_table()})
    arrivals: Arrivals = []
    late = 0
    for number in range(len(batches) + 1):
        is_end = number == len(batches)
        told = sort_out(schedule, clock, batch_of({"s": [] if is_end else [(time, 0) for time in batches[number]]}))
        late += told.late["s"].num_rows
        backlog.add(told.in_time)
        due = backlog.due(told.clock, to_the_end=is_end)
        clock = due.clock
        arrivals += [(at, arrived["s"].column(0).to_pylist()) for at, arrived in backlog.take(due.slides)]
    return arrivals, late


def expected(schedule: Schedule, times: list[int]) -> Arrivals:
    """By looking at every slide there could be."""
    found: Arrivals = []
    was_held = False
    passed = schedule.passed(max(times) - schedule.delay)
    last = max(schedule.slide_of(max(times)), passed)
    for at in range(schedule.slide_of(min(times)), last + 1, schedule.distance):
        new = [time for time in times if schedule.until(at - schedule.distance) < time <= schedule.until(at)]
        since = at if schedule.size is None else at - schedule.size
        is_held = schedule.size is not None and any(since <= time <= schedule.until(at) for time in times)
        if new or is_held or was_held:
            found.append((at, [time for time in new if schedule.size is None or time >= since]))
        was_held = is_held
    return found


@pytest.mark.parametrize("seed", range(60))
def test_slides_do_not_depend_on_batches_or_on_an_order_that_the_watermark_allows(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(10):
        size = chance.choice((None, chance.randint(1, 30)))
        delay = chance.choice((0, chance.randint(0, 10)))
        schedule = Schedule(chance.randint(1, 7), size, delay, is_half_open=chance.random() < 0.5)
        times = sorted(chance.randint(-20, 90) for _ in range(chance.randint(1, 25)))
        arrived = sorted(times, key=lambda time: time + chance.uniform(0, schedule.delay))
        slides = expected(schedule, times)
        assert run(schedule, [[time] for time in arrived]) == (slides, 0)
        assert run(schedule, [arrived]) == (slides, 0)
        cut = chance.randint(0, len(arrived))
        assert run(schedule, [arrived[:cut], [], arrived[cut:]]) == (slides, 0)


def test_a_slide_waits_for_tuples_of_its_own_time() -> None:
    slides, late = run(Schedule(10, 20), [[3, 10], [10], [11], [10]])
    assert slides[0] == (10, [3, 10, 10])
    assert late == 1


def test_late_is_what_came_after_its_slide_had_closed_in_an_earlier_batch() -> None:
    assert run(Schedule(10, 20), [[5, 25], [6]])[1] == 1
    assert run(Schedule(10, 20), [[5, 25, 6]])[1] == 0
    assert run(Schedule(10, 20, delay=20), [[5, 25], [6]])[1] == 0


def test_the_watermark_is_that_of_the_stream_that_is_furthest_behind() -> None:
    schedule, clock = Schedule(10, 20, delay=3), Clock().seen("a", 50)
    assert clock.watermark(schedule, ("a", "b")) is None
    assert clock.seen("b", 20).watermark(schedule, ("a", "b")) == 17
    assert clock.seen("b", 20).seen("b", 10) == clock.seen("b", 20)


def test_a_long_silence_costs_no_more_slides_than_a_window_has() -> None:
    slides, _ = run(Schedule(1, 10), [[0], [1_000_000_000]])
    assert [at for at, _ in slides] == [*range(12), 1_000_000_000]


# --- windows in the unit of the clock, and the slides that they make --------------------------------------------------

STREAM = "STREAM s(Ts: timestamp, X: int).\na(Ts, X) :- s(Ts, X).\nb(Ts, X) :- s(Ts, X).\n"


def checked(queries: str) -> CheckedProgram:
    return analyze(parse(Source("p.dl", STREAM + queries)))


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        ("query a(_, X), WINDOW(60 minutes).", Schedule(60_000_000, 3_600_000_000)),
        ("query a(_, X), WINDOW(1 year, 3 month).", Schedule(90 * 86_400_000_000, 365 * 86_400_000_000)),
        (
            "query a(_, X), WINDOW(1 hour, 1 minute). query b(_, X), WINDOW(60 minutes, 60 seconds).",
            Schedule(60_000_000, 3_600_000_000),
        ),
        ("query a(_, X).", Schedule(1_000_000, None)),
        ("", Schedule(1_000_000, None)),
    ],
)
def test_window_in_units_of_the_clock(queries: str, expected: Schedule) -> None:
    assert schedule_of(checked(queries), plain_clock=False) == expected


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("query b(_, X).", "`b` is asked for without a window"),
        ("query b(_, X), SESSION(5).", "sessions end when they are over"),
        ("query a(_, X), WINDOW(20).", "`a` is asked for with two windows"),
    ],
)
def test_windows_that_do_not_go_together_are_refused(other: str, message: str) -> None:
    with pytest.raises(EmberlogError, match=f"DL321.*{message}"):
        schedule_of(checked("query a(_, X), WINDOW(10). " + other), plain_clock=True)


def test_several_windows_have_the_slides_of_all() -> None:
    queries = "query a(_, X), HOP(5, 6). query b(_, X), WINDOW(8, 4). query a(_, 1), HOP(5, 6)."
    each = (Schedule(6, 5, is_half_open=True), Schedule(4, 8))
    assert schedule_of(checked(queries), plain_clock=True) == Schedule(2, 10, each=each)


def test_units_need_real_times() -> None:
    with pytest.raises(EmberlogError, match="DL322"):
        schedule_of(checked("query a(_, X), WINDOW(10 days)."), plain_clock=True)


def test_slides_are_multiples_of_the_step() -> None:
    schedule = Schedule(10, 100)
    assert [schedule.slide_of(moment) for moment in (-11, 0, 1, 10, 11)] == [-10, 0, 10, 10, 20]
    assert schedule.slide(20) == Slide(20, -80, 20)
