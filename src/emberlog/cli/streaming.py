"""Runs a stream program from the command line, with a line that tells how it goes on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from emberlog.cli.parameters import given_text_options
from emberlog.cli.running import Task, heading
from emberlog.cli.terminal import silence_py4j
from emberlog.config import Limits, StreamOptions
from emberlog.diagnostics import fail
from emberlog.engines.spark.failures import told_as_such
from emberlog.logical.summary import counted
from emberlog.progress.live_line import LiveLine
from emberlog.syntax.ast import WindowKind
from emberlog.syntax.printer import print_duration

if TYPE_CHECKING:
    from emberlog.stream_run import StreamRun
    from emberlog.streams.spark.sinks import Frames
    from emberlog.streams.steps.progress import StreamProgress

_PATIENCE = 1.0
"""Seconds between two looks at a query that runs, so that Ctrl-C takes effect."""


def carry_out(
    task: Task,
    options: StreamOptions,
    *,
    arguments: argparse.Namespace,
    kind: str | None,
    show: int,
    limits: Limits,
    master: str | None,
    conf: Mapping[str, str],
) -> None:
    """Runs a program over streams until it ends or Ctrl-C. `kind` is that of the files of streams; `show` is how many
    rows of a batch are shown where the answers go to no files."""
    streams = [name for name in task.checked.inputs if task.checked.relations[name].is_stream]
    if not streams:
        raise fail("DL342", "this program reads no stream", None, "`emberlog run` computes its facts")
    silence_py4j()
    with told_as_such(), LiveLine(sys.stderr) as line:
        line.begin("  starting Spark")
        from emberlog.cli.databases import register_input
        from emberlog.database import Database
        from emberlog.io.spark_sources import stream_of_folder
        from emberlog.io.text_format import TextOptions

        text = TextOptions(**given_text_options(arguments))

        with Database(master=master, conf=conf) as database:
            line.keep(heading(task, database))
            for name, path in task.inputs.items():
                line.begin(f"  reading {path}")
                if name in streams:
                    relation = task.checked.relations[name]
                    database[name] = stream_of_folder(database.spark, relation, path, text=text, kind=kind)
                else:
                    register_input(database, task, name, arguments)
            result = database.datalog(task.program, params=task.params, iterations=task.iterations, limits=limits)
            view = View(line, _window_text(task))
            line.begin("  waiting for the first slide")
            _wait(result._start(options, None if options.path else partial(_show, line, show), view))
            view.finish()


def _wait(run: StreamRun) -> None:
    try:
        while not run.awaitTermination(_PATIENCE):
            pass
    except KeyboardInterrupt:
        run.stop()


def _show(line: LiveLine, rows: int, frames: Frames, step: int) -> None:
    """Writes the first rows of a batch to standard output."""
    from emberlog.streams.spark.sinks import Console

    if rows:
        line.clear()
        Console(sys.stdout, rows).show(step, frames)


def _window_text(task: Task) -> str:
    windows = [query.window for query in task.checked.queries if query.window is not None]
    if not windows:
        return "no window"
    sizes = ", ".join(dict.fromkeys(print_duration(window.size) for window in windows))
    return f"{'sessions' if windows[0].kind is WindowKind.SESSION else 'window'} {sizes}"


class View:
    """Shows how a query goes on: one line that changes on a terminal, and a line per batch elsewhere."""

    def __init__(self, line: LiveLine, window: str) -> None:
        self._line = line
        self._window = window
        self._last: StreamProgress | None = None

    def __call__(self, progress: StreamProgress) -> None:
        self._last = progress
        if self._line.is_live:
            self._line.begin(progress_text(progress, self._window))
        else:
            self._line.keep(progress_text(progress, self._window))

    def finish(self) -> None:
        last = self._last
        if last is None:
            self._line.keep("no tuples came")
            return
        if self._line.is_live:
            self._line.keep(progress_text(last, self._window))
        totals = f"{counted(last.totalRows, 'tuple')}, {last.totalLate:,} late, {last.totalExpired:,} expired"
        if last.totalBad:
            totals += f", {counted(last.totalBad, 'row')} put aside as bad"
        self._line.keep(f"ended after {counted(last.totalSlides, 'slide')}: {totals}")


def progress_text(progress: StreamProgress, window: str) -> str:
    slide = "none closed" if progress.lastSlide is None else _moment(progress.lastSlide)
    parts = [
        f"slide {slide}  {window}",
        f"in {counted(progress.numInputRows, 'tuple')} ({progress.processedRowsPerSecond:,.0f}/s)",
        f"late {progress.late:,}",
        f"expired {progress.expired:,}",
    ]
    if progress.totalBad:
        parts.append(f"bad {progress.bad:,}")
    for relation, facts in progress.facts.items():
        changes = (
            f" (+{progress.added[relation]:,} −{progress.removed[relation]:,})" if relation in progress.added else ""
        )
        parts.append(f"{relation} {counted(facts, 'fact')}{changes}")
    if "p99" in progress.latencies:
        parts.append(f"p99 {progress.latencies['p99']:,.3f} s")
    return "   ".join(parts)


def _moment(time: datetime | int) -> str:
    return f"{time:,}" if isinstance(time, int) else time.isoformat(sep=" ", timespec="auto").removesuffix("+00:00")
