"""Recursions: a fact stays as long as something that came before it supports it.

Each fact has a rank, and some derivation of it reads only facts of its own recursion that have lower ranks. So facts
that support each other in a circle do not keep each other: the one of the lowest rank would need a still lower one.

A transaction first looks at the facts that lost a derivation, the lowest ranks first. One that finds another derivation
from lower ranks stays; the others go, and what they supported is looked at in turn. Facts that went and can be derived
from what is left come back with a new rank, new facts are derived from what is new, and so on until nothing changes.

In a relation with `min`, `max` and the like, the fact of a group stays as long as a contribution with its value has
such support. A better contribution replaces the fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from emberlog.config import Limits
from emberlog.live.maintain.agenda import Agenda
from emberlog.live.maintain.loading import Loader, NotRanked
from emberlog.live.maintain.maintainer import Maintainer, changed_searches, prepare
from emberlog.live.maintain.members import Member
from emberlog.live.maintain.reranking import Reranking
from emberlog.live.maintain.support import Support
from emberlog.live.maintain.watch import Watch
from emberlog.live.searches.facts import Facts, State
from emberlog.live.searches.ranks import GAP, NO_LIMIT, UNRANKED, next_rank
from emberlog.logical.nodes import PlannedStratum
from emberlog.semantics.model import Fact


class Supporting(Maintainer):
    """Keeps the relations of a recursion up to date."""

    def __init__(
        self,
        facts: Mapping[str, Facts],
        members: Sequence[Member],
        limits: Limits,
        loader: Loader,
        stratum: PlannedStratum,
    ) -> None:
        self.relations = tuple(member.name for member in members)
        self._facts = facts
        self._support = Support(members)
        self._members = self._support.members
        self._own = frozenset(self._members)
        self._bodies = self._support.bodies
        self.reads = self._support.reads
        self._loader = loader
        self._stratum = stratum
        self._watch = Watch([member.facts for member in members], limits)
        self._reranking = Reranking(self._support, self._watch)
        self._highest = self._committed = 0
        """The highest rank, now and before the transaction."""
        self._is_unranked = self._was_unranked = False
        """Whether some facts have no ranks, so that the next loss derives all anew: now, and before the transaction."""
        self.method = (
            "repaired: a value that loses its support goes, and is found again from what is left"
            if any(member.aggregates for member in members)
            else "supported by rank: what loses its support goes, and is derived again from what is left"
        )

    # --- the beginning ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        if not self._load():
            self._derive_all()
        for member in self._members.values():
            member.facts.commit()
        self._prepare()

    def take_over(self, levels: Iterable[tuple[Fact, int]]) -> None:
        """Goes on with the facts of a single set that something else has kept: some derivation of each reads only facts
        of lower levels."""
        [member] = self._members.values()
        member.facts.rows.update((fact, level * GAP) for fact, level in levels)
        self._highest = max(member.facts.rows.values(), default=0)
        self._prepare()

    def _prepare(self) -> None:
        self.commit()
        prepare(self._bodies, exact=False)
        for member in self._members.values():
            for body in member.bodies:
                body.from_head((0,) * member.width)

    def _load(self) -> bool:
        """Lets the engine derive everything; returns False if that cannot be."""
        members = self._members.values()
        if any(len(member.aggregates) > 1 or any(one.by_cost for one in member.aggregates) for member in members):
            return False
        try:
            if not any(member.aggregates for member in members):
                for name, ranks in self._loader.ranks_of_sets(self._stratum).items():
                    self._members[name].facts.rows.update((fact, rank * GAP) for fact, rank in ranks.items())
                self._highest = max((rank for member in members for rank in member.facts.rows.values()), default=0)
                return True
            final = self._loader.relations(self._stratum)
            found = self._loader.ranks_of_values(self._stratum, final)
        except NotRanked:
            return False
        for name, relation in final.items():
            member, ranks = self._members[name], found[name]
            for fact in relation.facts:
                rank = ranks[fact] * GAP if fact in ranks else UNRANKED
                if rank == UNRANKED:
                    self._reranking.unranked(member, fact)
                else:
                    self._highest = max(self._highest, rank)
                member.facts.rows[fact] = rank
                if member.aggregates:
                    key = member.key(fact)
                    value = fact[member.value_column]
                    member.best[key] = [None if value is None else (value,)]
                    member.current[key] = fact
        self._rank_anew()
        return True

    def _derive_all(self) -> None:
        """Derives everything from what the recursion reads."""
        agenda = Agenda()
        for member in self._members.values():
            for row in member.written:
                agenda.push(0, member, row)
            for body in member.bodies:
                body.from_nothing()((), agenda.offers(member))
        self._improve(agenda)
        self._rank_anew()

    # --- a transaction ----------------------------------------------------------------------------------------------

    def update(self) -> None:
        doubts = Agenda()
        for body, search, given in changed_searches(self._bodies, self._facts, State.OLD, exact=False, but=self._own):
            search(given, doubts.doubts(self._members[body.rule.relation]))
        if self._is_unranked and any(facts.is_changed for facts in map(self._facts.__getitem__, self.reads)):
            self._start_over()
            return
        gone = self._retire(doubts)
        agenda = Agenda()
        self._find_again(gone, agenda)
        for body, search, given in changed_searches(self._bodies, self._facts, State.NEW, exact=False, but=self._own):
            search(given, agenda.offers(self._members[body.rule.relation]))
        self._improve(agenda)
        self._rank_anew()

    def _start_over(self) -> None:
        for member in self._members.values():
            for fact in list(member.facts):
                member.remove(fact)
        self._is_unranked = False
        self._derive_all()

    def _retire(self, doubts: Agenda) -> list[tuple[Member, Fact]]:
        """Takes away the facts that have lost their support, and those that they supported."""
        gone = []
        for rank, member, fact in doubts:
            self._watch.look()
            if not member.facts.has(fact) or self._support.stays(member, fact, rank, doubts):
                continue
            gone.append((member, fact))
            self._support.doubt_risen(member, fact, rank, doubts)
            member.remove(fact)
            self._support.doubt_derived(member, fact, State.OLD, doubts)
        return gone

    def _find_again(self, gone: Sequence[tuple[Member, Fact]], agenda: Agenda) -> None:
        """Derives what went from what is left."""
        for member, fact in gone:
            self._watch.look()
            if member.aggregates:
                self._offer_group(member, member.key(fact), agenda)
            else:
                premise = member.support(fact, NO_LIMIT)
                if premise is not None:
                    agenda.push(next_rank(premise), member, fact)

    def _offer_group(self, member: Member, key: Fact, agenda: Agenda) -> None:
        def take(row: Fact, premise: int) -> bool:
            if row[: member.width] == key:
                agenda.push(next_rank(premise), member, row)
            return False

        for row in member.written_of.get(key, ()):
            agenda.push(0, member, row)
        for body in member.bodies:
            body.from_head(key)((key,), take)

    def _improve(self, agenda: Agenda) -> None:
        """Takes offers, the lowest ranks first, and what follows from them, until nothing changes."""
        offers = {name: agenda.offers(member) for name, member in self._members.items()}
        for rank, member, row in agenda:
            self._watch.look()
            fact = self._accept(member, row, min(rank, UNRANKED))
            if fact is None:
                continue
            if rank < UNRANKED:
                self._highest = max(self._highest, rank)
                self._watch.check_iterations(member.name, (rank - self._committed) // GAP)
            for body, place in self._support.readers[member.name]:
                body.from_change(place, State.NEW, exact=False)((fact,), offers[body.rule.relation])
        self._watch.check_rows()

    def _accept(self, member: Member, row: Fact, rank: int) -> Fact | None:
        """Takes a contribution; returns the fact that it makes, if that is a new one."""
        if member.aggregates:
            return self._reranking.accept(member, row, rank)
        if member.facts.has(row):
            return None
        member.facts.add(row, rank)
        return row

    def _rank_anew(self) -> None:
        if self._reranking.is_due and not self._reranking.run():
            self._is_unranked = True

    # --- the end ----------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        for member in self._members.values():
            member.before.clear()
        self._reranking.forget()
        self._committed, self._was_unranked = self._highest, self._is_unranked

    def abort(self) -> None:
        for member in self._members.values():
            member.abort()
        self._is_unranked, self._highest = self._was_unranked, self._committed
        self.commit()
