"""Answers the questions that can be asked of a run with provenance.

A query with constants restricts what the run computes. What it did not compute is computed when somebody asks for it:
for a fact, what its own constants demand; for a fact that is not there, everything, because a refutation says that
no fact agrees with a part of a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias, assert_never

from emberlog.datatypes import DataType
from emberlog.engines.recording import Recording
from emberlog.io.shelves import Shelf
from emberlog.optimize.demand_for_proofs import Demands
from emberlog.provenance.alternatives import alternatives
from emberlog.provenance.asked import Asked, asked_fact, asked_pattern, asked_relation, refuse_present
from emberlog.provenance.explanation import Proof, Refutation
from emberlog.provenance.facts import FactBase
from emberlog.provenance.lookup import Lookup
from emberlog.provenance.model import Combination, InputFact, RuleStep, WrittenFact, applications
from emberlog.provenance.proof_outline import WRITTEN
from emberlog.provenance.proofs import Prover
from emberlog.provenance.refutations import Pattern, Refuter
from emberlog.provenance.trace import Trace, traced
from emberlog.render.wording import when_text
from emberlog.semantics.model import CellValue, CheckedProgram, CheckedQuery, Fact
from emberlog.syntax.ast import Constant, Variable

MOST_FACTS = 10_000
"""The most facts that one proof has."""

MOST_CONTRIBUTIONS = 100
"""To a fact, whose rules are named as its origin."""

Rerun: TypeAlias = Callable[[CheckedQuery], Recording[Shelf]]
"""Records the run of the same program on the same inputs, with this query instead of its own; a query without constants
restricts nothing."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Tells the iteration and the rule that a fact comes from, without the rest of its proof."""

    iteration: int | None
    """None of what is not recursive."""
    when: str
    """In words: `start`, `iteration 2`, `stage 3`."""
    by: str
    """The rule; the rules of an aggregate that several contribute to; or that it was given or written."""


class Questions:
    """Answers questions about one run."""

    def __init__(self, checked: CheckedProgram, recording: Recording[Shelf], demands: Demands, rerun: Rerun) -> None:
        self.checked = checked
        self._own = FactBase(checked, recording.relations, recording.histories)
        self._demands = {
            name: [
                (tuple(place for place, mark in enumerate(binding) if mark == "b"), Lookup(recording.relations[demand]))
                for binding, demand in found
            ]
            for name, found in demands.items()
        }
        self._rerun = rerun
        self._bases: dict[CheckedQuery, FactBase] = {}
        """The facts of runs for questions, by the query that was run."""

    def why(self, relation: str, values: Asked, *, depth: int | None, contributions: int) -> Proof:
        name, pattern = self._asked(relation, values)
        base = self._base(name, pattern)
        goal = base.goal(name, asked_fact(base, name, pattern))
        tree = Prover(base, contributions=contributions).proof(goal, depth=depth, facts=MOST_FACTS)
        return Proof(tree, self.checked)

    def all_whys(self, relation: str, values: Asked, *, limit: int, contributions: int) -> tuple[Proof, ...]:
        """Returns the smallest proof, and others."""
        name, pattern = self._asked(relation, values)
        base = self._base(name, pattern)
        goal = base.goal(name, asked_fact(base, name, pattern))
        trees = alternatives(Prover(base, contributions=contributions), goal, facts=MOST_FACTS)
        return tuple(Proof(tree, self.checked) for tree in islice(trees, limit))

    def why_not(self, relation: str, values: Asked, *, depth: int) -> Refutation:
        name, pattern = self._asked(relation, values)
        refuse_present(self._base(name, pattern), name, pattern)  # which may be known at once
        tree = Refuter(self._whole(name)).tree(Pattern(name, pattern), depth=max(depth, 1))
        return Refutation(tree, self.checked)

    def trace(self, relation: str, values: Asked | None, *, limit: int) -> Trace:
        name = asked_relation(self._own.known, relation)
        own = self.checked.relations[name]
        pattern = (None,) * own.arity if values is None else asked_pattern(own, values)
        asked = Pattern(name, pattern)
        return Trace(asked, traced(self._base(name, pattern), asked, limit=limit), self.checked)

    def origin(self, relation: str, values: Asked) -> Origin:
        name, pattern = self._asked(relation, values)
        base = self._base(name, pattern)
        # A fact that is there is meant as it is, nulls included.
        fact = pattern if base.has(name, pattern) else asked_fact(base, name, pattern)
        return _origin(base, name, fact)

    def _asked(self, relation: str, values: Asked) -> tuple[str, tuple[CellValue, ...]]:
        name = asked_relation(self._own.known, relation)
        return name, asked_pattern(self.checked.relations[name], values)

    def _base(self, name: str, pattern: tuple[CellValue, ...]) -> FactBase:
        """Returns the facts of a run that computed all that agree with the pattern, and all that they come from."""
        if self._is_computed(name, pattern):
            return self._own
        columns = self.checked.relations[name].columns
        terms = [_term(place, pattern[place], column.type) for place, column in enumerate(columns)]
        return self._of_run(name, tuple(terms))

    def _whole(self, name: str) -> FactBase:
        """Returns the facts of a run that computed all of the relation, and all that it comes from."""
        if not self._demands:
            return self._own
        return self._of_run(
            name, tuple(Variable(f"_{place + 1}") for place in range(self.checked.relations[name].arity))
        )

    def _of_run(self, name: str, terms: tuple[Constant | Variable, ...]) -> FactBase:
        query = CheckedQuery(name, terms)
        if query not in self._bases:
            recording = self._rerun(query)
            self._bases[query] = FactBase(self.checked, recording.relations, recording.histories)
        return self._bases[query]

    def _is_computed(self, name: str, pattern: tuple[CellValue, ...]) -> bool:
        if name not in self._demands:
            return True
        for places, demanded in self._demands[name]:
            if any(pattern[place] is None for place in places):
                continue
            wanted = tuple(pattern[place] for place in places)
            if wanted in demanded.find(dict(enumerate(wanted))).facts:
                return True
        return False


def _origin(base: FactBase, relation: str, fact: Fact) -> Origin:
    goal = base.goal(relation, fact)
    step = Prover(base, contributions=MOST_CONTRIBUTIONS).step(goal)
    match step:
        case InputFact():
            by = "input"
        case WrittenFact():
            by = WRITTEN
        case RuleStep() | Combination():
            by = ", ".join(dict.fromkeys(one.rule for one in applications(step))) or WRITTEN
        case _:
            assert_never(step)
    return Origin(goal.iteration, when_text(goal.iteration, base.recursion(relation)), by)


def _term(place: int, value: CellValue, type_: DataType) -> Constant | Variable:
    is_plain = isinstance(value, bool | int | float | str)
    return Constant.of(value, type_) if is_plain else Variable(f"_{place + 1}")  # type: ignore[arg-type]
