"""What questions are answered with: an outline that shows itself in every form."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod

from emberlog.render.outline import Outline
from emberlog.render.outline_json import outline_object
from emberlog.render.outline_text import outline_text
from emberlog.render.pictures.outline_graph import outline_graphviz, outline_mermaid
from emberlog.render.pictures.outline_page import outline_page


class Explanation(ABC):
    """Printed, it is a tree of plain text; a notebook shows a tree that opens and closes."""

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

    def to_graphviz(self) -> str:
        """For Graphviz: `dot -Tsvg`."""
        return outline_graphviz(self.outline)

    def to_mermaid(self) -> str:
        """For pages and repositories that draw Mermaid."""
        return outline_mermaid(self.outline)

    def to_html(self) -> str:
        """A page that needs nothing from elsewhere."""
        return outline_page(self.outline)

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html())
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 36em; border: 0"></iframe>'
