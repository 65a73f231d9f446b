"""Which joins of a chain close a cycle, and so are better one intersection: `arc(Y, Z), arc(X, Z)` after `arc(X, Y)`.

Joined one by one, the first of the two would list every way on from Y, and the second drop most of them: on a graph
with hubs that is far more than comes out. An intersection binds Z to what X and Y share and never lists the others (a
generic join, worst-case optimal for the order in which variables are bound).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from emberlog.semantics.model import Compare
from emberlog.syntax.ast import ComparisonOperator, Constant, Variable
from emberlog.workers.plan.rules import Atom, Bound, Intersect, Keep, Probe, RuleChain, Send, Step, binds

"""Types whose lanes are in the order of their values, and of which there is a next one."""

LOWER = {ComparisonOperator.GREATER: True, ComparisonOperator.GREATER_OR_EQUAL: False}
UPPER = {ComparisonOperator.LESS: True, ComparisonOperator.LESS_OR_EQUAL: False}
"""Whether the bound itself is excluded."""

MIRRORED = {
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.LESS_OR_EQUAL: ComparisonOperator.GREATER_OR_EQUAL,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.GREATER_OR_EQUAL: ComparisonOperator.LESS_OR_EQUAL,
}


def with_intersections(chain: RuleChain, members: frozenset[str]) -> RuleChain:
    """Returns the chain with joins that close a cycle made one step with the join that opens it. `members` are the
    relations of the recursion, which have no sorted lists."""
    steps: list[Step] = []
    waiting = list(chain.steps)
    bound: set[str] = set()
    while waiting:
        step = waiting.pop(0)
        if isinstance(step, Probe) and (opened := _opened(step, bound, members)) is not None:
            closers = list(_closers(waiting, opened, bound, members))
            if closers:
                for closer in closers:
                    waiting.remove(closer)
                step = _intersection(opened, (step, *closers), waiting, bound, chain)
        steps.append(step)
        bound |= binds(step)
    return chain if len(steps) == len(chain.steps) else replace(chain, steps=tuple(steps))


def _opened(step: Probe, bound: set[str], members: frozenset[str]) -> str | None:
    """Returns the one variable that a join binds, if it binds one and all else in the atom is a key."""
    new = [name for name in step.atom.variables if name not in bound]
    is_plain = step.keys and len(new) == 1 and len(step.keys) == len(step.atom.variables) - 1
    return new[0] if is_plain and step.atom.relation not in members else None


def _closers(waiting: Sequence[Step], opened: str, bound: set[str], members: frozenset[str]) -> Iterator[Probe]:
    for step in waiting:
        if isinstance(step, Send):
            return
        if (
            isinstance(step, Probe)
            and step.atom.relation not in members
            and step.atom.variables.count(opened) == 1
            and len(step.keys) == len(step.atom.variables) > 1
            and set(step.atom.variables) <= bound | {opened}
        ):
            yield step


def _intersection(
    opened: str, probes: tuple[Probe, ...], waiting: list[Step], bound: set[str], chain: RuleChain
) -> Intersect:
    """With the conditions that bound the variable, which are taken out of what is left to do."""
    lows: list[Bound] = []
    highs: list[Bound] = []
    for step in list(waiting):
        if not isinstance(step, Keep) or (found := _bound(step, opened, bound, chain)) is None:
            continue
        operator, value = found
        if operator in LOWER:
            lows.append(Bound(value, LOWER[operator]))
        else:
            highs.append(Bound(value, UPPER[operator]))
        waiting.remove(step)
    return Intersect(opened, tuple(probe.atom for probe in probes), tuple(lows), tuple(highs))


def _bound(
    step: Keep, opened: str, bound: set[str], chain: RuleChain
) -> tuple[ComparisonOperator, Variable | Constant] | None:
    """`opened > value`, whichever way round it is written."""
    condition = step.condition
    if not isinstance(condition, Compare) or condition.operator not in MIRRORED or chain.nullable:
        return None
    for one, other, operator in (
        (condition.left, condition.right, condition.operator),
        (condition.right, condition.left, MIRRORED[condition.operator]),
    ):
        if one != Variable(opened) or not chain.types[opened].is_whole:
            continue
        match other:
            case Variable(name) if name in bound and chain.types[name] == chain.types[opened]:
                return operator, other
            case Constant(value) if type(value) is int:
                return operator, other
            case _:
                return None
    return None


def keys_of(atom: Atom, variable: str) -> tuple[int, ...]:
    """Returns the columns of an atom that are bound before the variable."""
    return tuple(column for column, name in enumerate(atom.variables) if name != variable)
