"""What `why` gives to people."""

from __future__ import annotations

from functools import cached_property

from emberlog.provenance.explanation import Explanation
from emberlog.provenance.model import ProofTree
from emberlog.provenance.proof_outline import proof_outline
from emberlog.render.outline import Outline
from emberlog.semantics.model import CheckedProgram


class Proof(Explanation):
    """A fact with the rules and facts that it follows from, down to input facts."""

    def __init__(self, tree: ProofTree, checked: CheckedProgram) -> None:
        self.tree = tree
        self.checked = checked

    @cached_property
    def outline(self) -> Outline:
        return proof_outline(self.tree, self.checked)
