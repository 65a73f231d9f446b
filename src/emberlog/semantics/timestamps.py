"""The time column of streams and of what is derived from them: an annotation, unless the program computes with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from emberlog.datatypes import TIMESTAMP
from emberlog.semantics.model import Absent, Bind, Compare, Contribution, CoreRule, Holds, Match, Relation, TimeRole
from emberlog.syntax import ast
from emberlog.syntax.ast import Expression, Variable


def assign_time_roles(
    relations: Mapping[str, Relation], rules: Iterable[CoreRule], queries: Iterable[ast.Query] = ()
) -> dict[str, Relation]:
    """Returns the relations with `is_stream` and `time` filled in."""
    if not any(relation.is_stream for relation in relations.values()):
        return dict(relations)
    rules = tuple(rules)
    result = dict(relations)
    changed = True
    while changed:  # a relation derived from a stream is a stream
        changed = False
        for rule in rules:
            if not result[rule.relation].is_stream and any(result[name].is_stream for name in _read(rule)):
                result[rule.relation] = replace(result[rule.relation], is_stream=True)
                changed = True
    ordinary = _computed_with(result, rules) | _asked_for_a_moment(queries)
    ordinary |= _carried_into(ordinary, result, rules)
    for name, relation in result.items():
        if _has_time(relation):
            role = TimeRole.ORDINARY if name in ordinary else TimeRole.ANNOTATION
            result[name] = replace(relation, time=role)
    return result


def _read(rule: CoreRule) -> Iterable[str]:
    return (literal.relation for literal in rule.body if isinstance(literal, Match | Absent))


def _has_time(relation: Relation) -> bool:
    return relation.is_stream and bool(relation.columns) and relation.columns[0].type == TIMESTAMP


def _computed_with(relations: Mapping[str, Relation], rules: Iterable[CoreRule]) -> set[str]:
    """Returns the relations whose time some rule does more with than to carry it into the time of its head."""
    found: set[str] = set()
    for rule in rules:
        times = _Times(rule, relations)
        found |= times.compared
        if _has_time(relations[rule.relation]) and isinstance(rule.head[0], Contribution):
            found.add(rule.relation)  # the program itself says which time a fact has
        for expression in _other_uses(rule, relations, times.carried):
            for variable in ast.variables_of(expression):
                found |= times.sources(variable.name)
    return found


def _asked_for_a_moment(queries: Iterable[ast.Query]) -> set[str]:
    """Returns the relations of queries that have a value for the time."""
    return {
        query.atom.predicate
        for query in queries
        if query.atom.terms and not isinstance(query.atom.terms[0], Variable | ast.Wildcard)
    }


def _carried_into(names: set[str], relations: Mapping[str, Relation], rules: Iterable[CoreRule]) -> set[str]:
    """Returns the relations from which these get their times, directly or not: no time of theirs may be lost on the
    way."""
    found: set[str] = set()
    to_visit = list(names)
    while to_visit:
        name = to_visit.pop()
        for rule in rules:
            if rule.relation == name and rule.head and not isinstance(rule.head[0], Contribution):
                times = _Times(rule, relations)
                for variable in ast.variables_of(rule.head[0]):
                    new = times.sources(variable.name) - found - names
                    found |= new
                    to_visit += new
    return found


class _Times:
    """The time variables of a rule's body, and what is carried in them."""

    def __init__(self, rule: CoreRule, relations: Mapping[str, Relation]) -> None:
        self._relations: dict[str, set[str]] = {}
        self.compared: set[str] = set()
        """The relations whose time has to be equal to something."""
        bound: dict[str, int] = {}
        for literal in rule.body:
            if isinstance(literal, Match | Absent):
                for term in literal.terms:
                    if isinstance(term, Variable):
                        bound[term.name] = bound.get(term.name, 0) + 1
        bound |= {one.variable.name: 2 for one in rule.body if isinstance(one, Bind) and one.variable.name in bound}
        for literal in rule.body:
            if isinstance(literal, Match | Absent) and _has_time(relations[literal.relation]):
                time = literal.terms[0]
                if not isinstance(time, Variable) or bound[time.name] > 1:
                    self.compared.add(literal.relation)
                if isinstance(literal, Match) and isinstance(time, Variable):
                    self._relations.setdefault(time.name, set()).add(literal.relation)
        self.carried = {one.variable.name: one for one in rule.body if isinstance(one, Bind) and _is_largest(one)}

    def sources(self, name: str) -> set[str]:
        """Returns the relations whose times are in a variable."""
        found = set(self._relations.get(name, ()))
        if name in self.carried:
            for variable in ast.variables_of(self.carried[name].expression):
                found |= self.sources(variable.name)
        return found


def _is_largest(bind: Bind) -> bool:
    match bind.expression:
        case ast.Call("greatest", arguments):
            return all(isinstance(argument, Variable) for argument in arguments)
        case Variable():
            return True
        case _:
            return False


def _other_uses(rule: CoreRule, relations: Mapping[str, Relation], carried: Mapping[str, Bind]) -> Iterable[Expression]:
    """Yields every expression but the time of the head, what is carried into it, and the time positions of atoms."""
    for literal in rule.body:
        match literal:
            case Bind(variable, expression):
                if variable.name not in carried:
                    yield expression
            case Compare(_, left, right):
                yield left
                yield right
            case Holds(test):
                yield test
            case Match(relation, terms) | Absent(relation, terms):
                yield from terms[1:] if _has_time(relations[relation]) else terms
    is_carried = _has_time(relations[rule.relation]) and not isinstance(rule.head[0], Contribution)
    for value in rule.head[1:] if is_carried else rule.head:
        if isinstance(value, Contribution):
            yield from value.arguments
        else:
            yield value
