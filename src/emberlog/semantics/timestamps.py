"""The time column of streams and of what is derived from them: an annotation, unless the program computes with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from emberlog.datatypes import TIMESTAMP
from emberlog.semantics.model import Absent, Bind, Compare, Contribution, CoreRule, Holds, Match, Relation, TimeRole
from emberlog.syntax import ast
from emberlog.syntax.ast import Expression, Variable


def assign_time_roles(relations: Mapping[str, Relation], rules: Iterable[CoreRule]) -> dict[str, Relation]:
    """The relations with `is_stream` and `time` filled in."""
    rules = tuple(rules)
    result = dict(relations)
    changed = True
    while changed:  # a relation derived from a stream is a stream
        changed = False
        for rule in rules:
            if not result[rule.relation].is_stream and any(result[name].is_stream for name in _read(rule)):
                result[rule.relation] = replace(result[rule.relation], is_stream=True)
                changed = True
    computed_with = _computed_with(result, rules)
    for name, relation in result.items():
        if relation.is_stream and relation.columns[0].type == TIMESTAMP:
            role = TimeRole.ORDINARY if name in computed_with else TimeRole.ANNOTATION
            result[name] = replace(relation, time=role)
    return result


def _read(rule: CoreRule) -> Iterable[str]:
    return (literal.relation for literal in rule.body if isinstance(literal, Match | Absent))


def _computed_with(relations: Mapping[str, Relation], rules: Iterable[CoreRule]) -> set[str]:
    """The relations whose time some rule does more with than to carry it into the time of its head."""
    found: set[str] = set()
    for rule in rules:
        times = {
            literal.terms[0].name: literal.relation
            for literal in rule.body
            if isinstance(literal, Match)
            and relations[literal.relation].is_stream
            and isinstance(literal.terms[0], Variable)
            and relations[literal.relation].columns[0].type == TIMESTAMP
        }
        carried = {literal.variable.name for literal in rule.body if isinstance(literal, Bind) and _is_largest(literal)}
        for expression in _other_uses(rule, carried):
            for variable in ast.variables_of(expression):
                if variable.name in times:
                    found.add(times[variable.name])
    return found


def _is_largest(bind: Bind) -> bool:
    match bind.expression:
        case ast.Call("greatest", arguments):
            return all(isinstance(argument, Variable) for argument in arguments)
        case Variable():
            return True
        case _:
            return False


def _other_uses(rule: CoreRule, carried: set[str]) -> Iterable[Expression]:
    """Every expression but the time of the head, what is carried into it, and the time positions of atoms."""
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
            case Match(_, terms) | Absent(_, terms):
                yield from terms[1:]
    for value in rule.head[1:]:
        if isinstance(value, Contribution):
            yield from value.arguments
        else:
            yield value
