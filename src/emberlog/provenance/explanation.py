"""Answers questions with outlines that show themselves in every form: proofs and refutations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

from emberlog.provenance.model import ProofTree
from emberlog.provenance.proof_outline import proof_outline
from emberlog.provenance.refutation_outline import refutation_outline
from emberlog.provenance.refutations import RefutationTree
from emberlog.render.outline import Outline
from emberlog.render.outline_json import outline_object
from emberlog.render.outline_text import outline_text
from emberlog.render.pages.proof import outline_page
from emberlog.render.pictures.graphviz import outline_graphviz
from emberlog.render.pictures.mermaid import outline_mermaid
from emberlog.semantics.model import CheckedProgram
from emberlog.shown import Shown


class Explanation(Shown, ABC):
    """Shows an outline: as a tree of plain text where it is printed, and in a notebook as one that opens and closes."""

    @property
    @abstractmethod
    def outline(self) -> Outline:
        """Returns the facts, rules and conditions that it consists of."""

    def __str__(self) -> str:
        return outline_text(self.outline)

    __repr__ = __str__

    def to_json(self) -> dict[str, object]:
        """Returns an object of plain values, for programs; docs/provenance.md describes it."""
        return outline_object(self.outline)

    def to_graphviz(self) -> str:
        """Returns a drawing for Graphviz: `dot -Tsvg`."""
        return outline_graphviz(self.outline)

    def to_mermaid(self) -> str:
        """Returns a drawing for pages and repositories that show Mermaid."""
        return outline_mermaid(self.outline)

    def to_html(self) -> str:
        """Returns a page that needs nothing from elsewhere."""
        return outline_page(self.outline)


class Proof(Explanation):
    """Shows a fact with the rules and facts that it follows from, down to input facts."""

    def __init__(self, tree: ProofTree, checked: CheckedProgram) -> None:
        self.tree = tree
        self.checked = checked

    @cached_property
    def outline(self) -> Outline:
        return proof_outline(self.tree, self.checked)


class Refutation(Explanation):
    """Shows a fact that is not there, with the rules that could derive it and what each of them lacks."""

    def __init__(self, tree: RefutationTree, checked: CheckedProgram) -> None:
        self.tree = tree
        self.checked = checked

    @cached_property
    def outline(self) -> Outline:
        return refutation_outline(self.tree, self.checked)
