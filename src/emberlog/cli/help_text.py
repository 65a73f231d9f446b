"""Fits the help of commands into the width of the terminal: paragraphs, and lists of examples with what each does."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from itertools import groupby
from textwrap import wrap

_ENTRY = re.compile(r"( +\S(?:.*?\S)?)( {2,})(\S.*)")
"""A line of a list: what is typed, a gap, and what it does."""

_COMMAND = "  emberlog "
"""Is copied as a whole."""

_LEAST_BESIDE = 32
"""Columns that an explanation needs beside what it explains; with fewer it stands below."""
_BELOW = " " * 8


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps lists as they are written where they fit, and folds what is wider than the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(folded(text, width))


def folded(text: str, width: int) -> Iterator[str]:
    """Yields the lines of a text, none wider than `width` unless a word is."""
    for is_list, lines in groupby(text.splitlines(), lambda line: not line or line.startswith(" ")):
        if is_list:
            for line in lines:
                yield from _folded_entry(line, width)
        else:
            yield from _wrapped(" ".join(lines), width, "", "")


def _folded_entry(line: str, width: int) -> Iterator[str]:
    found = _ENTRY.fullmatch(line)
    if len(line) <= width or (found is None and line.startswith(_COMMAND)):
        yield line
    elif found is None:
        margin = line[: len(line) - len(line.lstrip())]
        yield from _wrapped(line.strip(), width, margin, margin)
    elif width - found.start(3) >= _LEAST_BESIDE:
        yield from _wrapped(found[3], width, line[: found.start(3)], " " * found.start(3))
    else:
        yield found[1]
        yield from _wrapped(found[3], width, _BELOW, _BELOW)


def _wrapped(text: str, width: int, first: str, others: str) -> list[str]:
    return wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
