"""Gives proofs the facts of a run: complete relations, and recursive ones as they were at an iteration."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from emberlog.diagnostics import InternalError
from emberlog.engines.recording import is_latest
from emberlog.io.shelves import Shelf
from emberlog.provenance.lookup import Found, Lookup
from emberlog.provenance.model import Goal
from emberlog.semantics.model import CellValue, CheckedProgram, Fact, Recursion, RecursionCase, Relation, Stratum


class View(Protocol):
    """Gives the body of a rule its facts."""

    def find(self, relation: str, equal: Mapping[int, CellValue]) -> Found: ...


class FactBase:
    def __init__(self, checked: CheckedProgram, shelves: Mapping[str, Shelf], histories: Mapping[str, Shelf]) -> None:
        self.checked = checked
        self._strata = {name: stratum for stratum in checked.strata for name in stratum.relations}
        # What a pass made up is no relation of the program.
        self._finals = {name: Lookup(shelf) for name, shelf in shelves.items() if name in checked.relations}
        self._histories = {name: Lookup(shelf) for name, shelf in histories.items() if name in checked.relations}

    def relation(self, name: str) -> Relation:
        return self.checked.relations[name]

    def stratum(self, name: str) -> Stratum | None:
        return self._strata.get(name)

    def recursion(self, name: str) -> Recursion | None:
        stratum = self._strata.get(name)
        return stratum.recursion if stratum else None

    @property
    def known(self) -> tuple[str, ...]:
        """Lists the relations that the run read or computed."""
        return tuple(self._finals)

    def find(self, relation: str, equal: Mapping[int, CellValue]) -> Found:
        """Finds facts of the complete relation."""
        recursion = self.recursion(relation)
        if recursion is not None and recursion.case is RecursionCase.SET and relation in self._histories:
            # The same rows: what is fetched for one question serves the other.
            found = self._histories[relation].find(equal)
            return Found(found.count, Rows(found.facts, lambda row: row[:-1]))
        return self._finals[relation].find(equal)

    def has(self, relation: str, fact: Fact) -> bool:
        return any(other == fact for other in self.find(relation, _plain(fact)).facts)

    def versions(self, relation: str, equal: Mapping[int, CellValue]) -> Iterator[Goal]:
        """Yields the facts that the relation ever had, with the iterations in which they came."""
        for row in self.history(relation, equal).facts:
            yield Goal(relation, row[:-1], iteration_in(row))

    def history(self, relation: str, equal: Mapping[int, CellValue]) -> Found:
        """Finds the same as rows, with the iteration behind the fact."""
        if relation in self._histories:
            return self._histories[relation].find(equal)
        # Whatever recursion the rules have, no fact came from it.
        found = self._finals[relation].find(equal)
        return Found(found.count, Rows(found.facts, lambda fact: (*fact, 0)))

    def goal(self, relation: str, fact: Fact) -> Goal:
        """Returns the goal of a fact that is there in the end."""
        recursion = self.recursion(relation)
        if recursion is None:
            return Goal(relation, fact)
        if recursion.case is RecursionCase.STAGED:
            return Goal(relation, fact, _stage(recursion, relation, fact))
        rows = self.history(relation, _plain(fact)).facts
        came = [iteration_in(row) for row in rows if row[:-1] == fact]
        if not came:
            raise InternalError(f"DL901: the iteration of a fact of {relation} was not recorded")
        return Goal(relation, fact, max(came) if is_latest(recursion.case) else min(came))

    def before(self, goal: Goal) -> View:
        """Returns the facts that rules read to derive the goal."""
        recursion = self.recursion(goal.relation)
        if recursion is None or recursion.case is RecursionCase.STAGED or goal.iteration is None:
            return self
        stratum = self._strata[goal.relation]
        return Before(self, stratum, goal.iteration, exactly=recursion.case is RecursionCase.BOUNDED)

    def ever(self, goal: Goal) -> View:
        """Returns what rules read in any iteration to derive the goal. A bounded round reads one iteration only."""
        view = self.before(goal)
        if isinstance(view, Before) and not view.exactly:
            return Before(self, self._strata[goal.relation], sys.maxsize, exactly=False)
        return view

    def before_last_round(self, relation: str) -> View:
        """Returns what the rules of a bounded recursion read in their last round."""
        return Before(self, self._strata[relation], self.last_round(relation), exactly=True)

    def last_round(self, relation: str) -> int:
        """Returns the number of the last round of a bounded recursion."""
        stratum = self._strata[relation]
        assert stratum.recursion is not None and stratum.recursion.iterations is not None
        bound = last = stratum.recursion.iterations
        while last > 0 and not any(self._came_in(name, last) for name in stratum.relations):
            last -= 1
        # The last round may have taken all facts back.
        is_empty = not any(self.find(name, {}).count for name in stratum.relations)
        return min(last + 1, bound) if is_empty else last

    def _came_in(self, relation: str, iteration: int) -> bool:
        return self.history(relation, {self.relation(relation).arity: iteration}).count > 0

    def premise(self, view: View, relation: str, fact: Fact) -> Goal:
        """Returns the goal of a fact that a rule read."""
        return view.goal(relation, fact) if isinstance(view, Before) else self.goal(relation, fact)


class Before:
    """Gives the facts of a recursion before an iteration, or exactly at the one before it; all others as they are."""

    def __init__(self, base: FactBase, stratum: Stratum, iteration: int, *, exactly: bool) -> None:
        self.base = base
        self.members = frozenset(stratum.relations)
        self.iteration = iteration
        self.exactly = exactly

    def find(self, relation: str, equal: Mapping[int, CellValue]) -> Found:
        if relation not in self.members:
            return self.base.find(relation, equal)
        found = self.base.history(relation, equal)
        return Found(found.count, Rows(found.facts, self._as_read))

    def goal(self, relation: str, fact: Fact) -> Goal:
        if relation not in self.members:
            return self.base.goal(relation, fact)
        rows = self.base.history(relation, _plain(fact)).facts
        came = [iteration_in(row) for row in rows if self._as_read(row) == fact]
        return Goal(relation, fact, min(came))

    def _as_read(self, row: Fact) -> Fact | None:
        came = iteration_in(row)
        is_there = came == self.iteration - 1 if self.exactly else came < self.iteration
        return row[:-1] if is_there else None


@dataclass(frozen=True, slots=True)
class Rows:
    """Gives rows another form when they are looked at; those that have none are left out."""

    rows: Iterable[Fact]
    form: Callable[[Fact], Fact | None]

    def __iter__(self) -> Iterator[Fact]:
        return (fact for row in self.rows if (fact := self.form(row)) is not None)


def iteration_in(row: Fact) -> int:
    iteration = row[-1]
    assert isinstance(iteration, int)
    return iteration


def _stage(recursion: Recursion, relation: str, fact: Fact) -> int:
    stage = fact[recursion.stage_columns[relation]]
    assert isinstance(stage, int)
    return stage


def _plain(fact: Fact) -> dict[int, CellValue]:
    """Returns the values that can be asked for: a lookup by null finds nothing."""
    return {column: value for column, value in enumerate(fact) if value is not None}
