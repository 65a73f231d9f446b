"""Finds the ranks of values: which fact of a recursion with `min`, `max` and the like was derived from which.

A better contribution replaces the fact of a group, and what was derived from the old one now rests on the new one. So
ranks are found in the end of a transaction, once the values are final, for the facts whose value is new and those whose
support had another value.
"""

from __future__ import annotations

from emberlog.live.maintain.agenda import Agenda
from emberlog.live.maintain.members import Member
from emberlog.live.maintain.support import Support
from emberlog.live.maintain.watch import Watch
from emberlog.live.searches.facts import State
from emberlog.live.searches.ranks import UNRANKED, next_rank
from emberlog.semantics.model import Fact


class Reranking:
    def __init__(self, support: Support, watch: Watch) -> None:
        self._support = support
        self._members = support.members
        self._watch = watch
        self.is_due = False
        """Whether a fact was replaced that others may have been derived from."""
        self._accepted: set[tuple[str, Fact]] = set()
        """Facts that came in this transaction, or came back."""
        self._replaced: set[tuple[str, Fact]] = set()
        """Those of before that a better one replaced."""
        self._passing: set[tuple[str, Fact]] = set()
        """Those that came in this transaction, and were replaced in it."""
        self._shaken: set[tuple[str, Fact]] = set()
        """Those that have a better cost and the same value."""

    def unranked(self, member: Member, fact: Fact) -> None:
        """Takes note of a fact that has no rank yet."""
        self._accepted.add((member.name, fact))
        self.is_due = True

    def accept(self, member: Member, row: Fact, rank: int) -> Fact | None:
        """Takes a contribution; returns the fact that it makes, if that is a new one."""
        improved = member.improve(row)
        if improved is None:
            return None
        old, fact = improved
        if fact == old:
            self._shaken.add((member.name, fact))
            self.is_due = True
            return None
        if old is not None:
            self.is_due = True
            self._accepted.discard((member.name, old))
            self._shaken.discard((member.name, old))
            passed = self._passing if old in member.facts.come else self._replaced
            passed.add((member.name, old))
            member.facts.remove(old)
        member.facts.add(fact, rank)
        self._accepted.add((member.name, fact))
        return fact

    def run(self) -> bool:
        """Finds the ranks; tells whether all facts have one."""
        doubts = Agenda()
        for name, fact in self._replaced:
            if not self._members[name].facts.has(fact):
                self._support.doubt_derived(self._members[name], fact, State.OLD, doubts)
        for name, fact in self._passing:
            if not self._members[name].facts.has(fact):
                self._support.doubt_derived(self._members[name], fact, State.NEW, doubts)
        for name, fact in self._shaken:
            doubts.push(self._members[name].facts.rows[fact], self._members[name], fact)
        pending = dict.fromkeys(self._accepted)
        for name, fact in pending:
            self._members[name].facts.renumber(fact, UNRANKED)
        for rank, member, fact in doubts:
            self._watch.look()
            if (member.name, fact) in pending or not member.facts.has(fact):
                continue
            if self._support.stays(member, fact, rank, doubts):
                continue
            self._support.doubt_derived(member, fact, State.NEW, doubts)
            pending[member.name, fact] = None
            member.facts.renumber(fact, UNRANKED)
        agenda = Agenda()
        for name, fact in pending:
            _offer_rank(self._members[name], fact, agenda)
        for rank, member, fact in agenda:
            self._watch.look()
            if (member.name, fact) not in pending:
                continue
            del pending[member.name, fact]
            member.facts.renumber(fact, rank)
            for follower in self._support.followers(member, fact, pending):
                _offer_rank(*follower, agenda)
        return not pending

    def forget(self) -> None:
        """Ends the transaction."""
        self._accepted.clear()
        self._replaced.clear()
        self._passing.clear()
        self._shaken.clear()
        self.is_due = False


def _offer_rank(member: Member, fact: Fact, agenda: Agenda) -> None:
    premise = member.support(fact, UNRANKED)
    if premise is not None:
        agenda.push(next_rank(premise), member, fact)
