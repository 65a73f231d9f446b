"""A recursive rule with two joins is split between them where the first gives many rows that are the same afterwards.

`sg(X, Y, T) :- arc(A, X, T), sg(A, B, T), arc(B, Y, T)` meets each X and B once for every A between them, and each time
with every Y. As `half(X, B, T) :- arc(A, X, T), sg(A, B, T)` and `sg(X, Y, T) :- half(X, B, T), arc(B, Y, T)` it does
so once. That is right because the rule needs no more of the first join than the new relation holds, and facts are a
set. It costs rounds and a relation, so it is done where the statistics promise that the work is a fraction. A
recursion whose columns no rule brings together is left alone: workers have better representations for it than rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from emberlog.logical.expressions import columns_of
from emberlog.logical.statistics import RelationStatistics, Statistics
from emberlog.optimize.rewritten import Rewritten, with_rules
from emberlog.optimize.rule_substitution import variable_names
from emberlog.semantics.model import (
    Bind,
    CheckedProgram,
    Column,
    Contribution,
    CoreRule,
    Literal,
    Match,
    RecursionCase,
    Relation,
    Stratum,
)
from emberlog.semantics.totality import rule_can_fail
from emberlog.syntax.ast import Variable

LEAST_GAIN = 3.5
"""How many times fewer rows a split has to promise. Measured: at 2 it took as long as before, at 4 two thirds, at 10 a
sixth of it."""


def split_between_joins(checked: CheckedProgram, statistics: Statistics) -> Rewritten:
    if checked.has_streams:
        return Rewritten(checked, "a stream keeps all its facts")
    if not statistics:
        return Rewritten(checked, "nothing is known of the data")
    relations = dict(checked.relations)
    rules: list[CoreRule] = []
    done: list[str] = []
    splittable = {rule for stratum in checked.strata if _is_candidate(stratum) for rule in stratum.rules}
    for rule in checked.rules:
        split = _best_split(rule, statistics) if rule in splittable else None
        if split is None:
            rules.append(rule)
            continue
        name = f"half of {rule.name}"
        relations[name] = _relation(name, split.kept, rule)
        half = Match(name, tuple(map(Variable, split.kept)))
        rules.append(CoreRule(name, name, half.terms, split.first, types=rule.types))
        rules.append(replace(rule, body=(half, *split.rest)))
        done.append(f"{rule.name} is split after {split.first[1].relation}")
    if not done:
        return Rewritten(checked, "")
    program = with_rules(checked, rules, relations=relations)
    return Rewritten(checked, "") if program is None else Rewritten(program, "; ".join(done))


@dataclass(frozen=True, slots=True)
class _Split:
    first: tuple[Match, Match]
    """The recursive atom, and the one that is joined with it first."""
    kept: tuple[str, ...]
    rest: tuple[Literal, ...]
    gain: float


def _is_candidate(stratum: Stratum) -> bool:
    """Returns one relation without aggregates, whose columns do not fall into sides that no rule brings together."""
    recursion = stratum.recursion
    if recursion is None or recursion.case is not RecursionCase.SET or recursion.is_mutual:
        return False
    (name,) = stratum.relations
    return all(_sides(rule, name) == 1 for rule in stratum.rules if _own_atoms(rule, name))


def _own_atoms(rule: CoreRule, name: str) -> list[Match]:
    return [literal for literal in rule.body if isinstance(literal, Match) and literal.relation == name]


def _sides(rule: CoreRule, name: str) -> int:
    """Into how many groups the columns fall, by what the other literals of the rule connect."""
    own = _own_atoms(rule, name)
    groups: list[set[object]] = []
    for column, value in enumerate(rule.head):
        values = value.arguments if isinstance(value, Contribution) else (value,)
        read = {variable for one in values for variable in columns_of(one)}
        read |= {term.name for atom in own for term in (atom.terms[column],) if isinstance(term, Variable)}
        groups.append({column, *read})
    groups += [set(variable_names(literal)) for literal in rule.body if literal not in own]
    joined: list[set[object]] = []
    for group in groups:
        touching = [other for other in joined if other & group]
        joined = [other for other in joined if other not in touching] + [group.union(*touching)]
    return sum(any(isinstance(member, int) for member in group) for group in joined)


def _best_split(rule: CoreRule, statistics: Statistics) -> _Split | None:
    own = _own_atoms(rule, rule.relation)
    if len(own) != 1 or rule_can_fail(rule):
        return None
    splits = [split for split in _splits(rule, own[0], statistics) if split.gain >= LEAST_GAIN]
    return max(splits, key=lambda split: split.gain, default=None)


def _splits(rule: CoreRule, own: Match, statistics: Statistics) -> Iterator[_Split]:
    atoms = [literal for literal in rule.body if isinstance(literal, Match) and literal is not own]
    for first in atoms:
        rest = tuple(literal for literal in rule.body if literal not in (own, first))
        following = [atom for atom in atoms if atom is not first]
        inside = dict.fromkeys((*variable_names(own), *variable_names(first)))
        needed = _needed(rule, rest)
        kept = tuple(name for name in inside if name in needed)
        known = [one for atom in (first, *following) if (one := statistics.get(atom.relation)) is not None]
        if any(isinstance(literal, Bind) and literal.variable.name in inside for literal in rest):
            continue  # the half would bind what is computed behind it
        # A relation has at least one column.
        if not kept or len(kept) == len(inside) or not following or len(known) != len(atoms):
            continue
        # Rows of the first join that are one row afterwards, and rows that each of them is joined with.
        merged = _rows_for(first, set(kept), known[0])
        joined = max(_rows_for(atom, set(inside), one) for atom, one in zip(following, known[1:], strict=True))
        yield _Split((own, first), kept, rest, joined * merged / (joined + merged))


def _rows_for(atom: Match, names: set[str], known: RelationStatistics) -> float:
    """Returns how many rows of the atom's relation agree with given values of these variables."""
    values = [
        column.distinct
        for term, column in zip(atom.terms, known.columns, strict=True)
        if not isinstance(term, Variable) or term.name in names
    ]
    return max(known.rows / prod(values), 1.0)


def _needed(rule: CoreRule, rest: Sequence[Literal]) -> set[str]:
    of_head = {
        name
        for value in rule.head
        for expression in (value.arguments if isinstance(value, Contribution) else (value,))
        for name in columns_of(expression)
    }
    return of_head.union(*(variable_names(literal) for literal in rest))


def _relation(name: str, kept: Sequence[str], rule: CoreRule) -> Relation:
    return Relation(name, tuple(Column(variable, rule.types[variable]) for variable in kept), is_derived=True)
