"""Which relations the queries of a program ask for, and with which arguments bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from emberlog.logical.expressions import Risk
from emberlog.optimize.information_order import bound_by, information_order
from emberlog.optimize.rule_risk import literal_risk
from emberlog.semantics.dependencies import rules_by_relation
from emberlog.semantics.model import Absent, CheckedProgram, CoreRule, Literal, Match, RecursionCase
from emberlog.syntax.ast import Variable

Version: TypeAlias = tuple[str, str]
"""A relation and which of its arguments are bound: `("tc", "bf")`."""


class Calls:
    """Which versions of which relations are called, and which relations are needed in full."""

    def __init__(self, checked: CheckedProgram) -> None:
        self.checked = checked
        self.rules_of = rules_by_relation(checked.rules)
        self.kept_whole = {
            name
            for stratum in checked.strata
            if stratum.recursion and stratum.recursion.case in (RecursionCase.BOUNDED, RecursionCase.STAGED)
            for name in stratum.relations
        }
        self.full: set[str] = set()
        called: dict[Version, None] = {}
        pending: list[Version] = []

        def call(name: str, binding: str) -> None:
            version = self.version(name, binding)
            if version is None:
                self._need_full(name)
            elif version not in called:
                called[version] = None
                pending.append(version)

        for query in checked.queries:
            call(query.relation, "".join("f" if isinstance(term, Variable) else "b" for term in query.terms))
        while pending:
            version = pending.pop()
            for rule in self.rules_of[version[0]]:
                for literal, known in self.walk(rule, version):
                    if isinstance(literal, Match):
                        call(literal.relation, binding_of(literal, known))
                    elif isinstance(literal, Absent):
                        self._need_full(literal.relation)
        # What is computed in full anyway answers every call.
        self.versions = tuple(version for version in called if version[0] not in self.full)

    def version(self, name: str, binding: str) -> Version | None:
        """The version for such a call, or None when the relation is used in full."""
        if name not in self.rules_of or name in self.kept_whole or name in self.full:
            return None
        # An aggregated value is known only when its group is complete, so it cannot restrict.
        columns = self.checked.relations[name].columns
        usable = "".join("f" if column.aggregate else mark for mark, column in zip(binding, columns, strict=True))
        return (name, usable) if "b" in usable else None

    def _need_full(self, name: str) -> None:
        """The relation as written, and everything below it."""
        pending = [name]
        while pending:
            name = pending.pop()
            if name not in self.full:
                self.full.add(name)
                for rule in self.rules_of.get(name, ()):
                    pending += [literal.relation for literal in rule.body if isinstance(literal, Match | Absent)]

    def walk(self, rule: CoreRule, version: Version) -> Iterator[tuple[Literal, frozenset[str]]]:
        """The body in the order in which bindings pass through it, each literal with what is bound before it."""
        known = {
            value.name
            for value, mark in zip(rule.head, version[1], strict=True)
            if mark == "b" and isinstance(value, Variable)
        }
        for literal in information_order(
            rule.body, known, self._is_at_hand, lambda one: literal_risk(one, rule) is not Risk.NONE
        ):
            yield literal, frozenset(known)
            known |= bound_by(literal)

    def _is_at_hand(self, atom: Match) -> bool:
        return atom.relation not in self.rules_of or atom.relation in self.kept_whole


def binding_of(atom: Match, known: frozenset[str]) -> str:
    return "".join("f" if isinstance(term, Variable) and term.name not in known else "b" for term in atom.terms)
