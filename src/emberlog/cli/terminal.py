"""Adapts texts to where they are read: colours where a terminal shows them, and none elsewhere."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from logging import LogRecord

    from emberlog.diagnostics import Diagnostic

WarningAction = Literal["show", "error", "ignore"]

_HEADING = re.compile(r"^(?=\S)(.+)$", re.MULTILINE)


def wants_colour(stream: TextIO) -> bool:
    """Tells whether to use colours. NO_COLOR wins over FORCE_COLOR, and both over what the stream is."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0":
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def with_bold_headings(text: str, stream: TextIO) -> str:
    """Returns the text with its headings, the lines that are not indented, in bold if the stream shows colours."""
    return _HEADING.sub("\x1b[1m\\1\x1b[0m", text) if wants_colour(stream) else text


@contextmanager
def warnings_told(
    write: Callable[[str], None], told: set[Diagnostic], *, colour: bool, action: WarningAction = "show"
) -> Iterator[None]:
    """Writes each warning of Emberlog that is not `told` yet as the diagnostic that it is, or makes it an error."""
    from emberlog.diagnostics import render

    def hear(diagnostic: Diagnostic) -> None:
        if diagnostic not in told:
            told.add(diagnostic)
            write(render((diagnostic,), colour=colour))

    with warnings_heard(hear, action=action):
        yield


@contextmanager
def warnings_heard(hear: Callable[[Diagnostic], None], *, action: WarningAction = "show") -> Iterator[None]:
    """Gives each warning of Emberlog to a function, or makes it an error; others are shown as before."""
    from emberlog.diagnostics import EmberlogWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always" if action == "show" else action, EmberlogWarning)
        show_others = warnings.showwarning

        def show(message: Warning | str, *others: Any, **more: Any) -> None:
            if isinstance(message, EmberlogWarning):
                hear(message.diagnostic)
            else:
                show_others(message, *others, **more)

        warnings.showwarning = show
        yield


def write_above_the_line(text: str) -> None:
    """Writes to standard error what shall stay, in the place of a line that changes."""
    print(f"\r\x1b[K{text}" if sys.stderr.isatty() else text, file=sys.stderr)


def survive_narrow_encodings() -> None:
    """Has a terminal that lacks a character show `?` for it instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def silence_py4j() -> None:
    """Silences the bridge to Java, which reports a call that Ctrl-C cut short as an error, with all its stack."""
    import logging

    for name in (None, "py4j.clientserver", "py4j.java_gateway"):
        logging.getLogger(name).addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: LogRecord) -> bool:
    return "py4j" not in record.pathname
