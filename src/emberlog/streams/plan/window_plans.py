"""Plans the maintenance of a program over streams for each of its windows."""

from __future__ import annotations

from dataclasses import dataclass

from emberlog.semantics.model import CheckedProgram, Column
from emberlog.streams.plan.maintenance import Maintenance, plan_maintenance
from emberlog.streams.plan.several_windows import by_window, window_of
from emberlog.syntax.printer import print_window


@dataclass(frozen=True, slots=True)
class WindowPlans:
    each: tuple[Maintenance, ...]
    """In the order of the windows in the program; most programs have one."""
    windows: tuple[str, ...]
    """How each window is written; empty without one."""

    @property
    def outputs(self) -> dict[str, tuple[Column, ...]]:
        """Returns the columns of each answer."""
        return {name: columns for one in self.each for name, columns in one.program.outputs.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """Says what is done with each relation, and why, a line each; in which window, if there are several."""
        if len(self.each) == 1:
            return self.each[0].notes
        told = zip(self.each, self.windows, strict=True)
        return tuple(f"in {window}, {note}" for one, window in told for note in one.notes)

    @property
    def why_one_partition(self) -> str | None:
        """Says what keeps all facts of a window in one place; None if nothing does."""
        return next((why for one in self.each if (why := one.why_one_partition) is not None), None)


def plan_windows(checked: CheckedProgram) -> WindowPlans:
    parts = by_window(checked)
    windows = [window_of(part) for part in parts]
    return WindowPlans(
        tuple(map(plan_maintenance, parts)), tuple("" if one is None else print_window(one) for one in windows)
    )
