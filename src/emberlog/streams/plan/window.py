"""The window of a stream program in the unit of its clock."""

from __future__ import annotations

from dataclasses import dataclass

from emberlog.diagnostics import fail
from emberlog.semantics.model import CheckedProgram
from emberlog.syntax import ast

_MICROSECONDS = {
    "milliseconds": 1_000,
    "seconds": 1_000_000,
    "minutes": 60_000_000,
    "hours": 3_600_000_000,
    "days": 86_400_000_000,
    "weeks": 7 * 86_400_000_000,
    "months": 30 * 86_400_000_000,
    "years": 365 * 86_400_000_000,
}


@dataclass(frozen=True, slots=True)
class Slide:
    """A moment for which answers are wanted. Moments are ints: microseconds, or plain numbers for a plain clock."""

    at: int
    since: int | None
    """The tuples of the window have times from `since` to `at`, both included; None without a window."""


@dataclass(frozen=True, slots=True)
class Window:
    """Answers are wanted at the multiples of `step`, each for the tuples of the time `size` before it."""

    size: int
    step: int

    def slide(self, at: int) -> Slide:
        return Slide(at, at - self.size)

    def next_slide(self, moment: int) -> int:
        """The first slide whose window has a tuple of this time."""
        return -(-moment // self.step) * self.step


def window_of(checked: CheckedProgram, *, plain_clock: bool) -> Window | None:
    """The window that the queries of a program agree on; None if the stream is kept for ever. A plain clock counts
    something, any other counts microseconds."""
    windows = [query.window for query in checked.queries if checked.relations[query.relation].is_stream]
    found = {None if one is None else _in_clock_units(one, plain_clock=plain_clock): one for one in windows}
    if len(found) > 1:
        written = next(one for one in reversed(found.values()) if one is not None)
        raise fail(
            "DL321",
            "the queries of a program have different windows",
            written.span,
            "give all of them the same window, or make two programs of it",
        )
    return next(iter(found), None)


def _in_clock_units(window: ast.Window, *, plain_clock: bool) -> Window:
    size = length_in_clock_units(window.size, plain_clock=plain_clock)
    if window.slide is not None:
        return Window(size, length_in_clock_units(window.slide, plain_clock=plain_clock))
    return Window(size, length_in_clock_units(ast.Duration(1, window.size.unit), plain_clock=plain_clock))


def length_in_clock_units(duration: ast.Duration, *, plain_clock: bool) -> int:
    """A length of time in microseconds, or in what a plain clock counts."""
    if duration.unit is None:
        return duration.amount
    if plain_clock:
        raise fail(
            "DL322",
            f"{duration.amount} {duration.unit} are asked for, and the times of the stream are plain numbers",
            duration.span,
            "write a plain number, in the unit of the times, or give the stream real timestamps",
        )
    return duration.amount * _MICROSECONDS[duration.unit]
