"""Defines an entry of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class FoundBy(Enum):
    """Says what gives the code, given the example."""

    CHECK = "check"
    """`emberlog check` of the example."""
    PLAN = "plan"
    """Planning the example, as `emberlog explain` does."""
    RUN = "run"
    """Running the example."""
    OTHER = "other"
    """Something that no program text shows; `example` describes it."""


@dataclass(frozen=True, slots=True)
class Entry:
    code: str
    title: str
    meaning: str
    """What is wrong, in plain words."""
    remedy: str
    """How to mend it."""
    example: str
    """A program that gives exactly this code, or a description where none can."""
    found_by: FoundBy = FoundBy.CHECK
    is_warning: bool = False
