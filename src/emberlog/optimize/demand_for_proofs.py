"""Demand for runs with provenance: a query with constants restricts them, too, and every fact keeps its iteration.

What is demanded is found first, by a copy of the program with magic sets (`rewrite_demand`), in which facts come in
rounds of their own. Then the rules as they are written derive the facts that are demanded, with the demand as
a relation that does not change. That keeps iterations: all that a rule reads to derive a demanded fact is demanded as
well, so if the fact comes in iteration k of the written program, its premises are there before k, and by induction
they are so here. A group of an aggregate is demanded as a whole, so its values come and improve in the same iterations.

A relation whose facts the program writes has only those that are demanded, so that a group without a demand has no
value at all rather than one made from written facts alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from emberlog.logical.statistics import NO_STATISTICS
from emberlog.optimize.demand_calls import Calls
from emberlog.optimize.rewrite_demand import DemandWriter
from emberlog.optimize.rewritten import with_rules
from emberlog.semantics.model import Absent, CheckedProgram, CoreRule, Fact, Match, RecursionCase, Relation

Demands: TypeAlias = Mapping[str, tuple[tuple[str, str], ...]]
"""Of each relation that is restricted, which arguments are bound, as in `bf`, and the relation with their values."""


def demand_for_proofs(checked: CheckedProgram) -> tuple[CheckedProgram, Demands, str]:
    """Gives the program that derives what its queries need, in the iterations of the written one, what is demanded of
    each relation, and a few words; the very same program and no demands where nothing can be restricted."""
    if not checked.queries or checked.has_streams:
        return checked, {}, "there is no query" if not checked.queries else "a stream keeps all its facts"
    calls = Calls(checked, NO_STATISTICS)
    if not calls.versions:
        return checked, {}, "nothing binds an argument of a relation that could be restricted"
    restricted = _Restricted(checked, calls)
    rewritten = restricted.program()
    if rewritten is None or _recursions(rewritten, checked) != _recursions(checked, rewritten):
        return checked, {}, "restricting it would change a recursion"
    shown = ", ".join(f"{name}[{binding}]" for name, binding in calls.versions)
    return rewritten, restricted.demands, f"restricted to what is demanded, which is found first: {shown}"


def _recursions(checked: CheckedProgram, other: CheckedProgram) -> dict[str, tuple[frozenset[str], RecursionCase]]:
    """Returns the recursion that each relation is in, as far as the other program has the relation, too."""
    return {
        name: (frozenset(stratum.relations), stratum.recursion.case)
        for stratum in checked.strata
        if stratum.recursion is not None
        for name in stratum.relations
        if name in other.relations
    }


class _Restricted:
    def __init__(self, checked: CheckedProgram, calls: Calls) -> None:
        self.checked = checked
        self.calls = calls
        self.writer = DemandWriter(checked, calls)
        self.writer.write()
        self.restricted = {name for name, _ in calls.versions}
        self.demands: dict[str, tuple[tuple[str, str], ...]] = {}
        for version in calls.versions:
            name, binding = version
            self.demands[name] = (*self.demands.get(name, ()), (binding, self.writer.demand_name(version)))

    def program(self) -> CheckedProgram | None:
        if any(self.checked.relations[name].is_aggregated for name, found in self.demands.items() if len(found) > 1):
            return None  # a group that is demanded in two ways would have its contributions twice
        own = {name: one for name, one in self.checked.relations.items() if name in self.calls.full | self.restricted}
        facts = {name: rows for name, rows in self.checked.facts.items() if name in self.calls.full}
        relations, searched = self._search(facts)
        rules = [rule for rule in self.checked.rules if rule.relation in self.calls.full]
        rules += self._guarded()
        return with_rules(self.checked, [*searched, *rules], relations={**own, **relations}, facts=facts)

    def _guarded(self) -> Iterator[CoreRule]:
        """Yields the rules as they are written, for what is demanded."""
        for version in self.calls.versions:
            for rule in self.calls.rules_of[version[0]]:
                guard, computed, types = self.writer.guard(version, rule)
                body = (guard, *(literal for literal, _ in self.calls.walk(rule, version)), *computed)
                yield replace(rule, body=body, types=types)
            if version[0] in self.checked.facts:
                yield replace(self.writer.fact_rule(version), relation=version[0])

    def _search(self, facts: dict[str, tuple[Fact, ...]]) -> tuple[dict[str, Relation], list[CoreRule]]:
        """Returns the relations and rules that find what is demanded; what needs no demand is not computed twice."""
        names = {
            name: f"search for {name}"
            for name, relation in self.writer.relations.items()
            if relation.is_derived and name not in self._kept
        }
        facts.update({names.get(name, name): rows for name, rows in self.writer.facts.items()})
        relations = {
            names.get(name, name): replace(relation, name=names.get(name, name))
            for name, relation in self.writer.relations.items()
        }
        rules = [_renamed(rule, names) for rule in self.writer.rules if rule.relation not in self._shared]
        return relations, rules

    @property
    def _kept(self) -> set[str]:
        """The relations of the search that have names of their own already."""
        demands = {demand for found in self.demands.values() for _, demand in found}
        return demands | self._shared | {self.writer.written_name(name) for name in self.restricted}

    @property
    def _shared(self) -> set[str]:
        """The relations that are needed in full, and so are those that they are computed from."""
        below: dict[str, set[str]] = {}
        for stratum in self.checked.strata:
            read = {
                literal.relation
                for rule in stratum.rules
                for literal in rule.body
                if isinstance(literal, Match | Absent)
            }
            all_below = read.union(stratum.relations, *(below.get(name, set()) for name in read))
            below |= dict.fromkeys(stratum.relations, all_below)
        return {name for name in self.calls.full if not below.get(name, set()) & self.restricted}


def _renamed(rule: CoreRule, names: Mapping[str, str]) -> CoreRule:
    body = tuple(
        replace(literal, relation=names.get(literal.relation, literal.relation))
        if isinstance(literal, Match | Absent)
        else literal
        for literal in rule.body
    )
    return replace(rule, relation=names.get(rule.relation, rule.relation), body=body)
