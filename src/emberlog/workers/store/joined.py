"""Holds contributions of a rule that ends with a join with a relation that does not change, not written out.

Most of the work of a recursion with a minimum or a sum by vertex is in that join. A store that looks its keys up
directly combines the pairs as it meets them; for any other they are written out after all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from emberlog.datatypes import INT
from emberlog.syntax.ast import Binary, BinaryOperator, Variable
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.plan.faults import overflow
from emberlog.workers.plan.rules import Assign, Probe, RuleChain
from emberlog.workers.store.indexes import PackedIndex


@dataclass(frozen=True, slots=True)
class LastJoin:
    """Says how a rule ends: its head is a key from the joined relation, and a value."""

    position: int
    """Of the join among the steps."""
    key: int
    """The column of the relation that is the key."""
    base: str | None
    """The variable, bound before the join, that is the value or a part of it."""
    column: int | None
    """The column of the relation that is the value, or is added to it."""


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Holds pairs of probes and rows of the index."""

    rule: str
    index: PackedIndex
    numbers: Lane
    key: int
    base: Lane | None
    column: int | None

    @property
    def rows(self) -> int:
        return self.index.count(self.numbers)

    def written_out(self) -> Iterator[Lanes]:
        for found in self.index.pairs(self.numbers):
            value = np.zeros(len(found.rows), np.int64) if self.base is None else self.base[found.probes]
            if self.column is not None:
                other = self.index.column(self.column, found.rows)
                total = value + other
                if bool((((value ^ total) & (other ^ total)) < 0).any()):
                    raise overflow(self.rule)
                value = total
            yield np.stack([self.index.column(self.key, found.rows), value])


Contribution: TypeAlias = Lanes | Joined


def rows_of(contribution: Contribution) -> int:
    return contribution.rows if isinstance(contribution, Joined) else contribution.shape[1]


def width_of(contribution: Contribution) -> int:
    return 2 if isinstance(contribution, Joined) else contribution.shape[0]


def written_out(contribution: Contribution) -> Iterator[Lanes]:
    if isinstance(contribution, Joined):
        yield from contribution.written_out()
    else:
        yield contribution


def last_join(chain: RuleChain) -> LastJoin | None:
    """Returns how the rule ends, if it ends with a join that can be left unwritten."""
    if len(chain.head) != 2 or chain.checked:
        return None
    steps, (key, value) = chain.steps, chain.head
    last = steps[-1] if steps else None
    if isinstance(last, Assign) and value == Variable(last.variable):
        steps, value = steps[:-1], last.expression
    probe = steps[-1] if steps else None
    if not isinstance(probe, Probe):
        return None
    new = {name: column for column, name in enumerate(probe.atom.variables) if column not in probe.keys}
    if len(new) + len(probe.keys) < len(probe.atom.variables):
        return None  # a variable that is repeated has to be compared
    if not isinstance(key, Variable) or key.name not in new:
        return None
    position = len(steps) - 1
    match value:
        case Variable(name):
            return LastJoin(position, new[key.name], None if name in new else name, new.get(name))
        case Binary(BinaryOperator.ADD, Variable(one), Variable(other)):
            for base, column in ((one, other), (other, one)):
                is_int = chain.types[base] == chain.types[column] == INT
                if base not in new and column in new and is_int:
                    return LastJoin(position, new[key.name], base, new[column])
    return None
