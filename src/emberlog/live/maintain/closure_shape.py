"""Recognizes recursions that hand some columns through and take the others along arcs.

`tc(X, Z) :- tc(X, Y), arc(Y, Z)` keeps X and goes from Y to Z: each X is a row of its own, in which the columns that it
reaches are found. What a rule reads besides its recursive atom says which arcs there are, whatever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from emberlog.live.searches.step_order import bound_by, split_by_risk
from emberlog.logical.expressions import condition_columns
from emberlog.semantics.model import Absent, Bind, Compare, Contribution, CoreRule, Holds, Literal, Match
from emberlog.syntax.ast import Constant, Expression, Variable, variables_of


@dataclass(frozen=True, slots=True)
class ClosureShape:
    kept: tuple[int, ...]
    """The columns that every recursive rule hands through."""
    moved: tuple[int, ...]
    seeds: tuple[CoreRule, ...]
    """The rules without recursion."""
    steps: tuple[tuple[CoreRule, tuple[Expression, ...]], ...]
    """Each recursive rule without its recursive atom; beside it what is in the moved columns of the atom, then of the
    head."""


def closure_shape(name: str, rules: Sequence[CoreRule]) -> ClosureShape | None:
    """Returns the shape of a recursion of one relation without aggregates; None if it has another one."""
    recursive = [(rule, own) for rule in rules if (own := [one for one in rule.body if _reads(one, name)])]
    if any(len(own) > 1 or split_by_risk(rule)[1] for rule, own in recursive):
        return None
    arity = len(rules[0].head)
    kept = set(range(arity))
    for rule, [atom] in recursive:
        assert isinstance(atom, Match)
        kept &= {place for place in kept if _is_handed_through(rule, atom, place)}
    moved = tuple(place for place in range(arity) if place not in kept)
    if not kept or not moved:
        return None
    steps = []
    for rule, [atom] in recursive:
        assert isinstance(atom, Match)
        step = replace(rule, body=tuple(one for one in rule.body if one is not atom))
        ends = tuple([*(atom.terms[place] for place in moved), *(_plain(rule, place) for place in moved)])
        known = set().union(*map(bound_by, step.body))
        if not all(one.name in known for end in ends for one in variables_of(end)):
            return None
        steps.append((step, ends))
    seeds = tuple(rule for rule in rules if not any(rule is one for one, _ in recursive))
    return ClosureShape(tuple(sorted(kept)), moved, seeds, tuple(steps))


def _reads(literal: Literal, name: str) -> bool:
    return isinstance(literal, Match | Absent) and literal.relation == name


def _plain(rule: CoreRule, place: int) -> Expression:
    value = rule.head[place]
    assert not isinstance(value, Contribution)
    return value


def _is_handed_through(rule: CoreRule, atom: Match, place: int) -> bool:
    """Tells whether the head has in a column just what the recursive atom has there, and nothing else looks at it."""
    term, value = atom.terms[place], rule.head[place]
    if not isinstance(term, Variable) or not isinstance(value, Variable) or term.name != value.name:
        return False
    in_head = sum(
        one.name == term.name
        for value in rule.head
        if not isinstance(value, Contribution)
        for one in variables_of(value)
    )
    return in_head == 1 and [name for literal in rule.body for name in _names(literal)].count(term.name) == 1


def _names(literal: Literal) -> list[str]:
    match literal:
        case Match(_, terms) | Absent(_, terms):
            return [term.name for term in terms if not isinstance(term, Constant)]
        case Bind(variable, expression):
            return [variable.name, *(one.name for one in variables_of(expression))]
        case Compare() | Holds():
            return list(condition_columns(literal))
