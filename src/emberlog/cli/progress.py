"""Shows how a run goes on: which stratum, which iteration, how many facts."""

from __future__ import annotations

from typing import assert_never

from emberlog.events import (
    Event,
    ExecutorChosen,
    IterationFinished,
    RecursionCutOff,
    RecursionRetried,
    RulesProfiled,
    RunFinished,
    RunStarted,
    StratumFinished,
    StratumStarted,
    TimeSpent,
)
from emberlog.logical.summary import counted
from emberlog.progress.live_line import LiveLine
from emberlog.progress.run_line import iteration_text, names


class Progress:
    """Listens to a run and keeps one line per recursive stratum. Others are computed when someone reads them."""

    def __init__(self, line: LiveLine) -> None:
        self._line = line
        self.seconds = 0.0
        """How long the run took."""

    def __call__(self, event: Event, /) -> None:
        match event:
            case RunStarted():
                self._line.begin("  planning")
            case StratumStarted(_, relations, is_recursive):
                if is_recursive:
                    self._line.begin(f"  {names(relations)}   first iteration")
            case ExecutorChosen(_, relations, executor, how, why):
                if executor == "dataframe" and why != "asked for":
                    self._line.keep(f"  {names(relations)}   runs as {how}: {why}")
                self._line.begin(f"  {names(relations)}   {how}")
            case RecursionRetried(_, relations, _, reason, since):
                place = f"iteration {since:,}" if since else "the beginning"
                self._line.keep(f"  {names(relations)}   again from {place}: {reason}")
                self._line.begin(f"  {names(relations)}")
            case IterationFinished():
                self._line.show(f"  {iteration_text(event)}", event.total_rows)
            case RulesProfiled() | RecursionCutOff() | TimeSpent():
                pass
            case StratumFinished(_, relations, iterations, rows, seconds, spilled=spilled):
                if spilled:
                    self._line.keep(f"  {names(relations)}   {spilled}")
                if iterations:
                    facts = "" if rows is None else f"   {counted(rows, 'fact')}"
                    self._line.keep(
                        f"  {names(relations)}   {counted(iterations, 'iteration')}{facts}   {seconds:,.1f} s"
                    )
            case RunFinished(seconds):
                self.seconds = seconds
                self._line.clear()
            case _:
                assert_never(event)
