"""Which relations the queries of a program ask for, and with which arguments bound.

An argument is bound by a constant, by what the caller of a rule binds in its head, or, in a rule that is needed in
full, by atoms before it: `few(X, Y) :- hub(X), tc(X, Y)` asks for `tc` from hubs only. The last is worth a demand only
where it leaves out most of a recursion, so it is done where the statistics say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, prod
from typing import TypeAlias

from emberlog.logical.build import build
from emberlog.logical.statistics import RelationStatistics, Statistics
from emberlog.optimize.derived_statistics import with_relations_of
from emberlog.optimize.information_order import bound_by, information_order
from emberlog.semantics.dependencies import rules_by_relation
from emberlog.semantics.model import Absent, CheckedProgram, CoreRule, Literal, Match, RecursionCase
from emberlog.semantics.totality import literal_can_fail
from emberlog.syntax.ast import Constant, Variable

Version: TypeAlias = tuple[str, str]
"""A relation and which of its arguments are bound: `("tc", "bf")`."""

MOST_ASKED_FOR = 0.25
"""Of the values of an argument: if atoms before bind more of them than this, all facts are computed."""


class Calls:
    """Which versions of which relations are called, and which relations are needed in full."""

    def __init__(self, checked: CheckedProgram, statistics: Statistics) -> None:
        self.checked = checked
        self.rules_of = rules_by_relation(checked.rules)
        self.kept_whole = {
            name
            for stratum in checked.strata
            if stratum.recursion and stratum.recursion.case in (RecursionCase.BOUNDED, RecursionCase.STAGED)
            for name in stratum.relations
        }
        # Data with a few facts beside it is at hand, like any input: to look for some of it would be more work.
        self.kept_whole |= {name for name, rules in self.rules_of.items() if all(map(checked.copies_data, rules))}
        self.sideways = _Sideways(checked, statistics)
        self.full: set[str] = set()
        called: dict[Version, None] = {}
        while True:
            called = self._called(tuple(self.full))
            # What is computed in full anyway answers every call, and then its versions call for nothing.
            if not any(name in self.full for name, _ in called):
                break
        self.versions = tuple(called)

    def _called(self, needed_in_full: tuple[str, ...]) -> dict[Version, None]:
        called: dict[Version, None] = {}
        pending: list[Version] = []
        self.full.clear()

        def need(name: str) -> None:
            if name not in self.full:
                self.full.add(name)
                if name in self.rules_of:
                    pending.append((name, "f" * self.checked.relations[name].arity))

        def call(name: str, binding: str) -> None:
            version = self.version(name, binding)
            if version is None:
                need(name)
            elif version not in called:
                called[version] = None
                pending.append(version)

        for name in needed_in_full:
            need(name)
        for query in self.checked.queries:
            call(query.relation, "".join("f" if isinstance(term, Variable) else "b" for term in query.terms))
        while pending:
            version = pending.pop()
            for rule in self.rules_of[version[0]]:
                for literal, binding in self.calls_of(rule, version):
                    if binding is None:
                        need(literal.relation)
                    else:
                        call(literal.relation, binding)
        return called

    def version(self, name: str, binding: str) -> Version | None:
        """Returns the version for such a call, or None when the relation is used in full."""
        if name not in self.rules_of or name in self.kept_whole or name in self.full:
            return None
        # An aggregated value is known only when its group is complete, so it cannot restrict.
        columns = self.checked.relations[name].columns
        usable = "".join("f" if column.aggregate else mark for mark, column in zip(binding, columns, strict=True))
        return (name, usable) if "b" in usable else None

    def calls_of(self, rule: CoreRule, version: Version) -> Iterator[tuple[Match | Absent, str | None]]:
        """Yields the atoms of a rule, each with its bound arguments, or with None if all its facts are needed."""
        before: list[Literal] = []
        for literal, known in self.walk(rule, version):
            if isinstance(literal, Absent):
                yield literal, None
            elif isinstance(literal, Match):
                yield literal, self.binding(rule, version, before, literal, known)
            before.append(literal)

    def binding(
        self, rule: CoreRule, version: Version, before: Sequence[Literal], atom: Match, known: frozenset[str]
    ) -> str | None:
        """Returns which arguments of the atom restrict what is asked for, or None for all facts of its relation."""
        if "b" in version[1]:
            return binding_of(atom, known)
        return None if rule.relation in self.kept_whole else self.sideways.binding(rule, before, atom)

    def walk(self, rule: CoreRule, version: Version) -> Iterator[tuple[Literal, frozenset[str]]]:
        """Yields the body in the order in which bindings pass through it, each literal with what is bound before it."""
        known = {
            value.name
            for value, mark in zip(rule.head, version[1], strict=True)
            if mark == "b" and isinstance(value, Variable)
        }
        prefers = self._is_at_hand if "b" in version[1] else self.sideways.is_no_recursion
        for literal in information_order(rule.body, known, prefers, lambda one: literal_can_fail(one, rule.types)):
            yield literal, frozenset(known)
            known |= bound_by(literal)

    def _is_at_hand(self, atom: Match) -> bool:
        return atom.relation not in self.rules_of or atom.relation in self.kept_whole


def binding_of(atom: Match, known: frozenset[str]) -> str:
    return "".join("f" if isinstance(term, Variable) and term.name not in known else "b" for term in atom.terms)


class _Sideways:
    """What is known of relations before a program runs, to tell whether one restricts another."""

    def __init__(self, checked: CheckedProgram, statistics: Statistics) -> None:
        self.statistics = statistics
        for planned in build(checked).strata if statistics else ():
            self.statistics = with_relations_of(planned, self.statistics)
        self.recursive = {name for stratum in checked.strata if stratum.recursion for name in stratum.relations}
        self.below: dict[str, frozenset[str]] = {}
        """Each relation with all that it is computed from."""
        for stratum in checked.strata:
            read = {
                literal.relation
                for rule in stratum.rules
                for literal in rule.body
                if isinstance(literal, Match | Absent)
            }
            below = frozenset(read).union(*(self.below.get(name, frozenset()) for name in read))
            self.below |= dict.fromkeys(stratum.relations, below)

    def binding(self, rule: CoreRule, before: Sequence[Literal], atom: Match) -> str | None:
        """Returns only a recursion is worth it, and only for a caller outside it; and what restricts must be there
        first."""
        if self.is_no_recursion(atom) or rule.relation in self.recursive:
            return None
        atoms = [literal for literal in before if isinstance(literal, Match)]
        if any(atom.relation in self.below.get(one.relation, ()) or one.relation == atom.relation for one in atoms):
            atoms = []
        known = self.statistics.get(atom.relation)
        values = [column.distinct for column in known.columns] if known else [1.0] * len(atom.terms)
        binding = "".join(
            "b" if self._asked_for(term, atoms) <= MOST_ASKED_FOR * most else "f"
            for term, most in zip(atom.terms, values, strict=True)
        )
        return binding if "b" in binding else None

    def is_no_recursion(self, atom: Match) -> bool:
        """Nor computed from one."""
        return not self.recursive.intersection((atom.relation, *self.below.get(atom.relation, ())))

    def _asked_for(self, term: Variable | Constant, before: Sequence[Match]) -> float:
        """Returns how many values of the argument the atoms before leave, as far as that is known."""
        if isinstance(term, Constant):
            return 0.0  # one value, however few there are
        return min(
            (
                min(column.distinct, _rows_with_constants(atom, known))
                for atom in before
                if (known := self.statistics.get(atom.relation)) is not None
                for other, column in zip(atom.terms, known.columns, strict=True)
                if other == term
            ),
            default=inf,
        )


def _rows_with_constants(atom: Match, known: RelationStatistics) -> float:
    return known.rows / prod(
        column.distinct for term, column in zip(atom.terms, known.columns, strict=True) if isinstance(term, Constant)
    )
