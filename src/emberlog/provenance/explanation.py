"""What questions are answered with: an outline that shows itself in every form."""

from __future__ import annotations

from abc import ABC, abstractmethod

from emberlog.provenance.json_form import outline_object
from emberlog.provenance.outline import Outline
from emberlog.provenance.text import outline_text


class Explanation(ABC):
    """Printed, it is a tree of plain text."""

    @property
    @abstractmethod
    def outline(self) -> Outline:
        """The facts, rules and conditions that it consists of."""

    def __str__(self) -> str:
        return outline_text(self.outline)

    __repr__ = __str__

    def to_json(self) -> dict[str, object]:
        """An object of plain values, for programs; docs/provenance.md describes it."""
        return outline_object(self.outline)
