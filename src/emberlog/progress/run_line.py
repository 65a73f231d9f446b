"""Tells on a live line which relation a run computes, and how far it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import assert_never

from emberlog.events import (
    Event,
    ExecutorChosen,
    IterationFinished,
    Listener,
    RecursionCutOff,
    RecursionRetried,
    RulesProfiled,
    RunFinished,
    RunStarted,
    StratumFinished,
    StratumStarted,
    TimeSpent,
    ignore,
)
from emberlog.logical.summary import counted
from emberlog.progress.live_line import BLINK, LiveLine


@contextmanager
def shown_run(is_wanted: bool) -> Iterator[Listener]:
    """While this is entered, what the listener hears is shown, if that is wanted and there is a place for it."""
    line = LiveLine(sys.stderr, delay=BLINK)
    if not (is_wanted and line.is_live):
        yield ignore
        return
    with line:
        line.begin("planning")
        yield RunLine(line)


class RunLine:
    """Listens to a run and shows its last event; nothing of it stays."""

    def __init__(self, line: LiveLine) -> None:
        self._line = line

    def __call__(self, event: Event, /) -> None:
        match event:
            case StratumStarted(_, relations, _) | RecursionRetried(_, relations):
                self._line.begin(names(relations))
            case IterationFinished():
                self._line.show(iteration_text(event), event.total_rows)
            case RunFinished():
                self._line.clear()
            case RunStarted() | ExecutorChosen() | RulesProfiled() | RecursionCutOff() | StratumFinished():
                pass
            case TimeSpent():
                pass
            case _:
                assert_never(event)


def iteration_text(event: IterationFinished) -> str:
    """Returns how far a recursion is: `tc   iteration 2   +304 facts   1,204 in all`."""
    new = counted(event.delta_rows, "fact")
    return f"{names(event.relations)}   iteration {event.iteration:,}   +{new}   {event.total_rows:,} in all"


def names(relations: Sequence[str]) -> str:
    """Returns the relations of a stratum as one name."""
    return ", ".join(relations)
