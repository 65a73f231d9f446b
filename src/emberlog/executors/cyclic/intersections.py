"""Joins that close a cycle, as intersections: `arc(Y, Z), arc(X, Z)` after `arc(X, Y)` binds Z to what X and Y share.

Joined one by one, the first of the two would list every way on from Y, and the second drop most of them: on a graph
with hubs that is far more than comes out. An intersection never lists them (a generic join, worst-case optimal for
the order in which variables are bound).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from emberlog.datatypes import INT, TIMESTAMP
from emberlog.executors.cyclic.indexes import MOST_PAIRS, Matches, PackedIndex
from emberlog.executors.cyclic.kernels.intersections import intersect, narrow, sort_groups
from emberlog.executors.cyclic.lanes import Lane, Lanes
from emberlog.executors.cyclic.rules import Atom, Bound, Intersect, Keep, Probe, RuleChain, Send, Step, binds
from emberlog.executors.cyclic.stores import StaticStore
from emberlog.semantics.model import Compare
from emberlog.syntax.ast import ComparisonOperator, Constant, Variable

ORDERED = (INT, TIMESTAMP)
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
    """The chain with joins that close a cycle made one step with the join that opens it. `members` are the relations
    of the recursion, which have no sorted lists."""
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
    """The one variable that a join binds, if it binds one and all else in the atom is a key."""
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
    if not isinstance(condition, Compare) or condition.operator not in MIRRORED:
        return None
    for one, other, operator in (
        (condition.left, condition.right, condition.operator),
        (condition.right, condition.left, MIRRORED[condition.operator]),
    ):
        if one != Variable(opened) or chain.types[opened] not in ORDERED:
            continue
        match other:
            case Variable(name) if name in bound and chain.types[name] == chain.types[opened]:
                return operator, other
            case Constant(value) if type(value) is int and chain.types[opened] == INT:
                return operator, other
            case _:
                return None
    return None


def keys_of(atom: Atom, variable: str) -> tuple[int, ...]:
    """The columns of an atom that are bound before the variable."""
    return tuple(column for column, name in enumerate(atom.variables) if name != variable)


class SortedLists:
    """Over a relation that does not change: for each key the values of one column, in order."""

    def __init__(self, store: StaticStore, keys: tuple[int, ...], column: int) -> None:
        self.index = PackedIndex(store, keys)
        self.values = self.index.in_order(column).copy()
        sort_groups(self.values, self.index.starts)

    def ranges(self, keys: Lanes) -> tuple[Lane, Lane]:
        """Where the list of each key begins and ends; an empty one where there is none."""
        groups = self.index.groups(keys)
        is_there = groups >= 0
        places = np.where(is_there, groups, 0)
        starts = self.index.starts
        return np.where(is_there, starts[places], 0), np.where(is_there, starts[places + 1], 0)


class Intersection:
    """One step, prepared: the lists of all its atoms, one behind the other."""

    def __init__(self, lists: Sequence[SortedLists]) -> None:
        self.lists = lists
        distinct = list({id(one): one for one in lists}.values())
        lengths = [len(one.values) for one in distinct]
        begins = dict(zip(map(id, distinct), np.cumsum([0, *lengths[:-1]]).tolist(), strict=True))
        self.offsets = [int(begins[id(one)]) for one in lists]
        self.values = distinct[0].values if len(distinct) == 1 else np.concatenate([one.values for one in distinct])

    def pairs(self, keys: Sequence[Lanes], lows: Lane | None, highs: Lane | None) -> Iterator[Matches]:
        """The numbers of valuations, with the values that all lists of a valuation have."""
        begins, ends = self._ranges(keys, lows, highs)
        longest = int((ends - begins).min(axis=0).max(initial=0))
        room = max(MOST_PAIRS, longest)
        probe, total = 0, begins.shape[1]
        while probe < total:
            probes, found = np.empty(room, np.int64), np.empty(room, np.int64)
            probe, count = intersect(self.values, begins, ends, probe, probes, found, True)
            if count:
                yield Matches(probes[:count], found[:count])

    def count(self, keys: Sequence[Lanes], lows: Lane | None, highs: Lane | None) -> int:
        """How many pairs there are, where nobody needs to know which."""
        begins, ends = self._ranges(keys, lows, highs)
        nothing = np.empty(0, np.int64)
        return intersect(self.values, begins, ends, 0, nothing, nothing, False)[1]

    def _ranges(self, keys: Sequence[Lanes], lows: Lane | None, highs: Lane | None) -> tuple[Lanes, Lanes]:
        found = [one.ranges(lanes) for one, lanes in zip(self.lists, keys, strict=True)]
        begins = np.stack([begin + offset for (begin, _), offset in zip(found, self.offsets, strict=True)])
        ends = np.stack([end + offset for (_, end), offset in zip(found, self.offsets, strict=True)])
        if lows is not None or highs is not None:
            least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
            low = np.full(begins.shape[1], least) if lows is None else lows
            high = np.full(begins.shape[1], most) if highs is None else highs
            narrow(self.values, begins, ends, low, high)
        return begins, ends
