"""A naive evaluator of programs as data: every rule on every fact, round after round, until nothing changes.

It knows two things that an engine does not: all codes that a program can fail with, and what a program would answer if
the valuations without a value were left out. The second is what an engine answers that never meets them, because no
query asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tests.crosscheck.aggregates import COUNTS, Contribution, aggregated
from tests.crosscheck.bodies import Body, Facts, Valuation, agrees, alternatives, evaluated
from tests.crosscheck.meaning import Fault, Known, Unclear, widened
from tests.crosscheck.programs import Aggregate, Expr, Input, Program, Query, Rule, read_relations, variables

MOST_STEPS = 60_000
MOST_ROUNDS = 60
MOST_FACTS = 600

Fact: TypeAlias = "tuple[Known, ...]"


class TooMuch(Unclear):
    """The program takes too long here to be a test."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may come out of a program."""

    answers: Mapping[str, frozenset[Fact]]
    must: frozenset[str]
    """Codes of faults in what some output needs in full: with one of them, every engine has an error."""
    may: frozenset[str]
    """Codes of faults that a query with constants may not ask for."""

    @property
    def codes(self) -> frozenset[str]:
        return self.must | self.may


def judged(program: Program) -> Verdict:
    """Raises Unclear where the language leaves something open."""
    return _Evaluation(program).run()


class _Evaluation:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.steps = 0
        self.rules: dict[str, list[Rule]] = {}
        for rule in program.rules:
            self.rules.setdefault(rule.relation, []).append(rule)
        self.bodies = {id(rule): [Body(one) for one in alternatives(rule.body)] for rule in program.rules}
        self._check_names()
        self.floats = {
            name: {place for place, type_ in enumerate(types) if type_ == "float"} for name, types in program.declared
        }
        self.facts: dict[str, list[Fact]] = {one.name: _intake(one) for one in program.inputs}
        self.codes: dict[str, set[str]] = {}
        """By the relation whose rules have the fault."""

    def _check_names(self) -> None:
        """A shrunk program may speak of what is not there any more."""
        known = {*self.rules, *(one.name for one in self.program.inputs), *(name for name, _ in self.program.facts)}
        read = {name for rule in self.program.rules for name in read_relations(rule.body)}
        if not self.rules or not known >= read | {query.relation for query in self.program.queries}:
            raise Unclear("a relation is not defined")
        for rule in self.program.rules:
            needed = {name for term in rule.head for name in variables(term)}
            if not all(needed <= body.variables for body in self.bodies[id(rule)]):
                raise Unclear("a variable of a head has no value")

    def run(self) -> Verdict:
        asked = [query.relation for query in self.program.queries]
        outputs = asked or list(self.rules)
        for members in _strata(self._needed(outputs), self._reads):
            self._stratum(members)
        asked_in_full = [one.relation for one in self.program.queries if one.asks_for_all] if asked else outputs
        in_full = self._needed(asked_in_full, self._must_read)
        must = {code for name, codes in self.codes.items() if name in in_full for code in codes}
        may = {code for name, codes in self.codes.items() if name not in in_full for code in codes}
        answers = {
            name: frozenset(_answers([one for one in self.program.queries if one.relation == name], self.facts[name]))
            for name in outputs
        }
        return Verdict(answers, frozenset(must), frozenset(may))

    def _reads(self, name: str) -> set[str]:
        return {read for rule in self.rules.get(name, ()) for read in read_relations(rule.body)}

    def _must_read(self, name: str) -> set[str]:
        """Leaves out what only bodies read that hold for no facts at all: a program need not compute that."""
        bodies = (body for rule in self.rules.get(name, ()) for body in self.bodies[id(rule)])
        return {read for body in bodies if not body.never_holds for read in body.reads}

    def _needed(self, outputs: Iterable[str], reads: Callable[[str], set[str]] | None = None) -> set[str]:
        reads = reads or self._reads
        needed: set[str] = set()
        waiting = list(outputs)
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                waiting += reads(name)
        return needed

    def _stratum(self, members: frozenset[str]) -> None:
        derived = [name for name in sorted(members) if name in self.rules]
        for name in members - self.rules.keys() - {one.name for one in self.program.inputs}:
            self.facts[name] = self._combined(name)
        if not derived:
            return
        bounds = {rule.iterations for name in derived for rule in self.rules[name]} - {None}
        is_recursive = any(self._reads(name) & members for name in derived)
        bound = next(iter(bounds), None) if is_recursive else 1
        self.facts.update({name: [] for name in derived})
        for number in range(MOST_ROUNDS if bound is None else bound):
            if number and bound is None:
                self._forget(derived)
            new = {name: self._combined(name) for name in derived}
            if sum(map(len, new.values())) > MOST_FACTS:
                raise TooMuch
            changed = any(set(new[name]) != set(self.facts[name]) for name in derived)
            self.facts.update(new)
            if not changed:
                return
        if bound is None:
            raise TooMuch

    def _forget(self, names: Iterable[str]) -> None:
        """The faults of a round that is not the last are none: the facts were not complete. Where rounds are counted,
        each of them counts."""
        for name in names:
            self.codes.pop(name, None)

    def _combined(self, name: str) -> list[Fact]:
        rows: list[tuple[Known | list[Known], ...]] = []
        functions = self._aggregates(name)
        for relation, row in self.program.facts:
            if relation == name:
                rows.append(tuple([value] if place in functions else value for place, value in enumerate(_stored(row))))
        for rule in self.rules.get(name, ()):
            rows += self._contributed(rule, functions)
        rows = list(self._in_type(name, rows))
        if not functions:
            return list(dict.fromkeys(tuple(_plain(value) for value in row) for row in rows))
        return list(self._grouped(name, functions, rows))

    def _aggregates(self, name: str) -> dict[int, str]:
        return {
            place: term.function
            for rule in self.rules.get(name, ())
            for place, term in enumerate(rule.head)
            if isinstance(term, Aggregate)
        }

    def _contributed(self, rule: Rule, functions: Mapping[int, str]) -> Iterator[tuple[Known | list[Known], ...]]:
        def tick() -> None:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise TooMuch

        def told(fault: Fault, valuation: Valuation) -> None:
            """Beside the faults of the body an engine may tell those of the head."""
            codes = self.codes.setdefault(rule.relation, set())
            codes.update(fault.codes)
            for term in rule.head:
                for argument in term.arguments if isinstance(term, Aggregate) else (term,):
                    if valuation.keys() >= set(variables(argument)):
                        try:
                            evaluated(argument, valuation)
                        except Fault as other:
                            codes.update(other.codes)

        facts: Facts = self.facts
        for body in self.bodies[id(rule)]:
            for valuation in body.valuations(facts, tick, told):
                row: list[Known | list[Known]] = []
                codes: set[str] = set()
                for place, term in enumerate(rule.head):
                    arguments: tuple[Expr, ...] = term.arguments if isinstance(term, Aggregate) else (term,)
                    values: list[Known] = []
                    for argument in arguments:
                        try:
                            values.append(evaluated(argument, valuation))
                        except Fault as fault:
                            codes |= fault.codes
                    row.append(values if place in functions else values[0] if values else None)
                if codes:
                    told(Fault(*codes), valuation)
                else:
                    yield tuple(row)

    def _in_type(
        self, name: str, rows: Iterable[tuple[Known | list[Known], ...]]
    ) -> Iterator[tuple[Known | list[Known], ...]]:
        """With ints widened where a column is declared float."""
        floats = self.floats.get(name, set())
        for row in rows:
            try:
                yield tuple(_widened_entry(value) if place in floats else value for place, value in enumerate(row))
            except Fault as fault:
                self.codes.setdefault(name, set()).update(fault.codes)

    def _grouped(
        self, name: str, functions: Mapping[int, str], rows: Iterable[tuple[Known | list[Known], ...]]
    ) -> Iterator[Fact]:
        groups: dict[Fact, list[tuple[Known | list[Known], ...]]] = {}
        arity = len(self.rules[name][0].head)
        if len(functions) == arity and all(one in COUNTS for one in functions.values()):
            groups[()] = []
        for row in rows:
            key = tuple(_plain(value) for place, value in enumerate(row) if place not in functions)
            groups.setdefault(key, []).append(row)
        for key, members in groups.items():
            rest = iter(key)
            try:
                yield tuple(
                    aggregated(functions[place], [_contribution(row[place]) for row in members])
                    if place in functions
                    else next(rest)
                    for place in range(arity)
                )
            except Fault as fault:
                self.codes.setdefault(name, set()).update(fault.codes)


