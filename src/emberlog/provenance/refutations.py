"""Finds why a fact is not there: for each rule how far its body can hold, and the literal that never does.

Bodies are followed from the front, with the values that the fact gives to the head's variables. A literal that fails
for every valuation that comes so far is what is missing, and if it is an atom, the same can be asked about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from emberlog.language.faults import Fault
from emberlog.logical.python_evaluation import evaluate
from emberlog.provenance.facts import FactBase, View
from emberlog.provenance.proofs import known_from_head
from emberlog.provenance.valuations import Bindings, Body, agreed, asked_for, pattern_values
from emberlog.semantics.dependencies import rules_by_relation
from emberlog.semantics.model import (
    Absent,
    Bind,
    CellValue,
    Compare,
    Contribution,
    CoreRule,
    Fact,
    Holds,
    Match,
    RecursionCase,
)

MOST_TRIED = 100_000
"""Valuations that are followed for one rule."""

MOST_OTHERS = 3


@dataclass(frozen=True, slots=True)
class Pattern:
    """Names facts that are not there; None is any value."""

    relation: str
    values: tuple[CellValue, ...]


@dataclass(frozen=True, slots=True)
class NotGiven:
    """Says that the caller supplied no such fact."""


@dataclass(frozen=True, slots=True)
class OtherValues:
    """Says that the groups are there, with other values in their aggregated columns."""

    facts: tuple[Fact, ...]
    """Some of them."""


@dataclass(frozen=True, slots=True)
class BeyondStages:
    """Says that the query does not need the stage."""

    limit: int


@dataclass(frozen=True, slots=True)
class MissingFact:
    """Says that no fact agrees with an atom."""

    pattern: Pattern
    is_null: bool = False
    """A value that it asks for is null, which agrees with nothing."""


@dataclass(frozen=True, slots=True)
class DisturbingFact:
    """Says that a fact agrees with a negated atom."""

    pattern: Pattern
    fact: Fact


@dataclass(frozen=True, slots=True)
class FailedCondition:
    literal: Bind | Compare | Holds


@dataclass(frozen=True, slots=True)
class OtherHead:
    """Says that the whole body holds and the head is another fact, or that the head can be no such fact at all."""

    values: tuple[CellValue, ...] | None


Failure: TypeAlias = MissingFact | DisturbingFact | FailedCondition | OtherHead


@dataclass(frozen=True, slots=True)
class FailedRule:
    rule: str
    bindings: tuple[tuple[str, CellValue], ...]
    holding: int
    """How many literals hold, from the front, under the bindings."""
    facts: Mapping[int, Fact]
    """The facts that its atoms agree with, by their place in the body."""
    failure: Failure
    is_sure: bool = True
    """False if so many valuations come so far that not all were followed: another might come further."""


@dataclass(frozen=True, slots=True)
class NoRule:
    """Says of every rule of the relation why it does not give the fact."""

    rules: tuple[FailedRule, ...]


Refuted: TypeAlias = NotGiven | OtherValues | BeyondStages | NoRule


@dataclass(frozen=True, slots=True)
class RefutationTree:
    root: Pattern
    steps: Mapping[Pattern, Refuted]
    """The reasons of the root, and of the atoms that fail below it, as deep as was asked for."""


def missing_below(refutation: Refuted) -> Iterator[Pattern]:
    """Returns the facts whose absence is the reason."""
    if isinstance(refutation, NoRule):
        for rule in refutation.rules:
            if isinstance(rule.failure, MissingFact) and not rule.failure.is_null:
                yield rule.failure.pattern


class Refuter:
    def __init__(self, base: FactBase) -> None:
        self.base = base
        self.checked = base.checked
        self._rules = rules_by_relation(base.checked.rules)

    def tree(self, root: Pattern, *, depth: int) -> RefutationTree:
        steps: dict[Pattern, Refuted] = {}
        level = [root]
        for _ in range(depth):
            for pattern in level:
                steps[pattern] = self.refutation(pattern)
            below = dict.fromkeys(missing for pattern in level for missing in missing_below(steps[pattern]))
            level = [pattern for pattern in below if pattern not in steps]
        return RefutationTree(root, steps)

    def refutation(self, pattern: Pattern) -> Refuted:
        relation = self.checked.relations[pattern.relation]
        if not relation.is_derived:
            return NotGiven()
        recursion = self.base.recursion(pattern.relation)
        if recursion is not None and recursion.stage_limit is not None:
            stage = pattern.values[recursion.stage_columns[pattern.relation]]
            if isinstance(stage, int) and stage > recursion.stage_limit:
                return BeyondStages(recursion.stage_limit)
        if relation.is_aggregated:
            others = self._others(pattern, relation.group)
            if others:
                return OtherValues(others)
        view = self._view(pattern.relation)
        return NoRule(tuple(self._failed(rule, pattern, view) for rule in self._rules.get(pattern.relation, ())))

    def _others(self, pattern: Pattern, group: tuple[int, ...]) -> tuple[Fact, ...]:
        wanted = {column: value for column in group if (value := pattern.values[column]) is not None}
        found: list[Fact] = []
        for fact in self.base.find(pattern.relation, wanted).facts:
            if all(fact[column] == value for column, value in wanted.items()):
                found.append(fact)
                if len(found) == MOST_OTHERS:
                    break
        return tuple(found)

    def _view(self, relation: str) -> View:
        """Returns what the rules read last."""
        recursion = self.base.recursion(relation)
        if recursion is None or recursion.case is not RecursionCase.BOUNDED:
            return self.base
        return self.base.before_last_round(relation)

    def _failed(self, rule: CoreRule, pattern: Pattern, view: View) -> FailedRule:
        known = known_from_head(rule, pattern.values)
        if known is None:
            return FailedRule(rule.name, (), 0, {}, OtherHead(None))
        return _Attempt(rule, pattern, Body(rule, view, self.checked.functions)).run(known)


class _Attempt:
    """Follows a body from the front and keeps the first of those valuations that come furthest."""

    def __init__(self, rule: CoreRule, pattern: Pattern, body: Body) -> None:
        self.rule = rule
        self.pattern = pattern
        self.body = body
        self.tried = 0
        self.furthest: FailedRule | None = None

    def run(self, known: Bindings) -> FailedRule:
        self._follow(0, known, {})
        assert self.furthest is not None
        return replace(self.furthest, is_sure=self.tried <= MOST_TRIED)

    def _follow(self, place: int, bindings: Bindings, facts: Mapping[int, Fact]) -> None:
        self.tried += 1
        if self.tried > MOST_TRIED:
            return
        if place == len(self.rule.body):
            self._note(place, bindings, facts, OtherHead(self._head(bindings)))
            return
        literal = self.rule.body[place]
        match literal:
            case Match():
                self._follow_atom(place, literal, bindings, facts)
            case Absent(relation, terms):
                fact = self.body.counterexample(literal, bindings)
                if fact is not None:
                    unwanted = Pattern(relation, pattern_values(terms, bindings))
                    self._note(place, bindings, facts, DisturbingFact(unwanted, fact))
                else:
                    self._follow(place + 1, bindings, facts)
            case _:
                after = self.body.tested(literal, bindings)
                if after is None:
                    self._note(place, bindings, facts, FailedCondition(literal))
                else:
                    self._follow(place + 1, after, facts)

    def _follow_atom(self, place: int, atom: Match, bindings: Bindings, facts: Mapping[int, Fact]) -> None:
        wanted = asked_for(atom.terms, bindings)
        is_found = False
        for fact in self.body.view.find(atom.relation, wanted).facts if wanted is not None else ():
            extended = agreed(atom.terms, fact, bindings)
            if extended is not None:
                is_found = True
                self._follow(place + 1, extended, {**facts, place: fact})
                if self.tried > MOST_TRIED:
                    return
        if not is_found:
            missing = Pattern(atom.relation, pattern_values(atom.terms, bindings))
            self._note(place, bindings, facts, MissingFact(missing, is_null=wanted is None))

    def _note(self, place: int, bindings: Bindings, facts: Mapping[int, Fact], failure: Failure) -> None:
        if self.furthest is None or place > self.furthest.holding:
            self.furthest = FailedRule(self.rule.name, tuple(bindings.items()), place, facts, failure)

    def _head(self, bindings: Bindings) -> tuple[CellValue, ...] | None:
        try:
            return tuple(
                None if isinstance(value, Contribution) else evaluate(value, bindings, self.body.functions)
                for value in self.rule.head
            )
        except Fault:
            return None
