"""Tells what supports the facts of a recursion, and what they support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emberlog.diagnostics import EmberlogError
from emberlog.live.maintain.agenda import Agenda
from emberlog.live.maintain.members import Member
from emberlog.live.searches.bodies import Body
from emberlog.live.searches.facts import State
from emberlog.live.searches.ranks import GAP, UNRANKED
from emberlog.semantics.model import Fact, Match


class Support:
    """Knows the relations of a recursion by their rules: which facts a fact may have derived, and by which ranks it is
    derived itself."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members: Mapping[str, Member] = {member.name: member for member in members}
        self.bodies: Sequence[Body] = [body for member in members for body in member.bodies]
        self.readers: dict[str, list[tuple[Body, int]]] = {name: [] for name in self.members}
        """The atoms of the recursion's own rules that read a relation of it."""
        read = set()
        for body in self.bodies:
            for place, literal in body.atoms():
                read.add(literal.relation)
                if isinstance(literal, Match) and literal.relation in self.members:
                    self.readers[literal.relation].append((body, place))
        self.reads = frozenset(read - set(self.members))
        self._between: set[int] = set()
        """Ranks between two steps that some fact may have."""

    def stays(self, member: Member, fact: Fact, rank: int, doubts: Agenda) -> bool:
        """Tells whether a fact that is doubted has other support. Facts of its own rank can give it, too, as none of
        them was derived from it: then its rank rises a little, and of what it supports only what is not higher still
        is doubted."""
        if member.facts.rows[fact] != rank:
            return True  # it rose since, and was looked at then
        ranks = member.facts.rows
        ranks[fact] = UNRANKED  # it does not support itself
        try:
            found = member.support(fact, rank + 1, rank - 1)
        except EmberlogError:
            # What is about to go met what is new. If there is no value in the end, either, the facts that come meet it.
            found = None
        finally:
            ranks[fact] = rank
        if found is None:
            return False
        if found >= rank:
            self.doubt_risen(member, fact, rank, doubts)
            member.facts.renumber(fact, rank + 1)
            self._between.add(rank + 1)
        return True

    def doubt_risen(self, member: Member, fact: Fact, rank: int, doubts: Agenda) -> None:
        """Doubts facts that have risen to the next rank with the help of this one, which loses its own. They may have
        done so by what is new, which no change of what was there before tells."""
        if rank + 1 in self._between or (rank + 1) % GAP == 0:
            self.doubt_derived(member, fact, State.NEW, doubts.up_to(rank + 1))

    def doubt_derived(self, member: Member, fact: Fact, state: State, doubts: Agenda) -> None:
        """Doubts what is derived with the help of a fact, from what was there before or is there now."""
        for body, place in self.readers[member.name]:
            body.from_change(place, state, exact=False)((fact,), doubts.doubts(self.members[body.rule.relation]))

    def followers(
        self, member: Member, fact: Fact, among: Mapping[tuple[str, Fact], None]
    ) -> list[tuple[Member, Fact]]:
        """Returns the facts among some that a fact may support."""
        found: dict[tuple[str, Fact], None] = {}
        for body, place in self.readers[member.name]:
            other = self.members[body.rule.relation]

            def take(row: Fact, _premise: int, other: Member = other) -> bool:
                follower = other.fact_of(row)
                if follower is not None and (other.name, follower) in among:
                    found[other.name, follower] = None
                return False

            body.from_change(place, State.NEW, exact=False)((fact,), take)
        return [(self.members[name], follower) for name, follower in found]
