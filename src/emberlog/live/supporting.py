"""Recursions: a fact stays as long as something that came before it supports it.

Each fact has a rank, and some derivation of it reads only facts of its own recursion that have lower ranks. So facts
that support each other in a circle do not keep each other: the one of the lowest rank would need a still lower one.

A transaction first looks at the facts that lost a derivation, the lowest ranks first. One that finds another derivation
from lower ranks stays; the others go, and what they supported is looked at in turn. Facts that went and can be derived
from what is left come back with a new rank, new facts are derived from what is new, and so on until nothing changes.

In a relation with `min`, `max` and the like, the fact of a group stays as long as a contribution with its value has
such support. A better contribution replaces the fact. As that may change the ranks behind others, the ranks of what
changed are found in the end, once the values are final.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeAlias

from emberlog.config import Limits
from emberlog.deadline import check_time
from emberlog.diagnostics import EmberlogError, fail
from emberlog.language.aggregates import Aggregate
from emberlog.language.faults import Fault
from emberlog.live.bodies import GAP, NO_LIMIT, UNRANKED, Body, State, next_rank
from emberlog.live.facts import Facts
from emberlog.live.loading import Loader, NotRanked
from emberlog.live.maintainer import Maintainer, changed_searches, prepare
from emberlog.logical.nodes import PlannedStratum
from emberlog.logical.python_evaluation import error_in_relation
from emberlog.semantics.model import Fact, Match

_STEPS_BETWEEN_LOOKS = 256


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
        self.is_better = [one.python().is_better for one in self.aggregates]  # type: ignore[attr-defined]
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


Offer: TypeAlias = tuple[int, int, Member, Fact]
"""A rank, a number that no other offer has, a relation and a contribution or a fact."""

_numbers = count()


class _Agenda:
    """Gives back what is put in, the lowest ranks first."""

    def __init__(self, highest: int = UNRANKED - 1, rows: list[Offer] | None = None) -> None:
        """Facts of higher ranks than the `highest` are not doubted."""
        self.rows: list[Offer] = [] if rows is None else rows
        self._highest = highest
        self._doubts: dict[str, Callable[[Fact, int], bool]] = {}

    def push(self, rank: int, member: Member, row: Fact) -> None:
        heappush(self.rows, (rank, next(_numbers), member, row))

    def __iter__(self) -> Iterator[tuple[int, Member, Fact]]:
        while self.rows:
            rank, _, member, row = heappop(self.rows)
            yield rank, member, row

    def up_to(self, highest: int) -> _Agenda:
        """Returns the same agenda, for doubts of facts that have at most this rank."""
        return _Agenda(highest, self.rows)

    def offers(self, member: Member) -> Callable[[Fact, int], bool]:
        """Returns what takes derivations of a relation, with the rank that follows from what they were derived from."""
        heap, known = self.rows, member.facts.rows
        is_set = not member.aggregates

        def take(row: Fact, premise: int) -> bool:
            if not (is_set and row in known):
                heappush(heap, (next_rank(premise), next(_numbers), member, row))
            return False

        return take

    def doubts(self, member: Member) -> Callable[[Fact, int], bool]:
        """Returns what takes derivations of a relation that are lost, and keeps the facts that they may have
        supported."""
        if member.name not in self._doubts:
            self._doubts[member.name] = self._doubts_of(member)
        return self._doubts[member.name]

    def _doubts_of(self, member: Member) -> Callable[[Fact, int], bool]:
        heap, known, fact_of, highest = self.rows, member.facts.rows, member.fact_of, self._highest

        def take_fact(row: Fact, premise: int) -> bool:
            rank = known.get(row)
            if rank is not None and premise < rank <= highest:
                heappush(heap, (rank, next(_numbers), member, row))
            return False

        def take_contribution(row: Fact, premise: int) -> bool:
            fact = fact_of(row)
            if fact is not None and premise < known[fact] <= highest:
                heappush(heap, (known[fact], next(_numbers), member, fact))
            return False

        return take_contribution if member.aggregates else take_fact


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
        self._members = {member.name: member for member in members}
        self._own = frozenset(self._members)
        self._bodies = [body for member in members for body in member.bodies]
        self._readers: dict[str, list[tuple[Body, int]]] = {name: [] for name in self._members}
        read = set()
        for body in self._bodies:
            for place in body.atoms:
                literal = body.rule.body[place]
                read.add(literal.relation)  # type: ignore[union-attr]
                if isinstance(literal, Match) and literal.relation in self._own:
                    self._readers[literal.relation].append((body, place))
        self.reads = frozenset(read - self._own)
        self._limits = limits
        self._loader = loader
        self._stratum = stratum
        self._steps = 0
        self._highest = self._committed = 0
        """The highest rank, now and before the transaction."""
        self._between: set[int] = set()
        """Ranks between two steps that some fact may have."""
        self._accepted: set[tuple[str, Fact]] = set()
        """Facts with aggregates that came in this transaction, or came back."""
        self._replaced: set[tuple[str, Fact]] = set()
        """Those of before that a better one replaced."""
        self._shaken: set[tuple[str, Fact]] = set()
        """Those that have a better cost and the same value."""
        self._needs_ranks = False
        """Whether a fact was replaced that others may have been derived from."""
        self._is_unranked = self._was_unranked = False
        """Whether some facts have no ranks, so that the next loss derives all anew."""
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
                    self._accepted.add((name, fact))
                else:
                    self._highest = max(self._highest, rank)
                member.facts.rows[fact] = rank
                if member.aggregates:
                    key = member.key(fact)
                    value = fact[member.value_column]
                    member.best[key] = [None if value is None else (value,)]
                    member.current[key] = fact
        if self._accepted:
            self._rank_anew()
        return True

    def _derive_all(self) -> None:
        """Derives everything from what the recursion reads."""
        agenda = _Agenda()
        for member in self._members.values():
            for row in member.written:
                agenda.push(0, member, row)
            for body in member.bodies:
                body.from_nothing()((), agenda.offers(member))
        self._improve(agenda)
        if self._needs_ranks:
            self._rank_anew()

    # --- a transaction ----------------------------------------------------------------------------------------------

    def update(self) -> None:
        self._was_unranked = self._is_unranked
        doubts = _Agenda()
        for body, search, given in changed_searches(self._bodies, self._facts, State.OLD, exact=False, but=self._own):
            search(given, doubts.doubts(self._members[body.rule.relation]))
        if self._is_unranked and any(facts.is_changed for facts in map(self._facts.__getitem__, self.reads)):
            self._start_over()
            return
        gone = self._retire(doubts)
        agenda = _Agenda()
        self._find_again(gone, agenda)
        for body, search, given in changed_searches(self._bodies, self._facts, State.NEW, exact=False, but=self._own):
            search(given, agenda.offers(self._members[body.rule.relation]))
        self._improve(agenda)
        if self._needs_ranks:
            self._rank_anew()

    def _start_over(self) -> None:
        for member in self._members.values():
            for fact in list(member.facts):
                member.remove(fact)
        self._is_unranked = False
        self._derive_all()

    def _retire(self, doubts: _Agenda) -> list[tuple[Member, Fact]]:
        """Takes away the facts that have lost their support, and those that they supported."""
        gone = []
        for rank, member, fact in doubts:
            self._look_at_clock()
            if not member.facts.has(fact) or self._stays(member, fact, rank, doubts):
                continue
            gone.append((member, fact))
            self._doubt_risen(member, fact, rank, doubts)
            member.remove(fact)
            self._doubt_derived(member, fact, State.OLD, doubts)
        return gone

    def _stays(self, member: Member, fact: Fact, rank: int, doubts: _Agenda) -> bool:
        """Tells whether a fact that is doubted has other support. Facts of its own rank can give it, too, as none of
        them was derived from it: then its rank rises a little, and of what it supports only what is not higher still
        is doubted."""
        if member.facts.rows[fact] != rank:
            return True  # it rose since, and was looked at then
        ranks = member.facts.rows
        ranks[fact] = UNRANKED  # it does not support itself
        try:
            found = self._support(member, fact, rank + 1, rank - 1)
        finally:
            ranks[fact] = rank
        if found is None:
            return False
        if found >= rank:
            self._doubt_risen(member, fact, rank, doubts)
            member.facts.renumber(fact, rank + 1)
            self._between.add(rank + 1)
        return True

    def _doubt_risen(self, member: Member, fact: Fact, rank: int, doubts: _Agenda) -> None:
        """Doubts facts that have risen to the next rank with the help of this one, which loses its own. They may have
        done so by what is new, which no change of what was there before tells."""
        if rank + 1 in self._between or (rank + 1) % GAP == 0:
            self._doubt_derived(member, fact, State.NEW, doubts.up_to(rank + 1))

    def _doubt_derived(self, member: Member, fact: Fact, state: State, doubts: _Agenda) -> None:
        """Doubts what is derived with the help of a fact, from what was there before or is there now."""
        for body, place in self._readers[member.name]:
            body.from_change(place, state, exact=False)((fact,), doubts.doubts(self._members[body.rule.relation]))

    def _support(self, member: Member, fact: Fact, limit: int, enough: int = -1) -> int | None:
        """Returns the lowest rank that some derivation of a fact reads at most, which is below the limit; None if there
        is no such derivation, and any that is `enough` if there is one. What reads no fact of the recursion counts as
        0 less a step."""
        if member.aggregates:
            return self._support_of_values(member, fact, limit, enough)
        if fact in member.written_of:
            return -GAP
        lowest = NO_LIMIT

        def take(row: Fact, premise: int) -> bool:
            nonlocal lowest
            if row != fact:
                return False
            if premise < lowest:
                lowest = premise
            return lowest <= enough

        for body in member.bodies:
            if body.from_head(fact)((fact,), take, limit):
                break
        return None if lowest == NO_LIMIT else lowest

    def _support_of_values(self, member: Member, fact: Fact, limit: int, enough: int) -> int | None:
        """Does the same for the fact of a group: each value needs a contribution."""
        key = member.key(fact)
        best = member.best[key]
        ranks = [NO_LIMIT] * len(best)

        def take(row: Fact, premise: int) -> bool:
            if row[: member.width] != key:
                return False
            for place, is_attained in enumerate(member.attained(best, row)):
                if is_attained and premise < ranks[place]:
                    ranks[place] = premise
            return max(ranks) <= enough

        is_done = any(take(row, -GAP) for row in member.written_of.get(key, ()))
        for body in member.bodies:
            if is_done or body.from_head(key)((key,), take, limit):
                break
        return None if NO_LIMIT in ranks else max(ranks)

    def _find_again(self, gone: Sequence[tuple[Member, Fact]], agenda: _Agenda) -> None:
        """Derives what went from what is left."""
        for member, fact in gone:
            self._look_at_clock()
            if member.aggregates:
                self._offer_group(member, member.key(fact), agenda)
            else:
                premise = self._support(member, fact, NO_LIMIT)
                if premise is not None:
                    agenda.push(next_rank(premise), member, fact)

    def _offer_group(self, member: Member, key: Fact, agenda: _Agenda) -> None:
        def take(row: Fact, premise: int) -> bool:
            if row[: member.width] == key:
                agenda.push(next_rank(premise), member, row)
            return False

        for row in member.written_of.get(key, ()):
            agenda.push(0, member, row)
        for body in member.bodies:
            body.from_head(key)((key,), take)

    def _improve(self, agenda: _Agenda) -> None:
        """Takes offers, the lowest ranks first, and what follows from them, until nothing changes."""
        offers = {name: agenda.offers(member) for name, member in self._members.items()}
        for rank, member, row in agenda:
            self._look_at_clock()
            fact = self._accept(member, row, min(rank, UNRANKED))
            if fact is None:
                continue
            if rank < UNRANKED:
                self._highest = max(self._highest, rank)
                limit = self._limits.max_iterations
                if limit is not None and rank - self._committed > limit * GAP:
                    raise self._too_long(member)
            for body, place in self._readers[member.name]:
                body.from_change(place, State.NEW, exact=False)((fact,), offers[body.rule.relation])
        self._check_rows()

    def _accept(self, member: Member, row: Fact, rank: int) -> Fact | None:
        """Takes a contribution; returns the fact that it makes, if that is a new one."""
        if member.aggregates:
            return self._accept_contribution(member, row, rank)
        if member.facts.has(row):
            return None
        member.facts.add(row, rank)
        return row

    def _accept_contribution(self, member: Member, row: Fact, rank: int) -> Fact | None:
        key = row[: member.width]
        best = member.best.get(key)
        improved: list[Fact | None] = [None] * len(member.aggregates) if best is None else list(best)
        is_better = best is None
        try:
            for place, (aggregate, places) in enumerate(zip(member.aggregates, member.arguments, strict=True)):
                arguments = tuple([row[one] for one in places])
                aggregate.check(arguments)
                known = improved[place]
                if None not in arguments and (known is None or member.is_better[place](arguments, known)):
                    improved[place] = arguments
                    is_better = True
        except Fault as fault:
            raise error_in_relation(fault, member.name, [body.rule.name for body in member.bodies]) from None
        if not is_better:
            return None
        member.keep_old(key)
        in_plan = key + tuple([None if one is None else one[-1] for one in improved])
        fact = tuple([in_plan[place] for place in member.in_order])
        old = member.current.get(key)
        member.best[key], member.current[key] = improved, fact
        if fact == old:
            self._shaken.add((member.name, fact))
            self._needs_ranks = True
            return None
        if old is not None:
            self._needs_ranks = True
            self._accepted.discard((member.name, old))
            self._shaken.discard((member.name, old))
            if old not in member.facts.come:
                self._replaced.add((member.name, old))
            member.facts.remove(old)
        member.facts.add(fact, rank)
        self._accepted.add((member.name, fact))
        return fact

    # --- ranks ------------------------------------------------------------------------------------------------------

    def _rank_anew(self) -> None:
        """Finds the ranks of the facts whose value is new, and of those whose support had another value."""
        doubts = _Agenda()
        for name, fact in self._replaced:
            if not self._members[name].facts.has(fact):
                self._doubt_derived(self._members[name], fact, State.OLD, doubts)
        for name, fact in self._shaken:
            doubts.push(self._members[name].facts.rows[fact], self._members[name], fact)
        pending = dict.fromkeys(self._accepted)
        for name, fact in pending:
            self._members[name].facts.renumber(fact, UNRANKED)
        for rank, member, fact in doubts:
            self._look_at_clock()
            if (member.name, fact) in pending or not member.facts.has(fact) or self._stays(member, fact, rank, doubts):
                continue
            self._doubt_derived(member, fact, State.NEW, doubts)
            pending[member.name, fact] = None
            member.facts.renumber(fact, UNRANKED)
        agenda = _Agenda()
        for name, fact in pending:
            self._offer_rank(self._members[name], fact, agenda)
        for rank, member, fact in agenda:
            self._look_at_clock()
            if (member.name, fact) not in pending:
                continue
            del pending[member.name, fact]
            member.facts.renumber(fact, rank)
            for follower in self._unranked_followers(member, fact, pending):
                self._offer_rank(*follower, agenda)
        self._is_unranked = self._is_unranked or bool(pending)

    def _offer_rank(self, member: Member, fact: Fact, agenda: _Agenda) -> None:
        premise = self._support(member, fact, UNRANKED)
        if premise is not None:
            agenda.push(next_rank(premise), member, fact)

    def _unranked_followers(
        self, member: Member, fact: Fact, pending: Mapping[tuple[str, Fact], None]
    ) -> list[tuple[Member, Fact]]:
        """Returns the facts without a rank that a fact may support."""
        found: dict[tuple[str, Fact], None] = {}
        for body, place in self._readers[member.name]:
            other = self._members[body.rule.relation]

            def take(row: Fact, _premise: int, other: Member = other) -> bool:
                follower = other.fact_of(row)
                if follower is not None and (other.name, follower) in pending:
                    found[other.name, follower] = None
                return False

            body.from_change(place, State.NEW, exact=False)((fact,), take)
        return [(self._members[name], follower) for name, follower in found]

    # --- the end ----------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        for member in self._members.values():
            member.before.clear()
        self._accepted.clear()
        self._replaced.clear()
        self._shaken.clear()
        self._needs_ranks = False
        self._committed = self._highest

    def abort(self) -> None:
        for member in self._members.values():
            for key, (best, fact) in member.before.items():
                if best is None or fact is None:
                    member.best.pop(key, None)
                    member.current.pop(key, None)
                else:
                    member.best[key], member.current[key] = best, fact
        self._is_unranked, self._highest = self._was_unranked, self._committed
        self.commit()

    # --- limits -----------------------------------------------------------------------------------------------------

    def _look_at_clock(self) -> None:
        self._steps += 1
        if self._steps % _STEPS_BETWEEN_LOOKS == 0:
            check_time(f"bringing `{', '.join(self.relations)}` up to date")
            self._check_rows()

    def _check_rows(self) -> None:
        limit = self._limits.max_rows
        if limit is not None and sum(len(member.facts) for member in self._members.values()) > limit:
            hint = "if the program comes to an end by itself, raise max_rows"
            raise fail("DL511", f"the limit of {limit:,} rows was passed in {', '.join(self.relations)}", None, hint)

    def _too_long(self, member: Member) -> EmberlogError:
        limit = self._limits.max_iterations
        return fail(
            "DL510",
            f"the limit of {limit:,} iterations was passed in {member.name}",
            None,
            "if the program comes to an end by itself, raise max_iterations; "
            "if it makes new values for ever, bound them with a condition such as `D < 1000`",
        )
