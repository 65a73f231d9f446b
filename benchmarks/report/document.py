"""What a report consists of, before it becomes Markdown or a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    emphasis: str = ""
    """`best`, `bad`, `faint`, or nothing."""
    hint: str = ""
    """More about it, for those who point at it."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    svg: str
    caption: str


Block: TypeAlias = Text | Table | Figure


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    sections: tuple[Section, ...]
