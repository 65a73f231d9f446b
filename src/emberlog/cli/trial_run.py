"""A small recursive program on a Spark of our own, to see that everything works together."""

from __future__ import annotations

import time

from emberlog.cli.health import Finding, State
from emberlog.diagnostics import EmberlogError

PROGRAM = """\
arc(1, 2).
arc(2, 3).
arc(3, 4).
reach(X, Y) :- arc(X, Y).
reach(X, Z) :- reach(X, Y), arc(Y, Z).
"""
EXPECTED = 6


def try_spark() -> Finding:
    from emberlog.database import Database

    since = time.monotonic()
    try:
        with Database() as database:
            ready = time.monotonic()
            found = database.datalog(PROGRAM)["reach"].count()
    except EmberlogError as error:
        first = error.diagnostics[0]
        return Finding(State.MISSING, "Spark", first.message, "; ".join(note.text for note in first.notes))
    if found != EXPECTED:
        return Finding(State.MISSING, "Spark", f"a small program gave {found:,} facts instead of {EXPECTED}")
    text = f"started in {ready - since:,.1f} s, and ran a small program in {time.monotonic() - ready:,.1f} s"
    return Finding(State.FINE, "Spark", text)
