"""Rewrites a program so that its facts know when they expire: every relation that changes with the window gets one more
column.

The last slide of a fact is the greatest over its derivations of the least over the facts that it was derived from. That
is a recursion with a meet aggregate like any other, so the workers run it in rounds; what a slide adds is one more
delta, and what it lets go needs no rule at all.

A fact with an aggregated value also knows until which slide a better value for the same key holds: only behind that it
will be seen. Facts whose times to be seen do not meet are not joined, as nothing that they derive would ever be seen.

Of a minimum in recursion, the values to come are many, and most never come. So a relation that is repaired keeps only
what is seen now. When what a fact was derived from has expired, its key is lost, and a relation of lost keys makes the
rules look for another derivation. They can if the keys lead to everything they read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from emberlog.datatypes import INT, DataType
from emberlog.logical.build import build
from emberlog.logical.nodes import Fixpoint
from emberlog.semantics.model import (
    CheckedProgram,
    Column,
    Compare,
    Contribution,
    CoreRule,
    Literal,
    Match,
    Recursion,
    RecursionCase,
    Relation,
    Stratum,
    Term,
    TimeRole,
)
from emberlog.syntax.ast import Call, ComparisonOperator, Constant, Expression, Variable
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.rules import Probe

LAST_SLIDE = "last slide"
BEATEN_UNTIL = "beaten until"
"""No columns of a program can have these names."""
NOT_YET = -(1 << 62)
"""Until when a fact is beaten that was not compared with others yet."""
NEVER = 1 << 62
"""The last slide of a fact that does not expire."""

_RECURSION = Recursion(
    RecursionCase.MEET, "a fact holds as long as its longest-lived derivation", is_linear=False, is_mutual=True
)


def with_earliest_times(checked: CheckedProgram, times: Mapping[str, TimeRole]) -> CheckedProgram:
    """Aggregates the time of a stream's facts, as the times of derived relations are."""
    relations = dict(checked.relations)
    for name, role in times.items():
        if role is TimeRole.ANNOTATION:
            time, *others = relations[name].columns
            relations[name] = replace(relations[name], columns=(replace(time, aggregate="min"), *others))
    return replace(checked, relations=relations)


def expiring_fixpoint(
    checked: CheckedProgram, members: Sequence[str], rules: Sequence[CoreRule], repaired: Collection[str] = ()
) -> Fixpoint:
    """Makes one recursion of all relations that expire, the streams included. Of those that are repaired, the lost keys
    are a relation, too."""
    relations = dict(checked.relations)
    for name in members:
        relations[name] = _expiring(checked.relations[name])
        if name in repaired:
            relations[lost_name(name)] = _expiring(_lost_relation(checked.relations[name]))
    aggregated = {name: checked.relations[name].is_aggregated for name in members}
    expiring: list[CoreRule] = []
    for rule in rules:
        expiring.append(_with_last_slide(rule, aggregated, sees_all=rule.relation not in repaired))
        if rule.relation in repaired:
            expiring.append(_for_lost_keys(expiring[-1], checked.relations[rule.relation]))
    members = (*members, *(lost_name(name) for name in members if name in repaired))
    program = replace(
        checked,
        relations=relations,
        facts={
            name: tuple((*fact, *_own_values(checked.relations[name])) for fact in checked.facts.get(name, ()))
            for name in aggregated
        },
        rules=tuple(expiring),
        strata=(Stratum(1, members, tuple(expiring), _RECURSION),),
        queries=(),
    )
    (stratum,) = build(program).strata
    assert isinstance(stratum.root, Fixpoint)
    return stratum.root


def _expiring(relation: Relation) -> Relation:
    beaten = (Column(BEATEN_UNTIL, INT, "max"),) if relation.is_aggregated else ()
    columns = (*relation.columns, *beaten, Column(LAST_SLIDE, INT, "max"))
    return replace(relation, columns=columns, is_derived=True)


def _own_values(relation: Relation) -> tuple[int, ...]:
    """Returns what a fact of the program's text has in the columns that `_expiring` adds."""
    return (NOT_YET, NEVER) if relation.is_aggregated else (NEVER,)


def _with_last_slide(rule: CoreRule, is_aggregated: Mapping[str, bool], *, sees_all: bool) -> CoreRule:
    """Lets a rule compute the last slide of what it derives. `is_aggregated` has each relation that expires. `sees_all`
    if also what will be seen later is derived from: then facts have to be seen together at some slide."""
    body: list[Literal] = []
    slides: list[Variable] = []
    beaten: dict[int, Variable] = {}
    for literal in rule.body:
        if isinstance(literal, Match) and literal.relation in is_aggregated:
            number = len(slides)
            slides.append(Variable(f"{LAST_SLIDE} {number}"))
            own = [slides[-1]]
            if is_aggregated[literal.relation]:
                beaten[number] = Variable(f"{BEATEN_UNTIL} {number}")
                own.insert(0, beaten[number])
            literal = replace(literal, terms=(*literal.terms, *own))
        body.append(literal)
    for number, until in beaten.items() if sees_all else ():
        for other, slide in enumerate(slides):
            if other != number:
                body.append(Compare(ComparisonOperator.LESS, until, slide))
    match slides:
        case []:
            least: Expression = Constant(NEVER)
        case [only]:
            least = only
        case _:
            least = Call("least", tuple(slides))
    head = [*rule.head, Contribution("max", (least,))]
    if is_aggregated[rule.relation]:
        head.insert(-1, Contribution("max", (Constant(NOT_YET),)))
    types: dict[str, DataType] = dict(rule.types)
    types.update({variable.name: INT for variable in (*slides, *beaten.values())})
    return replace(rule, head=tuple(head), body=tuple(body), types=types)


# --- lost keys --------------------------------------------------------------------------------------------------------


def lost_name(relation: str) -> str:
    """Names the relation of the lost keys of another; no relation of a program can have this name."""
    return f"{relation} lost"


def _lost_relation(relation: Relation) -> Relation:
    keys = tuple(relation.columns[place] for place in relation.group)
    return Relation(lost_name(relation.name), keys, is_derived=True)


def _for_lost_keys(rule: CoreRule, relation: Relation) -> CoreRule:
    """Restricts a rule to lost keys. These are looked for at one slide, which is no limit for what is found."""
    terms: list[Term] = []
    conditions: list[Compare] = []
    until = Variable(f"{LAST_SLIDE} of the key")
    types: dict[str, DataType] = {**rule.types, until.name: INT}
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
    lost = Match(lost_name(relation.name), (*terms, until))
    return replace(rule, body=(*rule.body, lost, *conditions), types=types)


def leads_everywhere(rule: CoreRule, relation: Relation) -> bool:
    """Tells whether a key of the head leads, from atom to atom, to all that the rule reads."""
    keys = (rule.head[place] for place in relation.group)
    bound = {key.name for key in keys if isinstance(key, Variable)}
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


def without_searches_for_lost_keys(program: CyclicProgram, repaired: Collection[str]) -> CyclicProgram:
    """Removes the chains that look lost keys up. Lost keys only begin a search: what comes later is found by the rule
    itself."""
    names = {lost_name(relation) for relation in repaired}
    chains = [
        chain
        for chain in program.rules
        if not any(isinstance(step, Probe) and step.atom.relation in names for step in chain.steps)
    ]
    return replace(program, rules=tuple(chains))
