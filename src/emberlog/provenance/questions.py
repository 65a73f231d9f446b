"""The questions that a run with provenance answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from emberlog.io.shelves import Shelf
from emberlog.provenance.alternatives import alternatives
from emberlog.provenance.asked import asked_fact, asked_pattern, asked_relation, refuse_present
from emberlog.provenance.facts import FactBase
from emberlog.provenance.model import Goal
from emberlog.provenance.origins import Origin, origin_of
from emberlog.provenance.proof import Proof
from emberlog.provenance.proofs import Prover
from emberlog.provenance.refutation import Refutation
from emberlog.provenance.refutations import Pattern, Refuter
from emberlog.provenance.trace import traced
from emberlog.provenance.trace_form import Trace
from emberlog.semantics.model import CheckedProgram

MOST_FACTS = 10_000
"""In one proof."""


class Questions:
    def __init__(self, checked: CheckedProgram, shelves: Mapping[str, Shelf], histories: Mapping[str, Shelf]) -> None:
        self.base = FactBase(checked, shelves, histories)

    def why(self, relation: str, values: Sequence[object], *, depth: int | None, contributions: int) -> Proof:
        goal = self._goal(relation, values)
        tree = Prover(self.base, contributions=contributions).proof(goal, depth=depth, facts=MOST_FACTS)
        return Proof(tree, self.base.checked)

    def all_whys(self, relation: str, values: Sequence[object], *, limit: int, contributions: int) -> tuple[Proof, ...]:
        """The smallest proof, and others."""
        prover = Prover(self.base, contributions=contributions)
        trees = alternatives(prover, self._goal(relation, values), facts=MOST_FACTS)
        return tuple(Proof(tree, self.base.checked) for tree in islice(trees, limit))

    def why_not(self, relation: str, values: Sequence[object], *, depth: int) -> Refutation:
        name = asked_relation(self.base.known, relation)
        pattern = asked_pattern(self.base.relation(name), values)
        refuse_present(self.base, name, pattern)
        tree = Refuter(self.base).tree(Pattern(name, pattern), depth=max(depth, 1))
        return Refutation(tree, self.base.checked)

    def trace(self, relation: str, values: Sequence[object] | None, *, limit: int) -> Trace:
        name = asked_relation(self.base.known, relation)
        every = (None,) * self.base.relation(name).arity
        pattern = every if values is None else asked_pattern(self.base.relation(name), values)
        return Trace(traced(self.base, Pattern(name, pattern), limit=limit), self.base.checked)

    def origin(self, relation: str, values: Sequence[object]) -> Origin:
        name = asked_relation(self.base.known, relation)
        pattern = asked_pattern(self.base.relation(name), values)
        # A fact that is there is meant as it is, nulls included.
        fact = pattern if self.base.has(name, pattern) else asked_fact(self.base, name, pattern)
        return origin_of(self.base, name, fact)

    def _goal(self, relation: str, values: Sequence[object]) -> Goal:
        name = asked_relation(self.base.known, relation)
        return self.base.goal(name, asked_fact(self.base, name, asked_pattern(self.base.relation(name), values)))
