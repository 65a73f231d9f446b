"""Divides a program whose queries have several windows into a program for each window.

The answer of a query is that of the program on the tuples of its window, whatever other queries ask for. So windows
have nothing in common but the streams, and each is evaluated by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from emberlog.diagnostics import fail
from emberlog.semantics.model import CheckedProgram, CheckedQuery
from emberlog.streams.plan.windows import shape_of
from emberlog.syntax import ast


def by_window(checked: CheckedProgram) -> tuple[CheckedProgram, ...]:
    """Returns a program for each window, with its queries alone; those of what no stream is below come with the first.
    Most programs have one window, or none."""
    timed = [query for query in checked.queries if checked.relations[query.relation].is_stream]
    parts: dict[object, list[CheckedQuery]] = {}
    for query in timed:
        parts.setdefault(None if query.window is None else shape_of(query.window), []).append(query)
    if len(parts) < 2:
        return (checked,)
    _check(list(parts.values()))
    still = [query for query in checked.queries if query not in timed]
    first, *others = parts.values()
    return tuple(replace(checked, queries=tuple(queries)) for queries in ([*first, *still], *others))


def window_of(checked: CheckedProgram) -> ast.Window | None:
    """Returns the window of a program that has one."""
    return next((query.window for query in checked.queries if query.window is not None), None)


def _check(parts: Sequence[Sequence[CheckedQuery]]) -> None:
    """Raises an error unless each relation has one window, and all of them have slides."""
    asked: set[str] = set()
    for queries in parts:
        window, names = queries[0].window, {query.relation for query in queries}
        if window is None:
            raise fail(
                "DL321",
                f"`{queries[0].relation}` is asked for without a window, and other relations with one",
                queries[0].span,
                "give it a window as well, or make two programs of it",
            )
        if window.kind is ast.WindowKind.SESSION:
            raise fail(
                "DL321",
                "sessions end when they are over, and the other windows of the program at their slides",
                window.span,
                "make a program of its own for the sessions",
            )
        if twice := next((query for query in queries if query.relation in asked), None):
            assert twice.window is not None
            raise fail(
                "DL321",
                f"`{twice.relation}` is asked for with two windows",
                twice.window.span,
                "derive another relation from it, and ask for that with the second window",
            )
        asked |= names
