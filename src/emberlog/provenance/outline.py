"""Proofs and refutations as lines that stand below each other: what every drawing of them is made from.

A fact that is used twice has one node, and two places where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

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
    """Those of variables that the fact itself does not show."""
    children: list[int] = field(default_factory=list)
    """Their places in the outline."""


@dataclass(frozen=True, slots=True)
class Outline:
    title: str
    nodes: tuple[Node, ...]
    """The first is the fact that was asked about."""
    checked: CheckedProgram
