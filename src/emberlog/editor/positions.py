"""Places as editors count them: lines from 0, and in a line the units of the encoding that both sides agreed on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

_LINE_END = re.compile(r"\r\n|\n|\r")

UTF_8, UTF_16, UTF_32 = "utf-8", "utf-16", "utf-32"


def _utf_8(character: str) -> int:
    code = ord(character)
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


def _utf_16(character: str) -> int:
    return 2 if ord(character) > 0xFFFF else 1


_UNITS: dict[str, Callable[[str], int] | None] = {UTF_8: _utf_8, UTF_16: _utf_16, UTF_32: None}


class Positions:
    """The places of one text, as offsets in Python and as an editor counts them."""

    def __init__(self, text: str, encoding: str = UTF_16) -> None:
        self.text = text
        self._units = _UNITS.get(encoding, _utf_16)
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        self._ends = [*(match.start() for match in _LINE_END.finditer(text)), len(text)]

    @property
    def lines(self) -> int:
        return len(self._starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Returns the line and the units before the offset in it."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset) - 1
        before = self.text[self._starts[line] : offset]
        if self._units is None or before.isascii():
            return line, len(before)
        return line, sum(map(self._units, before))

    def offset(self, line: int, character: int) -> int:
        """Returns the offset of a place. One behind the end of a line is its end, and one behind the last line is the
        end of the text, as the protocol says; one inside a character is before it."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        start, end = self._starts[line], self._ends[line]
        content = self.text[start:end]
        if self._units is None or content.isascii():
            return start + max(0, min(character, len(content)))
        units = 0
        for place, one in enumerate(content):
            units += self._units(one)
            if units > character:
                return start + place
        return end
