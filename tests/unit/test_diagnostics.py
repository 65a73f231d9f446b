"""How diagnostics are written for a terminal."""

from __future__ import annotations

import pytest

from emberlog.diagnostics import Diagnostic, Note, render
from emberlog.source import Source, Span

ESCAPES = ("\x1b[31m", "\x07", "\x9b2J", "\x7f", "\u202e", "\u2066")


@pytest.mark.parametrize("escape", ESCAPES)
def test_nothing_that_a_terminal_obeys_is_written(escape: str) -> None:
    source = Source(f"{escape}.dl", f'p("{escape}", X) :- q(Y).\n')
    place = Span(source, source.text.index("X"), source.text.index("X") + 1)
    written = render([Diagnostic("DL203", f"`{escape}` is odd", place, (Note(f"so is {escape}", place),))])
    assert escape[0] not in written
    line, carets = written.splitlines()[2:4]
    assert line[carets.index("^")] == "X", "places stay where they are"


def test_line_breaks_and_letters_of_all_scripts_stay() -> None:
    assert render([Diagnostic("DL203", "été\nשלום 😀")]) == "error[DL203]: été\nשלום 😀"
