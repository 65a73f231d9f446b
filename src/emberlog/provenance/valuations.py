"""Finds the valuations that make the body of a rule true, when some variables are known: few facts out of many.

At each point the literal that leaves the fewest facts to look at is taken next, whatever the order of the body. A
valuation that leads to a fault on the way is none: whatever protects the rule from it would have stopped it, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from emberlog.language.faults import Fault
from emberlog.language.registry import Functions
from emberlog.logical.python_evaluation import evaluate, holds
from emberlog.optimize.information_order import bound_by, needed_by
from emberlog.provenance.facts import View
from emberlog.semantics.model import (
    Absent,
    Bind,
    CellValue,
    Compare,
    CoreRule,
    Fact,
    Holds,
    Match,
    Term,
)
from emberlog.syntax.ast import Constant

Bindings: TypeAlias = Mapping[str, CellValue]


@dataclass(frozen=True, slots=True)
class Valuation:
    """Holds values for all variables that make a body true, and the facts that its atoms agree with."""

    bindings: Bindings
    facts: Mapping[int, Fact]
    """The facts by the place of their atoms in the body."""


class Body:
    """Evaluates the body of a rule over some facts."""

    def __init__(self, rule: CoreRule, view: View, functions: Functions) -> None:
        self.rule = rule
        self.view = view
        self.functions = functions
        bindable = {name for literal in rule.body for name in bound_by(literal)}
        # In a negated atom, a variable that nothing binds is any value.
        self._needs = [bindable & needed_by(literal) for literal in rule.body]

    def valuations(self, known: Bindings) -> Iterator[Valuation]:
        """Yields all valuations that agree with what is known; what is known is not null."""
        return self._extended(known, {}, tuple(range(len(self.rule.body))))

    def _extended(self, bindings: Bindings, facts: Mapping[int, Fact], pending: tuple[int, ...]) -> Iterator[Valuation]:
        if not pending:
            yield Valuation(bindings, facts)
            return
        for place in pending:
            literal = self.rule.body[place]
            if not isinstance(literal, Match) and self._needs[place] <= bindings.keys():
                after = self.tested(literal, bindings)
                if after is not None:
                    yield from self._extended(after, facts, _without(pending, place))
                return
        place, atom, candidates = self._cheapest(bindings, pending)
        for fact in candidates:
            extended = agreed(atom.terms, fact, bindings)
            if extended is not None:
                yield from self._extended(extended, {**facts, place: fact}, _without(pending, place))

    def _cheapest(self, bindings: Bindings, pending: Sequence[int]) -> tuple[int, Match, Iterable[Fact]]:
        """Returns the place of the atom with the fewest facts to look at, the atom, and the facts."""
        options: list[tuple[int, int, Match, Iterable[Fact]]] = []
        for place in pending:
            literal = self.rule.body[place]
            if isinstance(literal, Match):
                wanted = asked_for(literal.terms, bindings)
                if wanted is None:
                    return place, literal, ()
                found = self.view.find(literal.relation, wanted)
                options.append((found.count, place, literal, found.facts))
                if found.count <= 1:
                    break
        _, place, atom, facts = min(options, key=lambda option: option[0])
        return place, atom, facts

    def tested(self, literal: Absent | Bind | Compare | Holds, bindings: Bindings) -> Bindings | None:
        """Returns the bindings with what the literal adds, or None if it does not hold."""
        try:
            match literal:
                case Absent():
                    return bindings if self.counterexample(literal, bindings) is None else None
                case Bind(variable, expression):
                    value = evaluate(expression, bindings, self.functions)
                    if variable.name in bindings:
                        return bindings if is_near(bindings[variable.name], value) else None
                    return {**bindings, variable.name: value}
                case Compare() | Holds():
                    return bindings if holds(literal, bindings, self.functions) else None
                case _:
                    assert_never(literal)
        except Fault:
            return None

    def counterexample(self, literal: Absent, bindings: Bindings) -> Fact | None:
        """Returns a fact that agrees with a negated atom, or None."""
        wanted = asked_for(literal.terms, bindings)
        if wanted is None:
            return None
        facts = self.view.find(literal.relation, wanted).facts
        return next((fact for fact in facts if agreed(literal.terms, fact, bindings) is not None), None)


def asked_for(terms: Sequence[Term], bindings: Bindings) -> dict[int, CellValue] | None:
    """Returns the values that facts must have by column; None if no fact can agree, as nothing agrees with null."""
    wanted: dict[int, CellValue] = {}
    for column, term in enumerate(terms):
        if isinstance(term, Constant):
            wanted[column] = term.value
        elif term.name in bindings:
            wanted[column] = bindings[term.name]
    return None if None in wanted.values() else wanted


def pattern_values(terms: Sequence[Term], bindings: Bindings) -> tuple[CellValue, ...]:
    """Returns the values of the terms as far as they are known; None is any value."""
    return tuple(term.value if isinstance(term, Constant) else bindings.get(term.name) for term in terms)


def agreed(terms: Sequence[Term], fact: Fact, bindings: Bindings) -> Bindings | None:
    """Returns the bindings with what the fact adds, or None if it does not agree with the terms."""
    extended = dict(bindings)
    for term, value in zip(terms, fact, strict=True):
        if isinstance(term, Constant):
            if not is_same(value, term.value):
                return None
        elif term.name not in extended:
            extended[term.name] = value
        elif not is_same(value, extended[term.name]):
            return None
    return extended


def is_near(computed: CellValue, recorded: CellValue) -> bool:
    """Tells whether a value is the one that was recorded: Java and Python may differ in the last digits of a float."""
    if isinstance(computed, float) and isinstance(recorded, float):
        return math.isclose(computed, recorded, rel_tol=1e-12)
    return computed == recorded


def is_same(one: CellValue, other: CellValue) -> bool:
    return one is not None and one == other


def _without(pending: tuple[int, ...], place: int) -> tuple[int, ...]:
    return tuple(other for other in pending if other != place)
