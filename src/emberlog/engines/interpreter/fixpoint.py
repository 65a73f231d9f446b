"""Recursive strata: semi-naive where the plan has delta rules, otherwise round by round from the full rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from time import perf_counter
from typing import TypeAlias

from emberlog.engines.interpreter.aggregates import Groups
from emberlog.engines.interpreter.limits import Watch
from emberlog.engines.interpreter.operators import Facts, Operators, Rows, rule_names
from emberlog.engines.interpreter.rule_counts import Key, Part, RuleCounts
from emberlog.engines.recording import has_history
from emberlog.language.faults import Fault
from emberlog.language.registry import Functions
from emberlog.logical.nodes import Fixpoint, FixpointRelation, Version
from emberlog.logical.python_evaluation import error_in_relation
from emberlog.logical.traverse import column_names
from emberlog.semantics.model import Fact
from emberlog.workers.fixpoint.profile import Profile

Histories: TypeAlias = dict[str, list[Fact]]
"""For each relation what `engines/recording.py` calls its history."""


def run_fixpoint(
    fixpoint: Fixpoint,
    outside: Facts,
    watch: Watch,
    functions: Functions,
    histories: Histories | None = None,
    profile: Profile | None = None,
) -> dict[str, frozenset[Fact]]:
    """Returns the facts of every relation of the stratum; `outside` has those of all others. `histories` are filled,
    and rules are counted in `profile`, if any."""
    if histories is not None and has_history(fixpoint.recursion.case):
        histories.update({relation.name: [] for relation in fixpoint.relations})
    has_deltas = all(rule.deltas for relation in fixpoint.relations for rule in relation.rules)
    evaluate = _semi_naive if has_deltas else _naive
    states = evaluate(fixpoint, outside, watch, functions, histories or {}, profile)
    return {name: frozenset(facts) for name, facts in states.items()}


def _record(histories: Histories, iteration: int, facts: Mapping[str, Iterable[Fact]]) -> None:
    for name, history in histories.items():
        history += [(*fact, iteration) for fact in facts[name]]


class _Stratum(Facts):
    """Holds what scans see during an iteration."""

    def __init__(self, outside: Facts, relations: Iterable[FixpointRelation]) -> None:
        self._outside = outside
        self.full: dict[str, set[Fact]] = {relation.name: set() for relation in relations}
        self.delta: dict[str, set[Fact]] = {relation.name: set() for relation in relations}
        self._before: dict[str, set[Fact]] = {}

    def read(self, relation: str, version: Version) -> Rows:
        if relation not in self.full:
            return self._outside.read(relation, version)
        match version:
            case Version.FULL:
                return self.full[relation]
            case Version.DELTA:
                return self.delta[relation]
            case Version.BEFORE:
                if relation not in self._before:
                    self._before[relation] = self.full[relation] - self.delta[relation]
                return self._before[relation]

    def advance(self, changes: Mapping[str, tuple[set[Fact], set[Fact]]]) -> None:
        """Takes what an iteration added and what it replaced."""
        for name, (added, replaced) in changes.items():
            if replaced:
                self.full[name] -= replaced
            self.full[name] |= added
            self.delta[name] = added
        self._before.clear()

    def size(self) -> int:
        return sum(map(len, self.full.values()))


class _Contributions:
    """Holds everything that was ever contributed to one relation, combined."""

    def __init__(self, relation: FixpointRelation, functions: Functions, counting: RuleCounts) -> None:
        self.relation = relation
        self._functions = functions
        self._facts: dict[Fact, Fact] = {}
        """The fact of each key, if there are aggregates."""
        self._groups = self._new_groups()
        seeds = counting.divided(relation.seed, is_set=not relation.aggregates)
        self.parts = [*seeds, *(Part(rule.name, rule.plan) for rule in relation.rules)]
        self.deltas = [Part(rule.name, plan) for rule in relation.rules for plan in rule.deltas]
        in_plan = (*relation.keys, *(column.field.name for column in relation.aggregates))
        self._order = [in_plan.index(field.name) for field in relation.columns]

    @property
    def rules(self) -> tuple[str, ...]:
        """Returns the names of the rules, for errors."""
        return tuple(rule_names([part.plan for part in self.parts]))

    @property
    def keys(self) -> tuple[Key, Key] | None:
        """Returns the functions that give the group of a row and of a fact; None if there are no aggregates."""
        if not self.relation.aggregates:
            return None
        rows, facts = column_names(self.relation.seed), [field.name for field in self.relation.columns]
        return self._chooser(rows), self._chooser(facts)

    def _chooser(self, names: Sequence[str]) -> Key:
        places = [names.index(key) for key in self.relation.keys]
        return lambda row: tuple([row[place] for place in places])

    def _new_groups(self) -> Groups | None:
        relation = self.relation
        if not relation.aggregates:
            return None
        return Groups(column_names(relation.seed), relation.keys, relation.aggregates, self._functions)

    def take(self, rows: Collection[Fact], known: set[Fact], *, is_first: bool) -> tuple[set[Fact], set[Fact]]:
        """Combines more contributions; gives the facts that are new beside those `known`, and those that they
        replace."""
        if self._groups is None:
            return set(rows).difference(known), set()
        touched = {self._groups.add(row) for row in rows}
        if is_first:
            touched.update(self._groups.keys)  # a count exists even without contributions
        added, replaced = set(), set()
        for key in touched:
            fact = self._fact(self._groups, key)
            old = self._facts.get(key)
            if fact != old:
                added.add(fact)
                if old is not None:
                    replaced.add(old)
                self._facts[key] = fact
        return added, replaced

    def combined(self, rows: Iterable[Fact]) -> set[Fact]:
        """Returns the facts that these contributions alone make."""
        groups = self._new_groups()
        if groups is None:
            return set(rows)
        for row in rows:
            groups.add(row)
        return {self._fact(groups, key) for key in groups.keys}

    def _fact(self, groups: Groups, key: Fact) -> Fact:
        row = groups.row(key)
        return tuple(row[position] for position in self._order)


def _semi_naive(
    fixpoint: Fixpoint,
    outside: Facts,
    watch: Watch,
    functions: Functions,
    histories: Histories,
    profile: Profile | None,
) -> dict[str, set[Fact]]:
    stratum = _Stratum(outside, fixpoint.relations)
    counting = RuleCounts(Operators(stratum, watch, functions, frozenset(stratum.full)), profile)
    everything = [_Contributions(relation, functions, counting) for relation in fixpoint.relations]
    number = 0
    while True:
        number += 1
        changes = {}
        for contributions in everything:
            relation = contributions.relation
            # At first there is nothing to recurse on, and the full rules give no rows. They run all the same: a
            # fault in what they compute before they read their own stratum is reported, as in naive evaluation.
            parts = contributions.parts if number == 1 else contributions.deltas
            try:
                given = counting.rows(parts, relation.name, number - 1)
                since = perf_counter()
                rows = given[0] if len(given) == 1 else [row for some in given for row in some]
                changes[relation.name] = contributions.take(rows, stratum.full[relation.name], is_first=number == 1)
                added, seconds = changes[relation.name][0], perf_counter() - since
                counting.keep(parts, given, relation.name, number - 1, added, seconds, contributions.keys)
            except Fault as fault:
                raise error_in_relation(fault, relation.name, contributions.rules) from None
        stratum.advance(changes)
        _record(histories, number - 1, stratum.delta)
        if not any(stratum.delta.values()):
            return stratum.full
        watch.finish_iteration(number, list(stratum.delta.items()), stratum.size())


def _naive(
    fixpoint: Fixpoint,
    outside: Facts,
    watch: Watch,
    functions: Functions,
    histories: Histories,
    profile: Profile | None,
) -> dict[str, set[Fact]]:
    """Returns each round applies all rules, the seed included, to the facts of the round before."""
    stratum = _Stratum(outside, fixpoint.relations)
    counting = RuleCounts(Operators(stratum, watch, functions, frozenset(stratum.full)), profile)
    everything = [_Contributions(relation, functions, counting) for relation in fixpoint.relations]
    rounds = fixpoint.recursion.iterations
    number = 0
    while rounds is None or number < rounds:
        number += 1
        new = {}
        for contributions in everything:
            parts, name = contributions.parts, contributions.relation.name
            iteration = number if rounds is not None else number - 1
            try:
                given = counting.rows(parts, name, iteration)
                since = perf_counter()
                new[name] = contributions.combined(row for some in given for row in some)
                changed, seconds = new[name] - stratum.full[name], perf_counter() - since
                counting.keep(parts, given, name, iteration, changed, seconds, contributions.keys)
            except Fault as fault:
                raise error_in_relation(fault, name, contributions.rules) from None
        added = {name: facts - stratum.full[name] for name, facts in new.items()}
        if rounds is not None:
            _record(histories, number, new)
        if new == stratum.full:
            break
        if rounds is None:
            _record(histories, number - 1, added)
        vanished = sum(len(stratum.full[name] - facts) for name, facts in new.items())
        stratum.full = new
        watch.finish_iteration(number, list(added.items()), stratum.size(), vanished)
    return stratum.full
