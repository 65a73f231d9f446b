"""Adapts texts to where they are read: colours where a terminal shows them, and none elsewhere."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from logging import LogRecord

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


def survive_narrow_encodings() -> None:
    """Has a terminal that lacks a character show `?` for it instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def silence_py4j() -> None:
    """Silences the bridge to Java, which reports a call that Ctrl-C cut short as an error, with all its stack."""
    import logging

    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: LogRecord) -> bool:
    return "py4j" not in record.pathname
