"""Compiles the body of a rule to Python functions that find its valuations from one end: from a fact that has changed,
from the head, or from nothing.

A function is nested loops over indexes. A change of one atom is joined with the other atoms as they were (for
valuations that are lost) or as they are now (for those that are gained). Where each valuation must be found once, the
atoms in front of the changed one are read without any change: a valuation belongs to its first change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from emberlog.language.faults import Fault
from emberlog.language.registry import Functions
from emberlog.live.searches.facts import Facts, State
from emberlog.live.searches.ranks import NO_LIMIT
from emberlog.live.searches.search_code import Emit, Find, SearchWriter
from emberlog.live.searches.step_order import bound_by, bound_somewhere, next_step, solved, split_by_risk
from emberlog.logical.python_evaluation import error_in_rule
from emberlog.semantics.model import Absent, Bind, CoreRule, Fact, Match
from emberlog.syntax.ast import Binary, Expression, Variable

MOST_LOOPS = 18

_HEAD = "head"
_OF_HEAD = "head?"
"""Begins the names of variables that stand for computed columns of the head. No program can write them."""


@dataclass(frozen=True, slots=True)
class Search:
    """Finds valuations of a body."""

    find: Find
    rule: str

    def __call__(self, given: Iterable[Fact], emit: Emit, limit: int = NO_LIMIT) -> bool:
        """Calls `emit` for each valuation that begins with one of the facts that are given, until it returns True.
        From the head, only facts of ranks below the limit are read."""
        try:
            return self.find(given, emit, limit)
        except Fault as fault:
            raise error_in_rule(fault, self.rule) from None


@dataclass(slots=True)
class Body:
    """Holds a rule and the facts that it reads, and compiles searches of it."""

    rule: CoreRule
    head: Sequence[Expression]
    facts: Mapping[str, Facts]
    functions: Functions
    keys: int
    """How many columns of the head tell a fact, from the left; the others are arguments of aggregates."""
    ranked: frozenset[str] = frozenset()
    """The relations of its own recursion, whose facts have ranks."""
    _exact: dict[tuple[int, bool], Search] = field(default_factory=dict)
    _inexact: dict[tuple[int, bool], Search] = field(default_factory=dict)
    _usual: Search | None = None
    _of_nulls: Search | None = None

    def atoms(self) -> Iterator[tuple[int, Match | Absent]]:
        """Yields the literals that read facts, with their places."""
        for place, one in enumerate(self.rule.body):
            if isinstance(one, Match | Absent):
                yield place, one

    @property
    def has_many_loops(self) -> bool:
        """Tells whether the body has more atoms than Python nests loops."""
        return sum(1 for _ in self.atoms()) > MOST_LOOPS

    def from_nothing(self) -> Search:
        """Finds all valuations as the facts are after the transaction."""
        return self._search(None, State.NEW, exact=False)

    def from_change(self, place: int, state: State, *, exact: bool) -> Search:
        """Finds the valuations that are lost (OLD) or gained (NEW) by changes of the atom at a place. With `exact`,
        those that another change in front of it finds already are left out."""
        searches = self._exact if exact else self._inexact
        found = searches.get((place, state is State.OLD))
        if found is None:
            found = searches[place, state is State.OLD] = self._search(place, state, exact=exact)
        return found

    def from_head(self, fact: Fact) -> Search:
        """Finds the valuations after the transaction whose head may be the fact: it agrees in the columns that are
        plain variables, or sums of them. What sum a null is tells nothing."""
        if None in fact and any(fact[place] is None for place in self._computed):
            if self._of_nulls is None:
                self._of_nulls = self._search(_HEAD, State.NEW, exact=False, solves=False)
            return self._of_nulls
        if self._usual is None:
            self._usual = self._search(_HEAD, State.NEW, exact=False)
        return self._usual

    @property
    def _computed(self) -> list[int]:
        return [place for place, one in enumerate(self.head[: self.keys]) if isinstance(one, Binary)]

    def _search(self, start: int | str | None, state: State, *, exact: bool, solves: bool = True) -> Search:
        writer = SearchWriter(self.facts, self.functions, self.ranked, is_limited=start == _HEAD)
        plain, risky = split_by_risk(self.rule)
        pending = list(plain)
        bound: set[str] = set()
        known_later = bound_somewhere(self.rule)
        if isinstance(start, int):
            changed = self.rule.body[start]
            assert isinstance(changed, Match | Absent)
            pending.remove(start)
            bound |= {term.name for term in changed.terms if isinstance(term, Variable)} & known_later
            writer.begin_with(changed, bound, state)
        elif start == _HEAD:
            names = self._bound_by_head(pending, solves=solves)
            bound |= {name for name in names if name is not None}
            often = self._often_read(names)
            writer.may_be_null = {name for name, is_often in zip(names, often, strict=True) if name and not is_often}
            writer.begin_with_head(names, often)
            for total, one in zip(names, self.head, strict=False):
                guessed = None if total is None else solved(Variable(total), one, bound, self.rule)
                if guessed is not None:
                    writer.guess(*guessed)
                    bound.add(guessed[0])
        else:
            writer.begin_with_nothing()
        while pending:
            place = next_step(self.rule, pending, bound, self.facts)
            if isinstance(place, tuple):
                writer.guess(*place)
                bound.add(place[0])
                continue
            pending.remove(place)
            literal = self.rule.body[place]
            seen = State.KEPT if exact and isinstance(start, int) and place < start else state
            writer.step(literal, bound, seen, known_later)
            bound |= bound_by(literal)
        writer.risky([self.rule.body[place] for place in risky], bound)
        writer.head(self.head)
        return Search(writer.finish(), self.rule.name)

    def _bound_by_head(self, plain: Sequence[int], *, solves: bool) -> list[str | None]:
        """Returns for each column of the head the variable of an atom that it gives a value, or a made-up one for what
        is computed."""
        atoms = set().union(*(bound_by(one) for place in plain if isinstance(one := self.rule.body[place], Match)))
        names: list[str | None] = []
        for place, written in enumerate(self.head[: self.keys]):
            match written:
                case Variable(name) if name in atoms:
                    names.append(name)
                case Binary() if solves:
                    names.append(f"{_OF_HEAD}{place}")
                case _:
                    names.append(None)
        return names

    def _often_read(self, names: Sequence[str | None]) -> list[bool]:
        """Tells which of these variables no null can be: they are in several places of atoms."""
        read = [
            term.name
            for one in self.rule.body
            if isinstance(one, Match)
            for term in one.terms
            if isinstance(term, Variable)
        ]
        read += [one.variable.name for one in self.rule.body if isinstance(one, Bind)]
        return [name is not None and (name.startswith(_OF_HEAD) or read.count(name) > 1) for name in names]
