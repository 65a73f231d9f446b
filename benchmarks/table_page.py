"""Writes a table as a page, and tells each of its lines as soon as it is measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path


def table_page(
    page: Path, head: str, titles: Sequence[str], rows: Iterable[Iterable[str]], words: int = 1
) -> Iterator[str]:
    """Yields the lines of a table as its rows are known, and writes the page when all are. Of its columns the first
    `words` have words, and the others numbers."""
    sides = ["---"] * words + ["---:"] * (len(titles) - words)
    lines = []
    for cells in chain([titles, sides], rows):
        lines.append(f"| {' | '.join(cells)} |")
        yield lines[-1]
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
