"""Makes a program small: drops rules, facts, literals and parts of expressions, as long as it stays interesting."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tests.crosscheck.programs import (
    Aggregate,
    Anything,
    Atom,
    Call,
    Comparison,
    Const,
    Either,
    Expr,
    If,
    Input,
    Literal,
    Logic,
    Neg,
    Op,
    Procedure,
    Program,
    Rule,
    Term,
    Test,
    Var,
    read_relations,
)

Part = TypeVar("Part")

MOST_SECONDS = 60.0


def shrunk(program: Program, is_interesting: Callable[[Program], bool]) -> Program:
    """The smallest program found by taking one thing away at a time. It is interesting if the given one is."""
    began = time.monotonic()
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(program):
            if time.monotonic() - began > MOST_SECONDS:
                return program
            if is_interesting(smaller):
                program, changed = smaller, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    """Large steps first."""
    for name in sorted({rule.relation for rule in program.rules}):
        yield _without_relation(program, name)
    for rules in _without_one(program.rules):
        yield _cleared(replace(program, rules=rules))
    for queries in _without_one(program.queries):
        yield replace(program, queries=queries)
    for facts in _without_one(program.facts):
        yield replace(program, facts=facts)
    for place, given in enumerate(program.inputs):
        for half in (given.rows[: len(given.rows) // 2], given.rows[len(given.rows) // 2 :]):
            if len(half) < len(given.rows):
                yield _with_input(program, place, replace(given, rows=half))
        for rows in _without_one(given.rows):
            yield _with_input(program, place, replace(given, rows=rows))
    for place, rule in enumerate(program.rules):
        for smaller in _smaller_rules(rule):
            yield _cleared(replace(program, rules=(*program.rules[:place], smaller, *program.rules[place + 1 :])))
    for name, _ in program.declared:
        yield replace(program, declared=tuple(one for one in program.declared if one[0] != name))
    for relation, arity in _arities(program):
        for column in range(arity if arity > 1 else 0):
            yield _without_column(program, relation, column)


def _without_relation(program: Program, name: str) -> Program:
    """Without its rules, without what reads it, and so on: rules that depend on each other go together."""
    rules = tuple(
        replace(rule, body=tuple(literal for literal in rule.body if name not in read_relations([literal])))
        for rule in program.rules
        if rule.relation != name
    )
    rest = replace(
        program,
        rules=tuple(rule for rule in rules if rule.body),
        facts=tuple(fact for fact in program.facts if fact[0] != name),
        queries=tuple(query for query in program.queries if query.relation != name),
    )
    defined = {*(rule.relation for rule in rest.rules), *(fact[0] for fact in rest.facts)}
    lost = {rule.relation for rule in rules} - defined
    return _without_relation(rest, min(lost)) if lost else _cleared(rest)


def _without_one(parts: Sequence[Part]) -> Iterator[tuple[Part, ...]]:
    for place in range(len(parts)):
        yield (*parts[:place], *parts[place + 1 :])


def _with_input(program: Program, place: int, given: Input) -> Program:
    return replace(program, inputs=(*program.inputs[:place], given, *program.inputs[place + 1 :]))


def _cleared(program: Program) -> Program:
    """Without inputs that no rule reads."""
    read = {name for rule in program.rules for name in read_relations(rule.body)}
    return replace(program, inputs=tuple(one for one in program.inputs if one.name in read))


def _smaller_rules(rule: Rule) -> Iterator[Rule]:
    for body in _without_one(rule.body):
        if body:
            yield replace(rule, body=body)
    for place, literal in enumerate(rule.body):
        for smaller in _smaller_literals(literal):
            yield replace(rule, body=(*rule.body[:place], *smaller, *rule.body[place + 1 :]))
    for place, term in enumerate(rule.head):
        for other in _smaller_head_terms(term):
            yield replace(rule, head=(*rule.head[:place], other, *rule.head[place + 1 :]))
    if rule.iterations is not None and rule.iterations > 1:
        yield replace(rule, iterations=rule.iterations - 1)


def _smaller_literals(literal: Literal) -> Iterator[tuple[Literal, ...]]:
    match literal:
        case Either(alternatives):
            yield from alternatives
        case Atom(_, terms):
            for place, term in enumerate(terms):
                if isinstance(term, Anything):
                    continue
                others: list[Term] = [Anything(), *_parts(term)]
                for other in others:
                    yield (replace(literal, terms=(*terms[:place], other, *terms[place + 1 :])),)
        case Comparison(_, left, right):
            for one in _parts(left):
                yield (replace(literal, left=one),)
            for one in _parts(right):
                yield (replace(literal, right=one),)
        case Test(call):
            for place, argument in enumerate(call.arguments):
                for one in _parts(argument):
                    changed = (*call.arguments[:place], one, *call.arguments[place + 1 :])
                    yield (replace(literal, call=Call(call.function, changed)),)
        case Procedure():
            return


def _smaller_head_terms(term: Expr | Aggregate) -> Iterator[Expr | Aggregate]:
    if not isinstance(term, Aggregate):
        yield from _parts(term)
        return
    for place, argument in enumerate(term.arguments):
        for one in _parts(argument):
            yield replace(term, arguments=(*term.arguments[:place], one, *term.arguments[place + 1 :]))


def _parts(expression: Expr) -> Iterator[Expr]:
    """Simpler expressions: a part of it, or the same with a simpler part."""
    match expression:
        case Const() | Var():
            return
        case Neg(operand):
            yield operand
            yield from map(Neg, _parts(operand))
        case Op(symbol, left, right):
            yield from (left, right)
            yield from (Op(symbol, one, right) for one in _parts(left))
            yield from (Op(symbol, left, one) for one in _parts(right))
        case If(condition, first, second):
            yield from (first, second)
            yield from (If(condition, one, second) for one in _parts(first))
            yield from (If(condition, first, one) for one in _parts(second))
            if isinstance(condition, Logic):
                yield from (If(one, first, second) for one in condition.parts)
        case Call(function, arguments):
            yield from arguments
            for place, argument in enumerate(arguments):
                for one in _parts(argument):
                    yield Call(function, (*arguments[:place], one, *arguments[place + 1 :]))


# --- columns --------------------------------------------------------------------------------------------------------


def _arities(program: Program) -> list[tuple[str, int]]:
    arities = {one.name: len(one.types) for one in program.inputs}
    arities.update({rule.relation: len(rule.head) for rule in program.rules})
    return sorted(arities.items())


def _without_column(program: Program, relation: str, column: int) -> Program:
    """The relation with one column less, wherever it stands."""

    def cut(parts: tuple[Part, ...], name: str) -> tuple[Part, ...]:
        return (*parts[:column], *parts[column + 1 :]) if name == relation else parts

    def in_literal(literal: Literal) -> Literal:
        match literal:
            case Atom(name, terms):
                return replace(literal, terms=cut(terms, name))
            case Either(alternatives):
                return Either(tuple(tuple(map(in_literal, one)) for one in alternatives))
            case _:
                return literal

    return replace(
        program,
        inputs=tuple(
            replace(one, types=cut(one.types, one.name), rows=tuple(cut(row, one.name) for row in one.rows))
            for one in program.inputs
        ),
        declared=tuple((name, cut(types, name)) for name, types in program.declared),
        facts=tuple((name, cut(row, name)) for name, row in program.facts),
        rules=tuple(
            replace(rule, head=cut(rule.head, rule.relation), body=tuple(map(in_literal, rule.body)))
            for rule in program.rules
        ),
        queries=tuple(replace(query, terms=cut(query.terms, query.relation)) for query in program.queries),
    )