def _plain(value: Known | list[Known]) -> Known:
    assert not isinstance(value, list)
    return value


def _contribution(value: Known | list[Known]) -> Contribution:
    assert isinstance(value, list)
    return tuple(value)


def _widened_entry(value: Known | list[Known]) -> Known | list[Known]:
    if isinstance(value, list):
        return [*value[:-1], widened(value[-1])]
    return widened(value)


def _intake(given: Input) -> list[Fact]:
    """The facts of an input: a set, with one zero, and with floats where the column has any."""
    floats = {
        place
        for place, type_ in enumerate(given.types)
        if (type_ == "float" if given.is_declared else any(isinstance(row[place], float) for row in given.rows))
    }
    rows = [tuple(widened(v) if place in floats else v for place, v in enumerate(row)) for row in given.rows]
    return list(dict.fromkeys(map(_stored, rows)))


def _stored(row: Fact) -> Fact:
    """There is one zero."""
    return tuple(value + 0.0 if isinstance(value, float) else value for value in row)


def _answers(queries: list[Query], facts: Iterable[Fact]) -> Iterator[Fact]:
    for fact in facts:
        if not queries or any(agrees(query.terms, fact, {}) for query in queries):
            yield fact


def _strata(names: Iterable[str], reads: Callable[[str], set[str]]) -> list[frozenset[str]]:
    """Relations that depend on each other, together, each group behind those that it reads."""
    reached = {name: _reached(name, reads) for name in names}
    groups = {frozenset({name, *(other for other in reached[name] if name in reached[other])}) for name in reached}
    return sorted(groups, key=lambda group: (len(set().union(*(reached[name] | {name} for name in group))), min(group)))


def _reached(name: str, reads: Callable[[str], set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(reads(name))
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting += reads(other)
    return found
