"""What `why_not` gives to people."""

from __future__ import annotations

from functools import cached_property

from emberlog.provenance.explanation import Explanation
from emberlog.provenance.refutation_outline import refutation_outline
from emberlog.provenance.refutations import RefutationTree
from emberlog.render.outline import Outline
from emberlog.semantics.model import CheckedProgram


class Refutation(Explanation):
    """A fact that is not there, with the rules that could derive it and what each of them lacks."""

    def __init__(self, tree: RefutationTree, checked: CheckedProgram) -> None:
        self.tree = tree
        self.checked = checked

    @cached_property
    def outline(self) -> Outline:
        return refutation_outline(self.tree, self.checked)
