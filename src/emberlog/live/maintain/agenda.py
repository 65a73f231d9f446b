"""What is still to be looked at in a transaction, the lowest ranks first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

from emberlog.live.maintain.members import Member
from emberlog.live.searches.ranks import UNRANKED, next_rank
from emberlog.semantics.model import Fact

Offer: TypeAlias = tuple[int, int, Member, Fact]
"""A rank, a number that no other offer has, a relation and a contribution or a fact."""

_numbers = count()


class Agenda:
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

    def up_to(self, highest: int) -> Agenda:
        """Returns the same agenda, for doubts of facts that have at most this rank."""
        return Agenda(highest, self.rows)

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
