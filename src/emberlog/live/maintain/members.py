"""The relations of a recursion: what supports a fact, and the best contribution to each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from emberlog.language.aggregates import Aggregate, Best
from emberlog.language.faults import Fault
from emberlog.live.searches.bodies import Body
from emberlog.live.searches.facts import Facts
from emberlog.live.searches.ranks import GAP, NO_LIMIT
from emberlog.logical.python_evaluation import error_in_relation
from emberlog.semantics.model import Fact


@dataclass(slots=True)
class Member:
    """Holds a relation of the recursion. A contribution to it has the columns of a key, then the arguments of the
    aggregates; without aggregates it is the fact."""

    name: str
    facts: Facts
    bodies: Sequence[Body]
    written: Sequence[Fact]
    """Contributions of the facts in the program."""
    width: int
    """How many columns a key has."""
    aggregates: Sequence[Aggregate] = ()
    arguments: Sequence[Sequence[int]] = ()
    """Of each aggregate, the places in a contribution."""
    in_order: Sequence[int] = ()
    """Of each column of the relation, its place in a key with the values behind it."""
    best: dict[Fact, list[Fact | None]] = field(default_factory=dict)
    """The best arguments of each aggregate, by key; None where all of them have a null."""
    current: dict[Fact, Fact] = field(default_factory=dict)
    """The fact of each key."""
    before: dict[Fact, tuple[list[Fact | None] | None, Fact | None]] = field(default_factory=dict)
    """What was there before the transaction, by the keys that it touched."""
    written_of: dict[Fact, list[Fact]] = field(default_factory=dict)
    is_better: Sequence[Callable[[Any, Any], bool]] = ()
    _key_columns: Sequence[int] = ()

    def __post_init__(self) -> None:
        for row in self.written:
            self.written_of.setdefault(row[: self.width], []).append(row)
        self.is_better = [_comparison(one) for one in self.aggregates]
        if self.aggregates:
            self._key_columns = [list(self.in_order).index(place) for place in range(self.width)]

    @property
    def value_column(self) -> int:
        """Returns the column of its only aggregate."""
        return list(self.in_order).index(self.width)

    def key(self, fact: Fact) -> Fact:
        return tuple([fact[column] for column in self._key_columns])

    def attained(self, best: Sequence[Fact | None], row: Fact) -> list[bool]:
        """Tells for each aggregate whether a contribution has its best value."""
        return [
            wanted is None or tuple([row[place] for place in places]) == wanted
            for places, wanted in zip(self.arguments, best, strict=True)
        ]

    def fact_of(self, row: Fact) -> Fact | None:
        """Returns the fact that a contribution is part of, if there is one and the contribution decides one of its
        values."""
        if not self.aggregates:
            return row if self.facts.has(row) else None
        key = row[: self.width]
        best = self.best.get(key)
        return self.current[key] if best is not None and any(self.attained(best, row)) else None

    def keep_old(self, key: Fact) -> None:
        """Takes note of what was there before the transaction, before it changes."""
        if key not in self.before:
            best = self.best.get(key)
            self.before[key] = (None if best is None else list(best), self.current.get(key))

    def remove(self, fact: Fact) -> None:
        if self.aggregates:
            key = self.key(fact)
            self.keep_old(key)
            del self.best[key], self.current[key]
        self.facts.remove(fact)

    # --- support ----------------------------------------------------------------------------------------------------

    def support(self, fact: Fact, limit: int, enough: int = -1) -> int | None:
        """Returns the lowest rank that some derivation of a fact reads at most, which is below the limit; None if there
        is no such derivation, and any that is `enough` if there is one. What reads no fact of the recursion counts as
        0 less a step."""
        if self.aggregates:
            return self._support_of_values(fact, limit, enough)
        if fact in self.written_of:
            return -GAP
        lowest = NO_LIMIT

        def take(row: Fact, premise: int) -> bool:
            nonlocal lowest
            if row != fact:
                return False
            if premise < lowest:
                lowest = premise
            return lowest <= enough

        for body in self.bodies:
            if body.from_head(fact)((fact,), take, limit):
                break
        return None if lowest == NO_LIMIT else lowest

    def _support_of_values(self, fact: Fact, limit: int, enough: int) -> int | None:
        """Does the same for the fact of a group: each value needs a contribution."""
        key = self.key(fact)
        best = self.best[key]
        ranks = [NO_LIMIT] * len(best)

        def take(row: Fact, premise: int) -> bool:
            if row[: self.width] != key:
                return False
            for place, is_attained in enumerate(self.attained(best, row)):
                if is_attained and premise < ranks[place]:
                    ranks[place] = premise
            return max(ranks) <= enough

        is_done = any(take(row, -GAP) for row in self.written_of.get(key, ()))
        for body in self.bodies:
            if is_done or body.from_head(key)((key,), take, limit):
                break
        return None if NO_LIMIT in ranks else max(ranks)

    # --- contributions ----------------------------------------------------------------------------------------------

    def improve(self, row: Fact) -> tuple[Fact | None, Fact] | None:
        """Takes a contribution to a group. If it is better than what is known, the group has its value; returns the
        fact of before, if there was one, and the one that it is now."""
        key = row[: self.width]
        best = self.best.get(key)
        improved: list[Fact | None] = [None] * len(self.aggregates) if best is None else list(best)
        is_better = best is None
        try:
            for place, (aggregate, places) in enumerate(zip(self.aggregates, self.arguments, strict=True)):
                arguments = tuple([row[one] for one in places])
                aggregate.check(arguments)
                known = improved[place]
                if None not in arguments and (known is None or self.is_better[place](arguments, known)):
                    improved[place] = arguments
                    is_better = True
        except Fault as fault:
            raise error_in_relation(fault, self.name, [body.rule.name for body in self.bodies]) from None
        if not is_better:
            return None
        self.keep_old(key)
        in_plan = key + tuple([None if one is None else one[-1] for one in improved])
        fact = tuple([in_plan[place] for place in self.in_order])
        old = self.current.get(key)
        self.best[key], self.current[key] = improved, fact
        return old, fact

    # --- the end of a transaction -----------------------------------------------------------------------------------

    def abort(self) -> None:
        for key, (best, fact) in self.before.items():
            if best is None or fact is None:
                self.best.pop(key, None)
                self.current.pop(key, None)
            else:
                self.best[key], self.current[key] = best, fact


def _comparison(aggregate: Aggregate) -> Callable[[Any, Any], bool]:
    """Returns what tells which of two contributions is better."""
    accumulator = aggregate.python()
    assert isinstance(accumulator, Best), aggregate.name
    return accumulator.is_better
