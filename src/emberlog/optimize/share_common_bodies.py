"""A body that another rule's body contains is computed once: the larger body reads the relation of the smaller one.

Beside `two(X, Z) :- e(X, Y), e(Y, Z)`, the rule `three(X, W) :- e(X, Y), e(Y, Z), e(Z, W)` is `two(X, Z), e(Z, W)`: the
join is made once, and what it gives is a set before it is joined on. That is right because the literals of
the smaller body hold for a valuation of the larger one exactly if their fact is in the relation, as long as the
larger body needs no variable that the fact leaves out, and does not count the valuations that make one fact.
Nothing is written down that would not have been anyway. A rule that restricts the smaller body, by a constant or by a
relation with fewer rows, is left alone: it would read a large relation where it needs a small part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import assert_never

from emberlog.deadline import check_time
from emberlog.language.registry import AGGREGATES
from emberlog.logical.expressions import columns_of
from emberlog.logical.statistics import Statistics
from emberlog.logical.traverse import PLANNING
from emberlog.optimize.rewritten import Rewritten, with_rules
from emberlog.optimize.rule_substitution import literal_with, variable_names
from emberlog.semantics.dependencies import dependencies_of, rules_by_relation
from emberlog.semantics.model import (
    Absent,
    Bind,
    CheckedProgram,
    Compare,
    Contribution,
    CoreRule,
    Holds,
    Literal,
    Match,
)
from emberlog.semantics.totality import literal_can_fail
from emberlog.syntax.ast import Constant, Variable

LONGEST_BODY = 12
"""Literals in one body, up to which parts of it are looked for: there are many ways to choose some of many."""


def share_common_bodies(checked: CheckedProgram, statistics: Statistics) -> Rewritten:
    if checked.has_streams:
        return Rewritten(checked, "a stream keeps all its facts")
    needed = _needed(checked)
    recursive = {name for stratum in checked.strata if stratum.recursion for name in stratum.relations}
    rules_of = rules_by_relation(checked.rules)
    rules = {number: rule for number, rule in enumerate(checked.rules) if rule.relation in needed - recursive}
    views = {
        number
        for number, rule in rules.items()
        if len(rules_of[rule.relation]) == 1 and rule.relation not in checked.facts
    }
    done: list[str] = []
    while (found := _first_sharing(rules, views, statistics)) is not None:
        number, read, rules[number] = found
        done.append(f"{rules[number].name} reads {read}")
    if not done:
        return Rewritten(checked, "")
    shared = with_rules(checked, [rules.get(number, rule) for number, rule in enumerate(checked.rules)])
    return Rewritten(checked, "") if shared is None else Rewritten(shared, "; ".join(done))


def _first_sharing(
    rules: Mapping[int, CoreRule], of_views: Set[int], statistics: Statistics
) -> tuple[int, str, CoreRule] | None:
    """Returns a rule that can read a relation, which one, and the rule when it does."""
    views = [view for number in sorted(of_views) if (view := _view_of(rules[number])) is not None]
    relations = {
        number: {one.relation for one in rule.body if isinstance(one, Match)} for number, rule in rules.items()
    }
    # The largest first: what it leaves of a body is the least.
    for view in sorted(views, key=lambda view: -len(view.atoms)):
        inside = {atom.relation for atom in view.atoms}
        for number, rule in rules.items():
            if inside <= relations[number] and rule is not view.rule and len(rule.body) <= LONGEST_BODY:
                reading = _reading(view, rule, statistics)
                if reading is not None:
                    return number, view.rule.relation, reading
    return None


def _needed(checked: CheckedProgram) -> set[str]:
    reads: dict[str, set[str]] = {}
    for dependency in dependencies_of(checked.rules):
        reads.setdefault(dependency.head, set()).add(dependency.body)
    needed: set[str] = set()
    pending = list(checked.outputs)
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += reads.get(name, ())
    return needed


@dataclass(frozen=True, slots=True)
class _View:
    """A rule whose relation is its body, projected to some of its variables."""

    rule: CoreRule
    atoms: tuple[Match, ...]
    conditions: tuple[Compare | Holds, ...]
    head: tuple[str, ...]

    @property
    def keeps_all(self) -> bool:
        return {name for atom in self.atoms for name in variable_names(atom)} == set(self.head)


def _view_of(rule: CoreRule) -> _View | None:
    atoms = tuple(literal for literal in rule.body if isinstance(literal, Match))
    conditions = tuple(literal for literal in rule.body if isinstance(literal, Compare | Holds))
    head = tuple(value.name for value in rule.head if isinstance(value, Variable))
    is_plain = len(set(head)) == len(rule.head) and len(atoms) + len(conditions) == len(rule.body)
    if not is_plain or not 2 <= len(atoms) <= LONGEST_BODY or not _hang_together(atoms):
        return None
    if any(literal_can_fail(condition, rule.types) for condition in conditions):
        return None
    return _View(rule, atoms, conditions, head)


def _hang_together(atoms: Sequence[Match]) -> bool:
    """Tells whether the atoms are joined, each with others, all of them."""
    reached = set(variable_names(atoms[0]))
    waiting = list(atoms[1:])
    while joined := [atom for atom in waiting if reached.intersection(variable_names(atom))]:
        reached.update(name for atom in joined for name in variable_names(atom))
        waiting = [atom for atom in waiting if atom not in joined]
    return not waiting


def _reading(view: _View, large: CoreRule, statistics: Statistics) -> CoreRule | None:
    """Returns the rule with the view in the place of a part of its body, if it can be read there."""
    if not view.keeps_all and not is_idempotent(large):
        return None
    for places, names in _embeddings(view.atoms, large.body, {}):
        put = {old: Variable(new) for old, new in names.items()}
        conditions = [literal_with(condition, put) for condition in view.conditions]
        if not all(condition in large.body for condition in conditions):
            continue
        rest = [literal for i, literal in enumerate(large.body) if i not in places and literal not in conditions]
        left_out = {names[name] for atom in view.atoms for name in variable_names(atom)} - {
            names[name] for name in view.head
        }
        if left_out & _read_by(large, rest) or _restricts(rest, set(names.values()), view, statistics):
            continue
        atom = Match(view.rule.relation, tuple(put[name] for name in view.head))
        first = sum(i < min(places) and literal in rest for i, literal in enumerate(large.body))
        if any(isinstance(literal, Bind) and literal.variable.name in names.values() for literal in rest[first:]):
            continue  # the relation would bind what is computed behind it
        return replace(large, body=(*rest[:first], atom, *rest[first:]))
    return None


def _restricts(rest: Sequence[Literal], names: set[str], view: _View, statistics: Statistics) -> bool:
    """Tells whether what is left of the body may leave few of the facts of the view."""
    inside = {atom.relation for atom in view.atoms}
    fewest = min((statistics[name].rows for name in inside if name in statistics), default=None)
    for literal in rest:
        if not names.intersection(variable_names(literal)):
            continue
        match literal:
            case Match(relation, terms):
                known = statistics.get(relation)
                is_large = relation in inside or (known and fewest is not None and known.rows >= fewest)
                if not is_large or any(isinstance(term, Constant) for term in terms):
                    return True
            case Compare() | Holds():
                if len(set(variable_names(literal))) < 2:
                    return True
            case Absent() | Bind():
                pass
            case _:
                assert_never(literal)
    return False


def is_idempotent(rule: CoreRule) -> bool:
    """Tells whether it does not matter how many valuations of the body give a contribution."""
    functions = [value.function for value in rule.head if isinstance(value, Contribution)]
    return all(
        name in AGGREGATES and (AGGREGATES[name].is_meet or AGGREGATES[name].takes_repeats) for name in functions
    )


def _embeddings(
    atoms: Sequence[Match], body: Sequence[Literal], names: Mapping[str, str]
) -> Iterator[tuple[tuple[int, ...], Mapping[str, str]]]:
    """Places of the body where the atoms stand, with the variables that theirs are there."""
    if not atoms:
        yield (), names
        return
    check_time(PLANNING)
    for place, literal in enumerate(body):
        if isinstance(literal, Match):
            extended = _renamed_to(atoms[0], literal, names)
            if extended is not None:
                for places, found in _embeddings(atoms[1:], body, extended):
                    if place not in places:
                        yield (place, *places), found


def _renamed_to(atom: Match, other: Match, names: Mapping[str, str]) -> Mapping[str, str] | None:
    """Returns the renaming, extended so that it makes the one atom the other, different variables staying different."""
    if atom.relation != other.relation:
        return None
    extended = dict(names)
    for term, wanted in zip(atom.terms, other.terms, strict=True):
        if isinstance(term, Variable) and isinstance(wanted, Variable):
            if extended.setdefault(term.name, wanted.name) != wanted.name:
                return None
        elif term != wanted:
            return None
    return extended if len(set(extended.values())) == len(extended) else None


def _read_by(rule: CoreRule, literals: Sequence[Literal]) -> set[str]:
    of_head = {
        name
        for value in rule.head
        for expression in (value.arguments if isinstance(value, Contribution) else (value,))
        for name in columns_of(expression)
    }
    return of_head.union(*(variable_names(literal) for literal in literals))
