"""Reads pages as a browser does, and notes which elements they have."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser


class Tags(HTMLParser):
    """Knows how often each element begins, and complains of one that is closed out of turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.begun: Counter[str] = Counter()
        self.deepest = 0
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.begun[tag] += 1
        if tag not in ("meta", "br"):
            self.open.append(tag)
            self.deepest = max(self.deepest, len(self.open))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)

    def count(self, tag: str) -> int:
        return self.begun[tag]

    @property
    def text(self) -> str:
        """Returns what a person reads."""
        return " ".join(" ".join(self.texts).split())


def tags_of(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags
