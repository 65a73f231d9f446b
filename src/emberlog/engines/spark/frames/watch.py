"""Watches a run: its limits, its clock, its progress, and the way to stop what Spark is doing for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Event as Signal
from threading import Timer

from pyspark.sql import SparkSession

from emberlog.config import Limits
from emberlog.deadline import end_of
from emberlog.diagnostics import EmberlogError, fail, was_interrupted
from emberlog.engines.spark.frames.faults import Places, is_cancelled
from emberlog.engines.spark.frames.job_tag import JobTag
from emberlog.events import IterationFinished, Listener
from emberlog.source import NOWHERE
from emberlog.timing import Part, running

SHOWN_FACTS = 3

_SECONDS_BETWEEN_STOPS = 0.5


class Watch:
    """Watches the limits of one run on Spark. The stratum and its iterations are told to it as they happen."""

    def __init__(self, spark: SparkSession, limits: Limits, listener: Listener, places: Places) -> None:
        self._jobs = JobTag(spark)
        self._limits = limits
        self._listener = listener
        self._places = places
        self._timed_out, self._is_over = Signal(), Signal()
        self._rows_before = 0
        self._stratum = 0
        self._relations: tuple[str, ...] = ()
        self._rules: tuple[str, ...] = ()
        self._progress: Callable[[], str] = lambda: "no iteration was finished"
        self._since = time.monotonic()
        self._stopwatch = running()
        self.iteration = 0

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Stops jobs, while it is entered, when time is up, and when the person presses Ctrl-C."""
        timer: Timer | None = None
        if self._limits.timeout is not None:
            left = end_of(self._limits.timeout) - time.monotonic()
            timer = Timer(max(left, 0.0), self._stop_for_time)
            timer.daemon = True
            timer.start()
        self._jobs.begin()
        try:
            yield
            if self._timed_out.is_set():
                raise self._timeout()
        except KeyboardInterrupt:
            self._jobs.stop()
            raise
        except Exception as error:
            if was_interrupted(error):
                self._jobs.stop()
                raise KeyboardInterrupt from None
            if self._timed_out.is_set():
                raise self._timeout() from None
            if is_cancelled(error):
                raise fail("DL513", "the run was cancelled") from None
            raise
        finally:
            self._is_over.set()
            if timer is not None:
                timer.cancel()
            self._jobs.end()

    def enter(self, stratum: int, relations: tuple[str, ...], rules: Sequence[str]) -> None:
        """Takes note that a recursive stratum begins. `rules` are those that read it."""
        self._stratum, self._relations, self._rules = stratum, relations, tuple(rules)
        self._progress = lambda: "no iteration was finished"
        self._since = time.monotonic()
        self.iteration = 0

    def leave(self, rows: int) -> None:
        """Takes note that the stratum is done; its facts stay."""
        self._rows_before += rows

    def remaining(self) -> Limits:
        """Returns the limits as they are for the stratum that begins."""
        limits = self._limits
        rows = None if limits.max_rows is None else max(1, limits.max_rows - self._rows_before)
        return replace(limits, max_rows=rows, timeout=None)

    def check_time(self) -> None:
        """Raises an error if time is up: for those who wait without a job that could be stopped."""
        if self._timed_out.is_set():
            raise self._timeout()

    def hear(self, iteration: int, delta_rows: int, total_rows: int, bytes_sent: int) -> None:
        """Takes note of progress that was made elsewhere, where the limits are watched, too."""
        if self._stopwatch is not None:  # the first round of workers: all of them have started
            self._stopwatch.switch(Part.COMPUTING, only_from=Part.WORKERS)
        now = time.monotonic()
        seconds, self._since = now - self._since, now
        self._listener(
            IterationFinished(self._stratum, self._relations, iteration, delta_rows, total_rows, seconds, bytes_sent)
        )

    def check_iteration(self, delta_rows: int, total_rows: int, some_facts: Callable[[int], Sequence[str]]) -> None:
        """Takes note of a round that changed something, and checks the limits."""
        self.iteration += 1
        now = time.monotonic()
        seconds, self._since = now - self._since, now
        self._listener(
            IterationFinished(self._stratum, self._relations, self.iteration, delta_rows, total_rows, seconds)
        )
        number = self.iteration
        self._progress = lambda: _progress(number, delta_rows, total_rows, some_facts)
        limits = self._limits
        if limits.max_iterations is not None and number > limits.max_iterations:
            raise self._passed("DL510", f"the limit of {limits.max_iterations:,} iterations", "max_iterations")
        if limits.max_rows is not None and self._rows_before + total_rows > limits.max_rows:
            raise self._passed("DL511", f"the limit of {limits.max_rows:,} rows", "max_rows")
        self.check_time()

    def _stop_for_time(self) -> None:
        self._timed_out.set()
        while not self._is_over.is_set():  # the next job may not have begun yet
            self._jobs.stop()
            self._is_over.wait(_SECONDS_BETWEEN_STOPS)

    def _timeout(self) -> EmberlogError:
        return self._passed("DL512", f"the timeout of {self._limits.timeout:,} seconds", "timeout")

    def _passed(self, code: str, limit: str, option: str) -> EmberlogError:
        names = ", ".join(self._relations)
        place = next((self._places[rule] for rule in self._rules if rule in self._places), NOWHERE)
        return fail(
            code,
            f"{limit} was passed in stratum {self._stratum}: {names}" if names else f"{limit} was passed",
            None if place is NOWHERE else place,
            self._progress(),
            f"if the program comes to an end by itself, raise {option}; "
            "if it makes new values for ever, bound them with a condition such as `D < 1000`",
        )


def _progress(iteration: int, delta: int, total: int, some_facts: Callable[[int], Sequence[str]]) -> str:
    """Returns how far the run came, with a few facts of the last round, if they can still be had."""
    facts: Sequence[str] = ()
    with suppress(Exception):
        facts = some_facts(SHOWN_FACTS)
    shown = f": {', '.join(facts)}{', …' if delta > len(facts) else ''}" if facts else ""
    noun = "fact" if delta == 1 else "facts"
    return f"iteration {iteration:,} added {delta:,} {noun}, {total:,} in all{shown}"
