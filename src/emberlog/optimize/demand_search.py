"""Where a search for what is demanded finds the answers on its way.

`reach(X, Y) :- road(X, Z), reach(Z, Y)` asked for from one X demands every Z that it comes by, and an exit from any of
these is an answer for X. So the recursion over what is demanded is all that is needed, and the facts about every Z
in between are not. That is right where each recursive rule hands its answer through and asks for nothing but the
relation itself at its end, and where one X is all that queries and other rules ask for: the answers of all
that is demanded are then answers for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from emberlog.optimize.rule_substitution import variable_names
from emberlog.semantics.model import Contribution, CoreRule, Fact, HeadValue, Match
from emberlog.semantics.totality import type_of
from emberlog.syntax.ast import Constant, Variable


def answers_on_the_way(
    rules: Sequence[CoreRule], name: str, demand: str, binding: str, asked: Sequence[Fact]
) -> list[CoreRule] | None:
    """Returns the rules with exits from all that is demanded in the place of the recursion, or None where that is not
    right."""
    own = [rule for rule in rules if rule.relation == name]
    recursive = [rule for rule in own if _reads(rule, name)]
    if not recursive or len(asked) != 1:
        return None
    if any(not _is_from_itself(rule, demand) for rule in rules if rule.relation == demand):
        return None
    if not all(_hands_through(rule, name, demand, binding) for rule in recursive):
        return None
    values = iter(asked[0])
    constants = [next(values) if mark == "b" else None for mark in binding]
    kept = [rule for rule in rules if rule not in recursive]
    return [_answering(rule, constants) if rule.relation == name else rule for rule in kept]


def _reads(rule: CoreRule, name: str) -> bool:
    return any(isinstance(literal, Match) and literal.relation == name for literal in rule.body)


def _is_from_itself(rule: CoreRule, demand: str) -> bool:
    """Tells whether the rule demands more only of what is demanded already."""
    first = rule.body[0] if rule.body else None
    return isinstance(first, Match) and first.relation == demand


def _hands_through(rule: CoreRule, name: str, demand: str, binding: str) -> bool:
    """Tells whether the rule is its demand, then the relation itself, whose answer is its own."""
    *before, last = rule.body
    if not isinstance(last, Match) or last.relation != name or any(isinstance(v, Contribution) for v in rule.head):
        return False
    asked = tuple(term for term, mark in zip(last.terms, binding, strict=True) if mark == "b")
    if before[0] == Match(demand, asked) or any(isinstance(one, Match) and one.relation == name for one in before):
        return False  # it goes nowhere from what is demanded, or comes by an answer before
    free = [(value, term) for value, term, mark in zip(rule.head, last.terms, binding, strict=True) if mark == "f"]
    names = [value.name for value, term in free if isinstance(value, Variable) and value == term]
    elsewhere = {name for literal in before for name in variable_names(literal)}
    elsewhere |= {term.name for term in asked if isinstance(term, Variable)}
    return len(set(names)) == len(free) and not elsewhere.intersection(names)


def _answering(rule: CoreRule, constants: Sequence[object]) -> CoreRule:
    head: list[HeadValue] = []
    for value, constant in zip(rule.head, constants, strict=True):
        if constant is None:
            head.append(value)
        else:
            assert isinstance(constant, int | float | str) and not isinstance(value, Contribution)
            head.append(Constant.of(constant, type_of(value, rule.types)))
    return replace(rule, head=tuple(head))
