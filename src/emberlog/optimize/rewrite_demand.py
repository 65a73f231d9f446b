"""Demand: constants in a query restrict the recursion itself (magic sets).

A relation asked for with some arguments bound becomes a version that derives only facts whose bound arguments
somebody demands; a demand relation holds those. Bodies hand bindings on from literal to literal, so that
`tc(977, Y)?` costs about a search from 977. That is right, because a rule loses only
derivations of facts that nobody asked for, and a demanded group of an aggregate keeps all its contributions.

Some relations are computed in full all the same: negated ones (they must be complete), those of a bounded or
staged recursion (restricting it would change its rounds), and those asked for with nothing bound. Their rules may
still ask for a part of a recursion only, where an atom before it binds few values: see `demand_calls`. If the
rewritten program would aggregate inside a recursion that the written one does not have, nothing is rewritten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from emberlog.datatypes import DataType
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.optimize.demand_calls import Calls, Version, binding_of
from emberlog.optimize.demand_search import answers_on_the_way
from emberlog.optimize.rewritten import Rewritten, with_rules
from emberlog.optimize.rule_substitution import head_with, literal_with
from emberlog.semantics.model import (
    CheckedProgram,
    Compare,
    Contribution,
    CoreRule,
    Fact,
    HeadValue,
    Literal,
    Match,
    Relation,
    Term,
)
from emberlog.syntax.ast import ComparisonOperator, Constant, Parameter, Variable


def rewrite_demand(checked: CheckedProgram, statistics: Statistics) -> Rewritten:
    """Returns the program that computes only what its queries need, or the same program."""
    if not checked.queries:
        return Rewritten(checked, "there is no query")
    if checked.has_streams:
        return Rewritten(checked, "a stream keeps all its facts")
    calls = Calls(checked, statistics)
    rewritten = DemandWriter(checked, calls).run() if calls.versions else None
    if rewritten is None and statistics:  # what bodies bind may be too much, and what queries bind not
        calls = Calls(checked, NO_STATISTICS)
        rewritten = DemandWriter(checked, calls).run() if calls.versions else None
    if rewritten is not None:
        shown = ", ".join(f"{name}[{binding}]" for name, binding in calls.versions)
        return Rewritten(rewritten, f"restricted to what is demanded: {shown}")
    if calls.versions:
        return Rewritten(checked, "restricting it would move an aggregate into a recursion, or make a body too long")
    return Rewritten(checked, "nothing binds an argument of a relation that could be restricted")


class DemandWriter:
    """Writes the rules of the called versions, of their demand, and what is kept in full."""

    def __init__(self, checked: CheckedProgram, calls: Calls) -> None:
        self.checked = checked
        self.calls = calls
        self.relations = {name: r for name, r in checked.relations.items() if name in calls.full}
        self.facts = {name: rows for name, rows in checked.facts.items() if name in calls.full}
        self.rules: list[CoreRule] = []

    def run(self) -> CheckedProgram | None:
        self.write()
        for version in self.calls.versions:
            self._search(version)
        self._put_constants_for_single_demands()
        return with_rules(self.checked, self.rules, relations=self.relations, facts=self.facts)

    def write(self) -> None:
        """Writes all rules as demand goes from literal to literal."""
        for rule in self.checked.rules:
            if rule.relation in self.calls.full:
                self._rule_in_full(rule)
        for version in self.calls.versions:
            self._declare(version)
            for rule in self.calls.rules_of[version[0]]:
                self._rule(version, rule)
            if version[0] in self.checked.facts:
                self._written_facts(version)
        self._queries()

    def _name(self, version: Version) -> str:
        """Returns the only version of a relation keeps its name, so that plans read as the program does."""
        others = [other for other in self.calls.versions if other[0] == version[0]]
        return version[0] if len(others) == 1 else f"{version[0]}[{version[1]}]"

    def demand_name(self, version: Version) -> str:
        return f"demand for {self._name(version)}"

    def _declare(self, version: Version) -> None:
        relation = self.checked.relations[version[0]]
        bound = tuple(column for column, mark in zip(relation.columns, version[1], strict=True) if mark == "b")
        name, demand = self._name(version), self.demand_name(version)
        self.relations[demand] = Relation(demand, bound, is_derived=True)
        self.relations[name] = replace(relation, name=name)

    def _rule_in_full(self, rule: CoreRule) -> None:
        """The rule as it is, unless it asks for a part of a relation only."""
        version = (rule.relation, "f" * len(rule.head))
        body: list[Literal] = []
        is_changed = False
        for literal, known in self.calls.walk(rule, version):
            if isinstance(literal, Match):
                binding = self.calls.binding(rule, version, body, literal, known)
                if binding is not None and self.calls.version(literal.relation, binding) is not None:
                    literal = self._call(rule, body, literal, binding)
                    is_changed = True
            body.append(literal)
        self.rules.append(replace(rule, body=tuple(body)) if is_changed else rule)

    def _rule(self, version: Version, rule: CoreRule) -> None:
        guard, computed, types = self.guard(version, rule)
        typed = replace(rule, types=types)
        body: list[Literal] = [guard]
        for literal, known in self.calls.walk(rule, version):
            if isinstance(literal, Match):
                literal = self._call(typed, body, literal, binding_of(literal, known))
            body.append(literal)
        self.rules.append(replace(typed, relation=self._name(version), body=(*body, *computed)))

    def guard(self, version: Version, rule: CoreRule) -> tuple[Match, list[Compare], dict[str, DataType]]:
        """Returns the demand for the facts of this head; an argument that the head computes is compared at the end."""
        terms: list[Term] = []
        computed: list[Compare] = []
        types = dict(rule.types)
        columns = self.checked.relations[rule.relation].columns
        for index, (value, mark) in enumerate(zip(rule.head, version[1], strict=True)):
            if mark == "f" or isinstance(value, Contribution):
                continue
            if isinstance(value, Variable | Constant):
                terms.append(value)
                continue
            wanted = Variable(f"_wanted{index + 1}")
            types[wanted.name] = columns[index].type
            terms.append(wanted)
            computed.append(Compare(ComparisonOperator.EQUAL, wanted, value))
        return Match(self.demand_name(version), tuple(terms)), computed, types

    def _call(self, rule: CoreRule, before: Sequence[Literal], atom: Match, binding: str) -> Match:
        """Returns the atom over the version it needs; what is bound before it is a demand for that version."""
        version = self.calls.version(atom.relation, binding)
        if version is None:
            return atom
        wanted = tuple(term for term, mark in zip(atom.terms, version[1], strict=True) if mark == "b")
        demand = Match(self.demand_name(version), wanted)
        if all(isinstance(term, Constant) for term in wanted):
            self._seed(version, wanted)
        elif before[0] != demand:  # otherwise it demands only what is demanded already
            self.rules.append(
                CoreRule(f"demand of {rule.name}", demand.relation, wanted, tuple(before), types=rule.types)
            )
        return replace(atom, relation=self._name(version))

    def _written_facts(self, version: Version) -> None:
        """The facts that the program writes for the relation, those that are demanded."""
        relation = self.checked.relations[version[0]]
        written = self.written_name(version[0])
        plain = tuple(replace(column, aggregate=None) for column in relation.columns)
        self.relations[written] = Relation(written, plain, is_derived=True)
        self.facts[written] = self.checked.facts[version[0]]
        self.rules.append(self.fact_rule(version))

    @staticmethod
    def written_name(relation: str) -> str:
        return f"facts of {relation}"

    def fact_rule(self, version: Version) -> CoreRule:
        """Returns the rule that takes the demanded ones of the facts that the program writes."""
        relation = self.checked.relations[version[0]]
        variables = tuple(Variable(f"V{index + 1}") for index in range(relation.arity))
        head: tuple[HeadValue, ...] = tuple(
            Contribution(column.aggregate, (variable,)) if column.aggregate else variable
            for variable, column in zip(variables, relation.columns, strict=True)
        )
        wanted = tuple(v for v, mark in zip(variables, version[1], strict=True) if mark == "b")
        body = (Match(self.demand_name(version), wanted), Match(self.written_name(version[0]), variables))
        types = {v.name: column.type for v, column in zip(variables, relation.columns, strict=True)}
        return CoreRule("fact", self._name(version), head, body, types=types)

    def _queries(self) -> None:
        """What the queries demand; where a relation has several versions, its facts are those of all queried ones."""
        for query in self.checked.queries:
            binding = "".join("f" if isinstance(term, Variable) else "b" for term in query.terms)
            version = self.calls.version(query.relation, binding)
            if version is None:
                continue
            self._seed(version, [t for t, mark in zip(query.terms, version[1], strict=True) if mark == "b"])
            if self._name(version) != query.relation:
                self._answer(version)

    def _seed(self, version: Version, values: Sequence[Term | Parameter]) -> None:
        demand = self.demand_name(version)
        constants = [value.value for value in values if isinstance(value, Constant)]
        if len(constants) == len(values):
            fact: Fact = tuple(constants)
            self.facts[demand] = tuple(dict.fromkeys((*self.facts.get(demand, ()), fact)))
        else:  # parameters are not known yet
            self.rules.append(CoreRule("query", demand, tuple(values), ()))

    def _answer(self, version: Version) -> None:
        relation = self.checked.relations[version[0]]
        plain = tuple(replace(column, aggregate=None) for column in relation.columns)
        self.relations[relation.name] = replace(relation, columns=plain)
        variables = tuple(Variable(f"V{index + 1}") for index in range(relation.arity))
        types = {v.name: column.type for v, column in zip(variables, plain, strict=True)}
        rule = CoreRule("query", relation.name, variables, (Match(self._name(version), variables),), types=types)
        if rule not in self.rules:
            self.rules.append(rule)

    def _search(self, version: Version) -> None:
        """Where the demand comes by all answers, they are taken there."""
        demand = self.demand_name(version)
        asked = self.facts.get(demand, ())
        found = answers_on_the_way(self.rules, self._name(version), demand, version[1], asked)
        if found is not None:
            self.rules = found

    def _put_constants_for_single_demands(self) -> None:
        """A demand that is one fact of the query for good is not joined: its constants are put into the rules."""
        demands = {self.demand_name(version) for version in self.calls.versions}
        derived = {rule.relation for rule in self.rules}
        single = {
            name: [
                Constant.of(value, column.type)  # type: ignore[arg-type]
                for value, column in zip(self.facts[name][0], self.relations[name].columns, strict=True)
            ]
            for name in demands - derived
            if len(self.facts.get(name, ())) == 1
        }
        self.rules = [rule for one in self.rules if (rule := _with_constants(one, single)) is not None]
        for name in single:
            del self.facts[name], self.relations[name]


def _with_constants(rule: CoreRule, single: Mapping[str, Sequence[Constant]]) -> CoreRule | None:
    """Returns the rule with the demand in front replaced; None when a constant of its head is not demanded."""
    first = rule.body[0] if rule.body else None
    if not isinstance(first, Match) or first.relation not in single:
        return rule
    wanted: dict[str, Constant] = {}
    for term, constant in zip(first.terms, single[first.relation], strict=True):
        if isinstance(term, Variable):
            if wanted.setdefault(term.name, constant) != constant:
                return None
        elif term != constant:
            return None
    return replace(
        rule,
        head=tuple(head_with(value, wanted) for value in rule.head),
        body=tuple(literal_with(literal, wanted) for literal in rule.body[1:]),
    )
