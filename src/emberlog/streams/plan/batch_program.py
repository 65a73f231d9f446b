"""Makes the batch program whose answer on the tuples of a window is the answer of a stream program.

A time that only annotates facts is a column that is aggregated like any other: the earliest time of a fact, the time of
the contribution that a minimum or maximum comes from, the latest contribution to anything else that is aggregated. A
time that no query asks for is left out, so that it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from emberlog.language.registry import AGGREGATES
from emberlog.semantics.model import (
    Absent,
    Bind,
    CheckedProgram,
    CheckedQuery,
    Column,
    Contribution,
    CoreRule,
    Fact,
    HeadValue,
    Literal,
    Match,
    Recursion,
    RecursionCase,
    Relation,
    Stratum,
    TimeRole,
)
from emberlog.syntax.ast import Call, Constant, Expression, Variable, variables_of


@dataclass(frozen=True, slots=True)
class BatchProgram:
    checked: CheckedProgram
    """The program itself. It has no streams: they are inputs like others."""
    arriving: Mapping[str, tuple[Column, ...]]
    """The columns of each stream as its tuples arrive, the time first."""
    times: Mapping[str, TimeRole]
    """What the first column of a stream is here: left out (NONE), the earliest time of each fact, or a plain column."""

    @property
    def streams(self) -> tuple[str, ...]:
        """Lists the inputs whose tuples come and go."""
        return tuple(self.arriving)

    @property
    def outputs(self) -> dict[str, tuple[Column, ...]]:
        """Returns the columns of each answer. A time that every query of a relation leaves out with `_` is none."""
        return {name: self.checked.relations[name].columns for name in self.checked.outputs}


def batch_program(checked: CheckedProgram) -> BatchProgram:
    rewriting = _Rewriting(checked, _relations_with_shown_times(checked))
    arriving = {name: checked.relations[name].columns for name in checked.inputs if checked.relations[name].is_stream}
    return BatchProgram(rewriting.program(), arriving, {name: rewriting.role(name) for name in arriving})


def _relations_with_shown_times(checked: CheckedProgram) -> set[str]:
    """Finds the relations whose annotated time reaches an answer. A query with `_` in its place does not ask for it; a
    relation without any other column has it all the same."""
    annotated = {name for name, relation in checked.relations.items() if relation.time is TimeRole.ANNOTATION}
    asked = {query.relation for query in checked.queries if query.terms[:1] != (Variable("_1"),)}
    if not checked.queries:
        asked = set(checked.outputs)
    asked |= {name for name, relation in checked.relations.items() if relation.arity == 1}
    asked &= annotated
    shown, to_visit = set(asked), list(asked)
    while to_visit:
        name = to_visit.pop()
        for rule in checked.rules:
            if rule.relation == name:
                new = set(_sources_of_time(checked, rule)) - shown
                shown |= new
                to_visit += new
    return shown


def _sources_of_time(checked: CheckedProgram, rule: CoreRule) -> Iterator[str]:
    """Yields the relations whose annotated times flow into the time of the head."""
    time = rule.head[0]
    assert not isinstance(time, Contribution)
    wanted = {variable.name for variable in variables_of(time)}
    for literal in reversed(rule.body):
        if isinstance(literal, Bind) and literal.variable.name in wanted:
            wanted.update(variable.name for variable in variables_of(literal.expression))
    for literal in rule.body:
        if isinstance(literal, Match) and checked.relations[literal.relation].time is TimeRole.ANNOTATION:
            term = literal.terms[0]
            if isinstance(term, Variable) and term.name in wanted:
                yield literal.relation


class _Rewriting:
    def __init__(self, checked: CheckedProgram, shown: set[str]) -> None:
        self.checked = checked
        self.left_out = {
            name
            for name, relation in checked.relations.items()
            if relation.time is TimeRole.ANNOTATION and name not in shown
        }
        """The relations whose time no query asks for."""
        self.functions = {name: _time_aggregate(checked.relations[name]) for name in shown}
        """The aggregate of the time of each relation whose time only annotates its facts, and is asked for."""

    def role(self, name: str) -> TimeRole:
        """Returns what becomes of the time of a relation; NONE if it is left out."""
        return TimeRole.NONE if name in self.left_out else self.checked.relations[name].time

    def program(self) -> CheckedProgram:
        checked = self.checked
        # A fact in the text gives one value for a column; the time of a winning contribution takes two.
        as_rules = {name for name, function in self.functions.items() if AGGREGATES[function].by_cost}
        facts = {
            name: tuple(dict.fromkeys(fact[1:] if name in self.left_out else fact for fact in rows))
            for name, rows in checked.facts.items()
            if name not in as_rules
        }
        written = [
            self._as_rule(name, number, fact)
            for name, rows in checked.facts.items()
            if name in as_rules
            for number, fact in enumerate(rows, 1)
        ]
        rules = {id(rule): self._rule(rule) for rule in checked.rules}
        strata = tuple(self._stratum(stratum, rules, written) for stratum in checked.strata)
        return replace(
            checked,
            relations={name: self._relation(relation) for name, relation in checked.relations.items()},
            facts=facts,
            rules=(*rules.values(), *written),
            strata=strata,
            queries=tuple(map(self._query, checked.queries)),
        )

    def _relation(self, relation: Relation) -> Relation:
        columns = relation.columns
        if relation.name in self.left_out:
            columns = columns[1:]
        elif relation.name in self.functions and relation.is_derived:
            columns = (replace(columns[0], aggregate=self.functions[relation.name]), *columns[1:])
        return replace(relation, columns=columns, is_stream=False, time=TimeRole.NONE)

    def _rule(self, rule: CoreRule) -> CoreRule:
        body: list[Literal] = []
        gone: set[str] = set()
        for literal in rule.body:
            match literal:
                case Match(relation, terms) | Absent(relation, terms) if relation in self.left_out:
                    time = terms[0]
                    if isinstance(literal, Match) and isinstance(time, Variable):
                        gone.add(time.name)
                    body.append(replace(literal, terms=terms[1:]))
                case _:
                    body.append(literal)
        gone -= {
            term.name for one in body if isinstance(one, Match) for term in one.terms if isinstance(term, Variable)
        }
        kept: list[Literal] = []
        for literal in body:
            if isinstance(literal, Bind) and any(one.name in gone for one in variables_of(literal.expression)):
                gone.add(literal.variable.name)  # the largest of times that no query asks for
            else:
                kept.append(literal)
        types = {name: type_ for name, type_ in rule.types.items() if name not in gone}
        return replace(rule, head=self._head(rule.relation, rule.head), body=tuple(kept), types=types)

    def _head(self, name: str, head: tuple[HeadValue, ...]) -> tuple[HeadValue, ...]:
        if name in self.left_out:
            return head[1:]
        if name not in self.functions:
            return head
        time = head[0]
        assert not isinstance(time, Contribution)
        function = self.functions[name]
        if function in ("min", "max"):
            return (Contribution(function, (time,)), *head[1:])
        (winner,) = (value for value in head[1:] if isinstance(value, Contribution))
        return (Contribution(function, (_rank(winner), time)), *head[1:])

    def _as_rule(self, name: str, number: int, fact: Fact) -> CoreRule:
        columns = self.checked.relations[name].columns
        head: list[HeadValue] = []
        for column, cell in zip(columns, fact, strict=True):
            assert not isinstance(cell, tuple)
            value = Constant.of(cell, column.type)
            head.append(value if column.aggregate is None else Contribution(column.aggregate, (value,)))
        return CoreRule(f"{name}.{number}", name, self._head(name, tuple(head)), ())

    def _stratum(self, stratum: Stratum, rules: Mapping[int, CoreRule], written: list[CoreRule]) -> Stratum:
        own = [rule for rule in written if rule.relation in stratum.relations]
        recursion = None if stratum.recursion is None else self._recursion(stratum.recursion, stratum)
        return replace(stratum, rules=(*(rules[id(rule)] for rule in stratum.rules), *own), recursion=recursion)

    def _recursion(self, recursion: Recursion, stratum: Stratum) -> Recursion:
        columns = {name: place - (name in self.left_out) for name, place in recursion.stage_columns.items()}
        case = recursion.case
        if case is RecursionCase.SET and not self.functions.keys().isdisjoint(stratum.relations):
            case = RecursionCase.MEET
        return replace(recursion, case=case, stage_columns=columns)

    def _query(self, query: CheckedQuery) -> CheckedQuery:
        terms = query.terms[1:] if query.relation in self.left_out else query.terms
        return replace(query, terms=terms, window=None)


def _time_aggregate(relation: Relation) -> str:
    functions = [column.aggregate for column in relation.columns[1:] if column.aggregate is not None]
    match functions:
        case []:
            return "min"
        case [one] if (known := AGGREGATES.get(one)) and known.is_meet and known.direction < 0:
            return "argmin"
        case [one] if (known := AGGREGATES.get(one)) and known.is_meet and not known.by_cost:
            return "argmax"
        case _:
            return "max"


def _rank(winner: Contribution) -> Expression:
    """Returns the value that a contribution wins by."""
    if AGGREGATES[winner.function].by_cost:
        return Call("encd", winner.arguments)
    return winner.arguments[0]
