"""What keeps the relations of one stratum up to date."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence

from emberlog.deadline import check_time
from emberlog.live.searches.bodies import Body, Search
from emberlog.live.searches.facts import Facts, State
from emberlog.live.searches.search_code import Emit
from emberlog.semantics.model import Fact, Match


class Maintainer(ABC):
    """Keeps some relations up to date: those of a recursion, or a single one."""

    relations: tuple[str, ...]
    method: str
    """How, for people."""
    reads: frozenset[str]
    """The relations of lower strata that the rules read."""

    @abstractmethod
    def begin(self) -> None:
        """Computes the relations from those that they read."""

    @abstractmethod
    def update(self) -> None:
        """Lets the relations follow the changes of those that they read."""

    @abstractmethod
    def commit(self) -> None:
        """Keeps what the update did besides changing facts."""

    @abstractmethod
    def abort(self) -> None:
        """Takes it back."""


def prepare(bodies: Sequence[Body], *, exact: bool) -> None:
    """Compiles what transactions need, so that the first one finds its indexes."""
    for body in bodies:
        for place, _ in body.atoms():
            body.from_change(place, State.OLD, exact=exact)
            body.from_change(place, State.NEW, exact=exact)


def changed_searches(
    bodies: Sequence[Body], facts: Mapping[str, Facts], state: State, *, exact: bool, but: frozenset[str] = frozenset()
) -> Iterator[tuple[Body, Search, Collection[Fact]]]:
    """Yields for each atom whose relation has changed the search of what is lost (OLD) or gained (NEW) by that, with
    the facts to begin it with. Relations in `but` are left out."""
    for body in bodies:
        check_time(f"bringing `{body.rule.relation}` up to date")
        for place, literal in body.atoms():
            if literal.relation in but:
                continue
            relation = facts[literal.relation]
            is_match = isinstance(literal, Match)
            given: Collection[Fact] = relation.gone if is_match is (state is State.OLD) else relation.come
            if given:
                yield body, body.from_change(place, state, exact=exact), given


def counted_changes(bodies: Sequence[Body], facts: Mapping[str, Facts]) -> dict[Fact, int]:
    """Returns by how much the number of valuations has changed, by what the heads come to."""
    changes: dict[Fact, int] = {}
    for state, sign in ((State.OLD, -1), (State.NEW, 1)):
        count = counter(changes, sign)
        for _, search, given in changed_searches(bodies, facts, state, exact=True):
            search(given, count)
    return {row: change for row, change in changes.items() if change}


def counter(numbers: dict[Fact, int], sign: int) -> Emit:
    """Returns what counts valuations."""

    def count(row: Fact, _rank: int) -> bool:
        numbers[row] = numbers.get(row, 0) + sign
        return False

    return count


def read_by(bodies: Sequence[Body]) -> frozenset[str]:
    """Returns the relations that rules read."""
    return frozenset(atom.relation for body in bodies for _, atom in body.atoms())
