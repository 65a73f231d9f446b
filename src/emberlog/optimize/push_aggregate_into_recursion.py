"""`min` and `max` that are taken of a recursion's result move into the recursion (PreM).

`path(X, Y, D) :- path(X, Z, C), arc(Z, Y, W), D = C + W` has a fact for every length of every path, and on a cycle no
end of them; if all readers want is the least length of each pair, the recursion need not keep any other. That is
right under three conditions, which are tested as for an aggregate that the user writes into a recursion:
every recursive rule is monotone in the value, so that what follows from a worse value is never better than what
follows from the best; every reader is monotone in it as well, so that the best value alone gives the same best
contribution; and readers do not count, as they meet fewer facts. The best value kept is always a value that was
derived, so nothing is made up. A recursion that can fault is left alone: the fault of a worse value would be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from emberlog.language.registry import AGGREGATES
from emberlog.logical.expressions import columns_of
from emberlog.logical.statistics import Statistics
from emberlog.optimize.rewritten import Rewritten, with_rules
from emberlog.semantics.model import (
    Absent,
    Bind,
    CheckedProgram,
    Contribution,
    CoreRule,
    Match,
    RecursionCase,
    Relation,
    Stratum,
)
from emberlog.semantics.monotonicity import non_monotone_step
from emberlog.semantics.totality import rule_can_fail
from emberlog.syntax.ast import Variable

_MOVED_AS = {"min": "min", "mmin": "min", "max": "max", "mmax": "max"}


def push_aggregate_into_recursion(checked: CheckedProgram, _statistics: Statistics) -> Rewritten:
    if checked.has_streams:
        return Rewritten(checked, "a stream keeps all its facts")
    moved = []
    program = checked
    for stratum in checked.strata:
        if stratum.recursion is None or stratum.recursion.case is not RecursionCase.SET:
            continue
        for name in stratum.relations:
            for move in _candidates(program, stratum, name):
                pushed = _pushed(program, stratum, move)
                if pushed is not None:
                    program = pushed
                    column = checked.relations[name].columns[move.column].name
                    moved.append(f"{name} keeps the {move.function} of {column} only")
                    break
    return Rewritten(program, "; ".join(moved))


@dataclass(frozen=True, slots=True)
class _Move:
    relation: str
    column: int
    function: str


def _candidates(checked: CheckedProgram, stratum: Stratum, name: str) -> Iterator[_Move]:
    """Yields what readers outside the recursion aggregate of its facts."""
    readers = _readers(checked, stratum, name)
    if name in checked.outputs or any(
        isinstance(literal, Absent) and literal.relation == name for reader in readers for literal in reader.body
    ):
        return
    found: dict[_Move, None] = {}
    for reader in readers:
        for value in reader.head:
            if isinstance(value, Contribution) and value.function in _MOVED_AS:
                read = _read_by(reader, value)
                for literal in reader.body:
                    if isinstance(literal, Match) and literal.relation == name:
                        for column, term in enumerate(literal.terms):
                            if isinstance(term, Variable) and term.name in read:
                                found[_Move(name, column, _MOVED_AS[value.function])] = None
    yield from found


def _readers(checked: CheckedProgram, stratum: Stratum, name: str) -> list[CoreRule]:
    return [
        rule
        for rule in checked.rules
        if rule.relation not in stratum.relations
        and any(isinstance(literal, Match | Absent) and literal.relation == name for literal in rule.body)
    ]


def _read_by(rule: CoreRule, value: Contribution) -> set[str]:
    """Returns the variables that the contribution is computed from, also through others."""
    computed = {literal.variable.name: literal.expression for literal in rule.body if isinstance(literal, Bind)}
    pending = [name for argument in value.arguments for name in columns_of(argument)]
    read: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in read:
            read.add(name)
            if name in computed:
                pending += columns_of(computed[name])
    return read


def _pushed(checked: CheckedProgram, stratum: Stratum, move: _Move) -> CheckedProgram | None:
    """Returns the program with the aggregate inside the recursion, or None where that could change an answer."""
    relation = _aggregated(checked.relations[move.relation], move)
    relations = {**checked.relations, move.relation: relation}
    readers = _readers(checked, stratum, move.relation)
    inside = [rule for rule in checked.rules if rule.relation in stratum.relations]
    if any(rule_can_fail(rule, beyond_range=False) for rule in (*inside, *readers)):
        return None
    if not all(
        _wants_the_best_only(reader) and non_monotone_step(reader, frozenset({move.relation}), relations) is None
        for reader in readers
    ):
        return None
    rules = [_contributing(rule, move) if rule.relation == move.relation else rule for rule in checked.rules]
    pushed = with_rules(checked, rules, relations=relations)
    if pushed is None:
        return None
    (recursion,) = (one.recursion for one in pushed.strata if move.relation in one.relations)
    return pushed if recursion is not None and recursion.case is RecursionCase.MEET else None


def _aggregated(relation: Relation, move: _Move) -> Relation:
    columns = list(relation.columns)
    columns[move.column] = replace(columns[move.column], aggregate=move.function)
    return replace(relation, columns=tuple(columns))


def _contributing(rule: CoreRule, move: _Move) -> CoreRule:
    head = list(rule.head)
    value = head[move.column]
    assert not isinstance(value, Contribution)
    head[move.column] = Contribution(move.function, (value,))
    return replace(rule, head=tuple(head))


def _wants_the_best_only(reader: CoreRule) -> bool:
    """Returns a contribution that comes once instead of twice changes nothing."""
    functions = [value.function for value in reader.head if isinstance(value, Contribution)]
    return all(name in AGGREGATES and AGGREGATES[name].is_meet for name in functions)
