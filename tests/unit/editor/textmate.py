"""Reads a text by a TextMate grammar: the part of the format that our grammar uses, for Python's patterns.

What a grammar means is decided by the engine that editors have; `python3 dev.py extension` compares with that one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Scoped(NamedTuple):
    """A stretch of a line, and the scope of the pattern that covers it."""

    start: int
    end: int
    scope: str


class Grammar:
    def __init__(self, grammar: Mapping[str, Any]) -> None:
        self.patterns = [
            (re.compile(one["match"] if "match" in one else one["begin"]), one) for one in grammar["patterns"]
        ]

    def read(self, text: str) -> Iterator[Scoped]:
        """Yields all stretches with a scope, by offsets in the text. An engine sees a line at a time."""
        offset = 0
        inside: Mapping[str, Any] | None = None
        for line in _lines(text):
            place = 0
            while place < len(line):
                if inside is not None:
                    end = re.compile(inside["end"]).search(line, place)
                    stop = end.end() if end else len(line)
                    yield Scoped(offset + place, offset + stop, inside["name"])
                    inside, place = (None if end else inside), stop
                    continue
                found = []
                for rank, (pattern, _) in enumerate(self.patterns):
                    match = pattern.search(line, place)
                    if match is not None:
                        found.append((match.start(), rank))
                if not found:
                    break
                _, rank = min(found)
                pattern, rule = self.patterns[rank]
                match = pattern.search(line, place)
                assert match is not None and match.end() > match.start()
                if "begin" in rule:
                    yield Scoped(offset + match.start(), offset + match.end(), rule["name"])
                    inside = rule
                elif "name" in rule:
                    yield Scoped(offset + match.start(), offset + match.end(), rule["name"])
                else:
                    for index, capture in rule["captures"].items():
                        yield Scoped(offset + match.start(int(index)), offset + match.end(int(index)), capture["name"])
                place = match.end()
            offset += len(line)


def _lines(text: str) -> list[str]:
    """Returns the lines with their ends: only a line feed ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
