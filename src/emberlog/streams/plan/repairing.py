"""Rules that derive lost facts again: a rule, restricted to the keys that it is asked for.

Of a minimum in recursion, the values to come are many, and most never come. So only what is seen now is kept. When what
a fact was derived from has expired, the fact is lost, and a relation of lost keys makes the rules look for
another derivation. They can if the keys lead to everything they read.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from emberlog.datatypes import DataType
from emberlog.semantics.model import Compare, Contribution, CoreRule, Match, Relation, Term
from emberlog.syntax.ast import ComparisonOperator, Constant, Variable
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.rules import Probe, RuleChain


def lost_name(relation: str) -> str:
    """No relation of a program can have this name."""
    return f"{relation} lost"


def lost_relation(relation: Relation) -> Relation:
    keys = tuple(relation.columns[place] for place in relation.group)
    return Relation(lost_name(relation.name), keys, is_derived=True)


@dataclass(frozen=True, slots=True)
class _Guard:
    """What restricts a rule to the lost keys."""

    terms: tuple[Term, ...]
    conditions: tuple[Compare, ...]
    types: dict[str, DataType]


def for_lost_keys(rule: CoreRule, relation: Relation, others: tuple[Term, ...]) -> CoreRule:
    """The rule for lost keys alone; `others` are the terms of the further columns that lost keys have."""
    guard = _guard(rule, relation)
    lost = Match(lost_name(relation.name), (*guard.terms, *others))
    return replace(
        rule,
        body=(*rule.body, lost, *guard.conditions),
        types={**rule.types, **guard.types},
    )


def _guard(rule: CoreRule, relation: Relation) -> _Guard:
    terms: list[Term] = []
    conditions: list[Compare] = []
    types: dict[str, DataType] = {}
    for place in relation.group:
        value = rule.head[place]
        assert not isinstance(value, Contribution)
        if isinstance(value, Variable | Constant):
            terms.append(value)
            continue
        key = Variable(f"lost key {place}")
        terms.append(key)
        types[key.name] = relation.columns[place].type
        conditions.append(Compare(ComparisonOperator.EQUAL, key, value))
    return _Guard(tuple(terms), tuple(conditions), types)


def leads_everywhere(rule: CoreRule, relation: Relation) -> bool:
    """Whether a key of the head leads, from atom to atom, to all that the rule reads."""
    bound = {term.name for term in _guard(rule, relation).terms if isinstance(term, Variable)}
    left = [literal for literal in rule.body if isinstance(literal, Match)]
    while left:
        met = [atom for atom in left if not bound.isdisjoint(_names(atom))]
        if not met:
            return False
        for atom in met:
            bound.update(_names(atom))
            left.remove(atom)
    return True


def _names(atom: Match) -> set[str]:
    return {term.name for term in atom.terms if isinstance(term, Variable)}


def without_other_chains(program: CyclicProgram, repaired: Collection[str]) -> CyclicProgram:
    """Lost keys begin a search, and no search looks for them: what comes later is found by the rule itself."""
    names = {lost_name(relation) for relation in repaired}
    return replace(program, rules=tuple(chain for chain in program.rules if not _looks_for(chain, names)))


def _looks_for(chain: RuleChain, names: Collection[str]) -> bool:
    return any(isinstance(step, Probe) and step.atom.relation in names for step in chain.steps)
