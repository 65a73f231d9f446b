"""Watches over the limits of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial

from emberlog.config import Limits
from emberlog.deadline import end_of
from emberlog.diagnostics import EmberlogError, fail
from emberlog.language.values import shown
from emberlog.logical.nodes import Plan
from emberlog.semantics.model import Fact

_CALLS_BETWEEN_LOOKS = 1_000
_FACTS_SHOWN = 3


class NotSmall(Exception):
    """Says that a stratum has derived too many facts for the interpreter, or looked at too many rows for them."""


class Watch:
    """Watches the limits of one run in this process."""

    most_rows: float = math.inf
    """Those that a join may give where the interpreter is for what is small."""

    def __init__(
        self,
        limits: Limits,
        tell: Callable[[int, int, int], None] = lambda *_: None,
        saw: Callable[[Plan, int], None] = lambda *_: None,
    ) -> None:
        """`tell` hears of each iteration: its number, the facts that it added, and those of the stratum. `saw` hears
        how many rows a node of a plan gave, each time that it gives some."""
        self._limits = limits
        self._tell = tell
        self.saw = saw
        self._end = None if limits.timeout is None else end_of(limits.timeout)
        self._calls = 0
        self._kept = 0
        self._stratum = ""
        self._progress: Callable[[], str] = _no_progress

    @property
    def is_timed(self) -> bool:
        """Tells whether the clock has to be looked at."""
        return self._end is not None

    def enter(self, index: int, relations: Sequence[str]) -> None:
        self._stratum = f"stratum {index}: {', '.join(relations)}"
        self._progress = _no_progress

    def leave(self, facts: int) -> None:
        """Takes note that a stratum is complete and how many facts it has."""
        self._kept += facts
        self._check_rows(0)

    def finish_iteration(
        self, number: int, added: Sequence[tuple[str, Collection[Fact]]], facts: int, vanished: int = 0
    ) -> None:
        """Takes note of an iteration that changed something, after which the stratum has `facts`, and checks the
        limits. It may have done no more than take facts away."""
        self._progress = partial(_progress, number, added, facts)
        self._tell(number, sum([len(new) for _, new in added]) or vanished, facts)
        limit = self._limits.max_iterations
        if limit is not None and number > limit:
            raise self._stopped("DL510", f"the limit of {limit:,} iterations", "max_iterations")
        self._check_rows(facts)
        self.check_time()

    def _check_rows(self, facts: int) -> None:
        limit = self._limits.max_rows
        if limit is not None and self._kept + facts > limit:
            raise self._stopped("DL511", f"the limit of {limit:,} rows", "max_rows")

    def check_time(self) -> None:
        if self._end is not None and time.monotonic() > self._end:
            raise self._stopped("DL512", f"the timeout of {self._limits.timeout:,} seconds", "timeout")

    def check_growing(self, rows: int) -> None:
        """Raises NotSmall if a node gave too many rows, and looks at the clock once in many calls: for long loops."""
        if rows > self.most_rows:
            raise NotSmall
        self._calls += 1
        if self._calls % _CALLS_BETWEEN_LOOKS == 0:
            self.check_time()

    def _stopped(self, code: str, limit: str, option: str) -> EmberlogError:
        return fail(
            code,
            f"{limit} was passed in {self._stratum}",
            None,
            self._progress(),
            f"if the program comes to an end by itself, raise {option}; "
            "if it makes new values for ever, bound them with a condition such as `D < 1000`",
        )


def _no_progress() -> str:
    return "no iteration was finished"


def _progress(number: int, added: Sequence[tuple[str, Collection[Fact]]], facts: int) -> str:
    texts = sorted(f"{name}({', '.join(map(shown, fact))})" for name, new in added for fact in new)
    first = ", ".join(texts[:_FACTS_SHOWN]) + (", …" if len(texts) > _FACTS_SHOWN else "")
    plural = "" if len(texts) == 1 else "s"
    return f"iteration {number:,} added {len(texts):,} fact{plural}, {facts:,} in all: {first}"
