"""Windows, slides and watermarks: which slides close when, and which tuples come too late for theirs.

Slides are at the multiples of their distance, so that they do not depend on which tuple happens to come first. The
slide of a tuple is the first one that is not before it. A slide closes when the watermark has passed it: tuples with
its own time may still come until a later one, and the delay after it, was seen on every stream.

Times are ints in the unit of the timestamp column: microseconds, or whatever the plain numbers of a plain clock count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np

from emberlog.diagnostics import fail
from emberlog.semantics.model import CheckedProgram
from emberlog.streams.plan.several_windows import by_window, window_of
from emberlog.streams.plan.windows import MICROSECONDS
from emberlog.syntax import ast
from emberlog.syntax.vocabulary import TIME_UNITS
from emberlog.workers.kernels.lanes import Lane


@dataclass(frozen=True, slots=True)
class Slide:
    """Names a time for which answers are wanted, and the window that they are about."""

    at: int
    since: int | None
    """The tuples of the window have times from `since` on, itself included; None without a window."""
    until: int
    """The last time that a tuple of the window can have: `at`, or the one before."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Says when the slides of a query are, how much time the window of each covers, and how long late tuples have."""

    distance: int
    """The time between two slides."""
    size: int | None
    """The size of the window; None keeps everything for ever."""
    delay: int = 0
    """How long tuples out of order are waited for."""
    is_half_open: bool = False
    """Whether the window of a slide has no tuple of the time of the slide itself."""
    tells_quiet: bool = True
    """Whether a slide is told for which no tuple has arrived, as long as its window holds one."""
    gap: int | None = None
    """Of sessions: tuples of one have no longer gap between them. None for windows of a size."""
    key: str | None = None
    """The column whose values have sessions of their own."""
    each: tuple[Schedule, ...] = ()
    """The schedules of the windows of a program that has several: this is what they have in common."""

    def slide_of(self, time: int) -> int:
        """Returns the first slide whose window may hold a tuple of this time."""
        return int(self.slides_of(np.array([time], np.int64))[0])

    def slides_of(self, times: Lane) -> Lane:
        if self.is_half_open:
            return (times // self.distance + 1) * self.distance
        return -(-times // self.distance) * self.distance

    def slide(self, at: int) -> Slide:
        return Slide(at, self.since(at), self.until(at))

    def until(self, at: int) -> int:
        """Returns the last time that a tuple of a slide's window can have."""
        return at - 1 if self.is_half_open else at

    def passed(self, watermark: int) -> int:
        """Returns the last slide for which no tuple can come any more."""
        return (watermark if self.is_half_open else watermark - 1) // self.distance * self.distance

    def had_by_all(self, at: int) -> int:
        """Returns the last time whose tuples every window has had after a slide: some may have their next one later."""
        return min(one.until(at // one.distance * one.distance) for one in self.each or (self,))

    def since(self, at: int) -> int | None:
        return None if self.size is None else at - self.size


def schedule_of(
    checked: CheckedProgram,
    *,
    watermark: int | str = 0,
    slide: int | str | None = None,
    time_to_live: int | str | None = None,
    plain_clock: bool,
) -> Schedule:
    """Makes the schedule from the window of the queries, and from what the options of the query say about time. A plain
    clock counts something, any other counts microseconds."""
    window = _window_of(checked, plain_clock=plain_clock)
    delay = _length("watermark", watermark, plain_clock=plain_clock)
    if window is not None:
        if slide is not None:
            raise fail("DL508", "the window says how far its slides are apart", None, "leave `slide` out")
        if time_to_live is not None:
            raise fail("DL508", "the window says how long tuples stay", None, "leave `timeToLive` out")
        return replace(window, delay=delay)
    distance = _length("slide", slide if slide is not None else _SLIDE[plain_clock], plain_clock=plain_clock)
    if distance < 1:
        raise fail("DL508", f"slides are at least 1 apart, not {distance:,}")
    if time_to_live is None:
        return Schedule(distance, None, delay)
    return Schedule(distance, _length("timeToLive", time_to_live, plain_clock=plain_clock), delay, tells_quiet=False)


_SLIDE: Mapping[bool, int | str] = {True: 1, False: "1 second"}
"""The distance of slides without a window, by whether the clock is plain."""

_DURATION = re.compile(r"\s*(\d+)\s*([A-Za-z]+)\s*")


def _window_of(checked: CheckedProgram, *, plain_clock: bool) -> Schedule | None:
    """Returns the schedule of the window of a program, or what those of several have in common; None if it has none."""
    windows = [window_of(part) for part in by_window(checked)]
    each = tuple(_in_clock_units(one, plain_clock=plain_clock) for one in windows if one is not None)
    if len(each) < 2:
        return next(iter(each), None)
    distance = math.gcd(*(one.distance for one in each))
    # A slide of one of them may be over for as long as the next is away, and its tuples are needed until then.
    size = max((one.size or 0) + one.distance - distance for one in each)
    return Schedule(distance, size, is_half_open=all(one.is_half_open for one in each), each=each)


def _in_clock_units(window: ast.Window, *, plain_clock: bool) -> Schedule:
    size = _duration(window.size, plain_clock=plain_clock)
    match window.kind:
        case ast.WindowKind.SESSION:
            return Schedule(1, None, is_half_open=True, gap=size, key=window.key)
        case ast.WindowKind.TUMBLE:
            return Schedule(size, size, is_half_open=True)
        case ast.WindowKind.HOP | ast.WindowKind.CLOSED:
            distance = _duration(window.slide or ast.Duration(1, window.size.unit), plain_clock=plain_clock)
            return Schedule(distance, size, is_half_open=window.kind is ast.WindowKind.HOP)
    assert_never(window.kind)


def _duration(duration: ast.Duration, *, plain_clock: bool) -> int:
    if duration.unit is None:
        if plain_clock:
            return duration.amount
        raise fail(
            "DL322",
            f"the window says {duration.amount} without a unit, and the times of the stream are moments",
            duration.span,
            f"write a unit: `{duration.amount} minutes`",
        )
    if plain_clock:
        raise fail(
            "DL322",
            f"{duration.amount} {duration.unit} are asked for, and the times of the stream are plain numbers",
            duration.span,
            "write a plain number, in the unit of the times, or give the stream real timestamps",
        )
    return duration.amount * MICROSECONDS[duration.unit]


def _length(name: str, given: int | str, *, plain_clock: bool) -> int:
    """Reads a length of time that an option gives: `10 minutes`, or a plain number for a plain clock."""
    found = _DURATION.fullmatch(given) if isinstance(given, str) else None
    unit = "" if found is None else found[2].lower().removesuffix("s") + "s"
    if isinstance(given, int) and given >= 0 and (plain_clock or given == 0):
        return given
    if found is None or unit not in TIME_UNITS:
        example, units = ("100", "the unit of the times") if plain_clock else ('"10 minutes"', ", ".join(TIME_UNITS))
        raise fail("DL508", f"`{given}` is no {name}", None, f"write it as in {name}={example}, in {units}")
    return _duration(ast.Duration(int(found[1]), unit), plain_clock=plain_clock)


def seconds_of(name: str, given: str) -> float:
    """Reads a length of time by the clock on the wall, such as `30 seconds`."""
    return _length(name, given, plain_clock=False) / MICROSECONDS["seconds"]


@dataclass(frozen=True, slots=True)
class Clock:
    """Tells how far a query has come in event time."""

    greatest: Mapping[str, int] = field(default_factory=dict)
    """The greatest time seen on each stream; a stream that has given nothing yet is not in it."""
    closed: int | None = None
    """The last slide that closed; a tuple that is not after it is late."""
    newest: int | None = None
    """The greatest time of a tuple that was part of a slide."""
    first: int | None = None
    """The first slide that closed."""

    def seen(self, stream: str, time: int) -> Clock:
        before = self.greatest.get(stream)
        if before is not None and before >= time:
            return self
        return replace(self, greatest={**self.greatest, stream: time})

    def watermark(self, schedule: Schedule, streams: Iterable[str], idle: Collection[str] = ()) -> int | None:
        """Returns the time before which no tuple is expected; None as long as some stream has given nothing. Those that
        are idle do not count, unless all are."""
        times = [self.greatest.get(stream) for stream in streams if stream not in idle]
        known = [time for time in times if time is not None]
        return min(known) - schedule.delay if known and len(known) == len(times) else None


@dataclass(frozen=True, slots=True)
class Due:
    """Lists the slides that close now, with the clock after they have closed."""

    slides: tuple[int, ...]
    clock: Clock


def due_slides(
    schedule: Schedule,
    clock: Clock,
    streams: Iterable[str],
    waiting: Mapping[int, int],
    *,
    to_the_end: bool = False,
    idle: Collection[str] = (),
) -> Due:
    """Finds the slides that close, given those that tuples wait for, each with the greatest time of its tuples.

    A slide counts if its window holds a tuple, or if it is the first one whose window no longer does. Without a window
    nothing leaves, and a slide counts if a tuple has arrived for it. `to_the_end` closes all that tuples wait for.
    """
    watermark = clock.watermark(schedule, streams, idle)
    passed = [] if watermark is None else [schedule.passed(watermark)]
    last = max([*passed, *(_ends(schedule, clock, waiting) if to_the_end else ())], default=None)
    if last is None or (clock.closed is not None and last <= clock.closed):
        return Due((), clock)
    slides: list[int] = []
    newest = clock.newest
    for at in _candidates(schedule, clock, sorted(waiting), last):
        before = at - schedule.distance
        arrives = at in waiting
        is_asked = schedule.size is not None and schedule.tells_quiet
        held = is_asked and newest is not None and newest >= before - (schedule.size or 0)
        if not arrives and not held:
            continue
        slides.append(at)
        if arrives:
            newest = waiting[at] if newest is None else max(newest, waiting[at])
    first = next(iter(slides), None) if clock.first is None else clock.first
    return Due(tuple(slides), replace(clock, closed=last, newest=newest, first=first))


def _ends(schedule: Schedule, clock: Clock, waiting: Mapping[int, int]) -> Iterable[int]:
    """Returns slides until which all windows have had their tuples; of several, some may have a slide later."""
    if not schedule.each:
        return waiting
    newest = [*waiting.values(), *([] if clock.newest is None else [clock.newest])]
    return [one.slide_of(time) for one in schedule.each for time in newest]


def _candidates(schedule: Schedule, clock: Clock, waiting: list[int], last: int) -> Iterator[int]:
    """Yields slides in their order: those that tuples wait for, and as many after each as its tuples can stay in a
    window."""
    reach = 0 if schedule.size is None or not schedule.tells_quiet else schedule.size // schedule.distance + 2
    starts = [at for at in waiting if at <= last]
    if clock.closed is not None and reach:
        starts.insert(0, clock.closed + schedule.distance)
    beyond = last + schedule.distance
    for start, follower in zip(starts, (*starts[1:], beyond), strict=False):
        yield from range(start, min(follower, start + max(1, reach) * schedule.distance, beyond), schedule.distance)
