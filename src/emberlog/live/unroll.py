"""Writes a recursion of a few rounds, or stages, as these: each is a relation of its own, without recursion.

So each of them follows changes as any relation without recursion does. The last round is the relation itself; of stages
it is the union.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from emberlog.optimize.rewritten import with_rules
from emberlog.semantics.model import (
    Absent,
    Bind,
    CheckedProgram,
    CoreRule,
    Fact,
    HeadValue,
    Literal,
    Match,
    Recursion,
    RecursionCase,
    Relation,
    Stratum,
)
from emberlog.semantics.stages import last_stage, stage_offset
from emberlog.syntax.ast import Constant, Variable

MOST_ROUNDS = 32
"""Of more, the last one alone takes less memory, and less time to begin with."""


@dataclass(frozen=True, slots=True)
class Unrolled:
    checked: CheckedProgram
    rounds: frozenset[str]
    """The relations that are rounds or stages, and those that they make up."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """Holds what a recursion is written as."""

    relations: Mapping[str, Relation]
    facts: Mapping[str, tuple[Fact, ...]]
    rules: tuple[CoreRule, ...]


def unroll(checked: CheckedProgram) -> Unrolled:
    """Returns the program with recursions of a few rounds or stages written as these."""
    relations, facts = dict(checked.relations), dict(checked.facts)
    rules: list[CoreRule] = []
    rounds: set[str] = set()
    for stratum in checked.strata:
        parts = _parts(checked, stratum)
        if parts is None:
            rules += stratum.rules
            continue
        rules += parts.rules
        for name in stratum.relations:
            facts.pop(name, None)
        relations |= parts.relations
        facts |= parts.facts
        rounds |= {*parts.relations, *stratum.relations}
    unrolled = with_rules(checked, rules, relations=relations, facts=facts) if rounds else None
    return Unrolled(checked, frozenset()) if unrolled is None else Unrolled(unrolled, frozenset(rounds))


def _parts(checked: CheckedProgram, stratum: Stratum) -> _Parts | None:
    match stratum.recursion:
        case Recursion(case=RecursionCase.BOUNDED) as recursion:
            return _in_rounds(checked, stratum, recursion.iterations or 0)
        case Recursion(case=RecursionCase.STAGED) as recursion:
            return _in_stages(checked, stratum, recursion)
        case _:
            return None


def _read(rule: CoreRule, stratum: Stratum, copy: Callable[[str], str | None]) -> CoreRule | None:
    """Returns a rule that reads copies of the relations of its recursion; None if it reads one that has no facts."""
    body: list[Literal] = []
    for literal in rule.body:
        if not isinstance(literal, Match | Absent) or literal.relation not in stratum.relations:
            body.append(literal)
            continue
        name = copy(literal.relation)
        if name is not None:
            body.append(replace(literal, relation=name))
        elif isinstance(literal, Match):
            return None
    return replace(rule, body=tuple(body), iterations=None)


# --- rounds ---------------------------------------------------------------------------------------------------------


def _in_rounds(checked: CheckedProgram, stratum: Stratum, count: int) -> _Parts | None:
    relations: dict[str, Relation] = {}
    facts: dict[str, tuple[Fact, ...]] = {}
    rules: list[CoreRule] = []
    before: dict[str, str] = {}
    for number in range(1, count + 1 if count <= MOST_ROUNDS else 0):
        now = {name: name if number == count else f"{name}, round {number}" for name in stratum.relations}
        found = [(rule, _read(rule, stratum, before.get)) for rule in stratum.rules]
        rules += [replace(one, relation=now[rule.relation]) for rule, one in found if one is not None]
        for name, copy in now.items():
            relations[copy] = replace(checked.relations[name], name=copy, is_written=copy == name)
            facts |= {copy: checked.facts[name]} if name in checked.facts else {}
        before = now
    has_rules = {rule.relation for rule in rules} | set(facts)
    return _Parts(relations, facts, tuple(rules)) if relations and has_rules >= set(relations) else None


# --- stages ---------------------------------------------------------------------------------------------------------


def _in_stages(checked: CheckedProgram, stratum: Stratum, recursion: Recursion) -> _Parts | None:
    columns = recursion.stage_columns
    extent = _extent(checked, stratum, recursion)
    if extent is None:
        return None
    relations: dict[str, Relation] = {}
    facts: dict[str, tuple[Fact, ...]] = {}
    rules: list[CoreRule] = []
    copies: dict[tuple[str, int], str] = {}
    for stage in extent:
        for name in recursion.stage_order:
            copy = f"{name}, stage {stage}"
            own: list[CoreRule] = []
            for rule in stratum.rules:
                if rule.relation != name:
                    continue
                offset = stage_offset(rule.head[columns[name]], rule)
                if offset is None:
                    own += [rule] if _written(rule.head[columns[name]], rule) == Constant(stage) else []
                    continue
                below = stage - offset.plus
                known = {other: copy for (other, at), copy in copies.items() if at == below}
                read = _read(rule, stratum, known.get)
                own += [] if read is None else [read]
            written = tuple(fact for fact in checked.facts.get(name, ()) if fact[columns[name]] == stage)
            if own or written:
                copies[name, stage] = copy
                relations[copy] = replace(checked.relations[name], name=copy, is_written=False)
                facts |= {copy: written} if written else {}
                rules += [replace(rule, relation=copy) for rule in own]
    if {name for name, _ in copies} != set(stratum.relations):
        return None
    for name in stratum.relations:
        plain = tuple(replace(column, aggregate=None) for column in checked.relations[name].columns)
        relations[name] = replace(checked.relations[name], columns=plain)
    rules += [_copied(relations[name], copy) for (name, _), copy in copies.items()]
    return _Parts(relations, facts, tuple(rules))


def _extent(checked: CheckedProgram, stratum: Stratum, recursion: Recursion) -> range | None:
    """Returns the stages that there may be, if they are known and few."""
    columns = recursion.stage_columns
    begun = [fact[columns[name]] for name in stratum.relations for fact in checked.facts.get(name, ())]
    last: list[int | None] = []
    for rule in stratum.rules:
        value = _written(rule.head[columns[rule.relation]], rule)
        offset = stage_offset(value, rule)
        if isinstance(value, Constant):
            begun.append(value.value)
        elif offset is None or not any(_is_own(literal, stratum, Match) for literal in rule.body):
            return None
        elif offset.plus:
            last.append(last_stage(rule, columns))
        if any(_is_own(literal, stratum, Absent) for literal in rule.body):
            return None
    numbers = [one for one in begun if type(one) is int]
    if len(numbers) < len(begun) or not numbers:
        return None
    highest = recursion.stage_limit
    if highest is None:
        known = [one for one in last if one is not None]
        if len(known) < len(last):
            return None
        highest = max([*known, *numbers])
    stages = range(min(numbers), highest + 1)
    return stages if len(stages) <= MOST_ROUNDS else None


def _written(value: HeadValue, rule: CoreRule) -> HeadValue:
    """Returns what a head has for its stage: as it stands there, or as in `J = 0` in the body."""
    bindings = {literal.variable.name: literal.expression for literal in rule.body if isinstance(literal, Bind)}
    while isinstance(value, Variable) and value.name in bindings:
        value = bindings[value.name]
    return value


def _is_own(literal: Literal, stratum: Stratum, kind: type[Match] | type[Absent]) -> bool:
    return isinstance(literal, kind) and literal.relation in stratum.relations


def _copied(relation: Relation, copy: str) -> CoreRule:
    """Returns the rule that puts the facts of a stage into the relation."""
    terms = tuple(Variable(f"V{place}") for place in range(relation.arity))
    types = {term.name: column.type for term, column in zip(terms, relation.columns, strict=True)}
    return CoreRule(copy, relation.name, terms, (Match(copy, terms),), types)
