"""Holds proofs and refutations as lines that stand below each other, from which every drawing of them is made.

A fact that is used twice has one node, and two places where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from emberlog.semantics.model import CellValue, CheckedProgram, Fact


class Kind(Enum):
    DERIVED = "derived"
    """A fact that rules derive."""
    INPUT = "input"
    """A fact that the caller supplied."""
    WRITTEN = "written"
    """A fact that stands in the program, or a contribution of one."""
    CONTRIBUTION = "contribution"
    """What a rule adds to an aggregate."""
    ABSENCE = "absence"
    """A negated atom that holds."""
    CONDITION = "condition"
    """A comparison, a test or an assignment that holds."""
    OPEN = "open"
    """A fact that is not explained here."""
    MORE = "more"
    """Contributions that are not listed."""
    MISSING = "missing"
    """A fact that is not there."""
    RULE = "rule"
    """A rule that does not give it."""
    FAILED = "failed"
    """What fails in a body."""


Moment: TypeAlias = str | int
"""A time as it is shown: a number where times are plain numbers."""


@dataclass(slots=True)
class Node:
    kind: Kind
    text: str
    how: str = ""
    """Where it comes from: the rule and the iteration, or the input; or what is wrong with it."""
    relation: str | None = None
    fact: Fact | None = None
    """In a fact that is not there, None is any value."""
    iteration: int | None = None
    rule: str | None = None
    bindings: tuple[tuple[str, CellValue], ...] = ()
    hidden: tuple[tuple[str, CellValue], ...] = ()
    """The bindings of variables that the fact itself does not show."""
    time: Moment | None = None
    """When the tuple came that keeps a fact of a stream in the window the longest."""
    until: Moment | None = None
    """The last slide whose window has that tuple."""
    children: list[int] = field(default_factory=list)
    """Their places in the outline."""

    @property
    def label(self) -> str:
        """Returns what stands in the node of a graph."""
        return f"{self.text}\n{self.how}" if self.how else self.text


@dataclass(frozen=True, slots=True)
class SlideNote:
    """Tells which slide of a stream program an outline is about, and how long what it proves will hold."""

    slide: Moment
    since: Moment | None
    """Where its window begins; None without a window."""
    lines: tuple[str, ...]
    """All of it in words."""
    certainty: str | None = None
    """None in a refutation, like the rest."""
    until: Moment | None = None
    because: tuple[int, ...] = ()
    """The places of the facts that leave the window behind that slide."""


@dataclass(frozen=True, slots=True)
class Outline:
    title: str
    nodes: tuple[Node, ...]
    """The first is the fact that was asked about."""
    checked: CheckedProgram
    note: SlideNote | None = None

    @property
    def arrows(self) -> Iterator[tuple[int, int]]:
        """Yields the places of each node and of those below it."""
        return ((place, child) for place, node in enumerate(self.nodes) for child in node.children)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Returns what is said about the whole outline."""
        return self.note.lines if self.note else ()


@dataclass(frozen=True, slots=True)
class Row:
    """Holds a line of the outline: a place where a node stands."""

    place: int
    """Where the node stands in the outline."""
    level: int
    is_last: bool
    """Whether it is the last child of the row above it."""
    is_repeated: bool
    """What is below the node stands below an earlier row."""


def rows(drawn: Outline) -> Iterator[Row]:
    """Yields the rows from the top to the bottom. A proof can be deeper than Python recurses."""
    shown: set[int] = set()
    pending = [(0, 0, True)]
    while pending:
        place, level, is_last = pending.pop()
        children = drawn.nodes[place].children
        is_repeated = place in shown and bool(children)
        yield Row(place, level, is_last, is_repeated)
        if not is_repeated:
            shown.add(place)
            last = len(children) - 1
            pending += [(children[number], level + 1, number == last) for number in range(last, -1, -1)]
