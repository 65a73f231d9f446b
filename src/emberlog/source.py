"""Program texts and places in them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple


class Position(NamedTuple):
    """A place as people count it: both numbers start at 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """A program text and the name a person knows it by (a path, or `<text>`)."""

    name: str
    text: str = field(repr=False)
    is_souffle: bool = field(default=False, compare=False, repr=False)
    """Whether it is in Soufflé's language, which hints speak then."""

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for offset, character in enumerate(self.text):
            if character == "\n":
                starts.append(offset + 1)
        return starts

    def position(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1)

    def start_of_line(self, number: int) -> int:
        """The offset at which a line begins, counted from 1."""
        return self._line_starts[number - 1]

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its line break."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


class Span(NamedTuple):
    """A range of characters `[start, end)` of a source. A tuple, because a program has many, and tuples are made in
    half the time."""

    source: Source
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of the other."""
        return Span(self.source, self.start, max(self.end, other.end))

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def begin(self) -> Position:
        return self.source.position(self.start)

    @property
    def finish(self) -> Position:
        return self.source.position(self.end)


NOWHERE = Span(Source("<none>", ""), 0, 0)
"""The span of nodes that no text gave rise to."""
