"""A program whose facts know when they expire: every relation that changes with the window gets one more column.

The last slide of a fact is the greatest over its derivations of the least over the facts that it was derived from. That
is a recursion with a meet aggregate like any other, so the rounds of the cyclic executor run it; what a slide adds is
one more delta, and what it lets go needs no rule at all.

A fact with an aggregated value also knows until which slide a better value for the same key holds: only behind that it
will be seen. Facts whose times to be seen do not meet are not joined, as nothing that they derive would ever be seen.
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
    TimeRole,
)
from emberlog.streams.plan.repairing import for_lost_keys, lost_name, lost_relation
from emberlog.syntax.ast import Call, ComparisonOperator, Constant, Expression, Variable

LAST_SLIDE = "last slide"
BEATEN_UNTIL = "beaten until"
"""No columns of a program can have these names."""
NOT_YET = -(1 << 62)
"""Until when a fact is beaten that nobody has compared with others yet."""
NEVER = 1 << 62
"""The last slide of a fact that does not expire."""

_RECURSION = Recursion(
    RecursionCase.MEET, "a fact holds as long as its longest-lived derivation", is_linear=False, is_mutual=True
)


def with_earliest_times(checked: CheckedProgram, times: Mapping[str, TimeRole]) -> CheckedProgram:
    """The same program, in which the time of a stream's facts is aggregated, as it is in derived relations."""
    relations = dict(checked.relations)
    for name, role in times.items():
        if role is TimeRole.ANNOTATION:
            time, *others = relations[name].columns
            relations[name] = replace(relations[name], columns=(replace(time, aggregate="min"), *others))
    return replace(checked, relations=relations)


def expiring_fixpoint(
    checked: CheckedProgram, members: Sequence[str], rules: Sequence[CoreRule], repaired: Collection[str] = ()
) -> Fixpoint:
    """All relations that expire as one recursion, the streams included. Of those that are repaired, lost keys are a
    relation, too."""
    relations = dict(checked.relations)
    for name in members:
        relations[name] = _expiring(checked.relations[name])
        if name in repaired:
            relations[lost_name(name)] = _expiring(lost_relation(checked.relations[name]))
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
    """What a fact of the program has in the columns above."""
    return (NOT_YET, NEVER) if relation.is_aggregated else (NEVER,)


def _for_lost_keys(rule: CoreRule, relation: Relation) -> CoreRule:
    """Lost keys are looked for at one slide; that is no limit for what is found."""
    until = Variable(f"{LAST_SLIDE} of the key")
    searching = for_lost_keys(rule, relation, (until,))
    return replace(searching, types={**searching.types, until.name: INT})


def _with_last_slide(rule: CoreRule, is_aggregated: Mapping[str, bool], *, sees_all: bool) -> CoreRule:
    """`is_aggregated` says it of each relation that expires. `sees_all` if also what will be seen later is derived
    from: then facts have to be seen together at some slide."""
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
