"""Puts the text of a program into a link, and takes it out again. The data is not part of it."""

from __future__ import annotations

import base64
import binascii
import zlib

from emberlog.diagnostics import fail

KEY = "program="
MOST_CHARACTERS = 2_000_000
"""Of a program in a link: a short link may unpack to a very long text."""


def fragment_of(text: str) -> str:
    """Returns the part of an address behind `#`, which no browser sends to any server."""
    packed = zlib.compress(text.encode(), 9)
    return KEY + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def program_in(fragment: str) -> str | None:
    """Returns the program of a link; None where there is none."""
    given = fragment.removeprefix("#")
    if not given.startswith(KEY):
        return None
    packed = given.removeprefix(KEY)
    unpacker = zlib.decompressobj()
    try:
        raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        text = unpacker.decompress(raw, MOST_CHARACTERS).decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError, ValueError):
        raise fail("DL531", "the link holds no program", None, "copy the whole link, up to its last letter") from None
    if not unpacker.eof:
        problem = "is longer than" if unpacker.unconsumed_tail else "ends early, or is not of"
        raise fail("DL531", f"the program of the link {problem} {MOST_CHARACTERS:,} characters")
    return text
