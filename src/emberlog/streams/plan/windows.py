"""What the windows of a program say by themselves, before there is a clock: the units of time, and how many slides."""

from __future__ import annotations

import math
from collections.abc import Hashable

from emberlog.semantics.model import CheckedProgram
from emberlog.syntax import ast

MICROSECONDS = {
    "milliseconds": 1_000,
    "seconds": 1_000_000,
    "minutes": 60_000_000,
    "hours": 3_600_000_000,
    "days": 86_400_000_000,
    "weeks": 7 * 86_400_000_000,
    "months": 30 * 86_400_000_000,
    "years": 365 * 86_400_000_000,
}


def slides_in_window(checked: CheckedProgram) -> float:
    """Returns how many slides a tuple is in: of a query without a window without end, of sessions one."""
    window = next((query.window for query in checked.queries if query.window is not None), None)
    match window:
        case None:
            return math.inf
        case ast.Window(kind=ast.WindowKind.SESSION | ast.WindowKind.TUMBLE):
            return 1
        case ast.Window(size, slide):
            return _length(size) / _length(slide or ast.Duration(1, size.unit))


def shape_of(window: ast.Window) -> Hashable:
    """Returns what two windows have in common if they are the same, in whatever units they are written."""
    slide = window.slide or ast.Duration(1, window.size.unit)
    return window.kind, _length(window.size), _length(slide), window.size.unit is None, window.key


def _length(duration: ast.Duration) -> int:
    return duration.amount * (1 if duration.unit is None else MICROSECONDS[duration.unit])
