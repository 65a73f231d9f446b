"""Orders the literals of a body, so that a search makes each test early and reads few facts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from emberlog.datatypes import INT
from emberlog.live.searches.facts import Facts
from emberlog.logical.expressions import condition_columns
from emberlog.semantics.model import Absent, Bind, Compare, CoreRule, Holds, Literal, Match
from emberlog.semantics.totality import TRY, literal_can_fail
from emberlog.syntax.ast import Binary, BinaryOperator, Call, Constant, Expression, Variable, variables_of

_SMALL = 1024

Guess: TypeAlias = tuple[str, Expression]
"""A variable, and the value that it must have: `X` from `Y = X + 1`."""


def split_by_risk(rule: CoreRule) -> tuple[list[int], list[int]]:
    """Returns the places of the literals that cannot fail, and of those that are weighed when all others hold."""
    plain, risky, failing = [], [], set[str]()
    for place, one in enumerate(rule.body):
        reads_failing = not isinstance(one, Match | Absent) and bool(_read_by(one) & failing)
        if literal_can_fail(one, rule.types) or reads_failing:
            risky.append(place)
            if isinstance(one, Bind):
                failing.add(one.variable.name)
        else:
            plain.append(place)
    return plain, risky


def reads_failing(rule: CoreRule) -> bool:
    """Tells whether an atom reads a value that there may not be."""
    _, risky = split_by_risk(rule)
    failing = {one.variable.name for place in risky if isinstance(one := rule.body[place], Bind)}
    return any(
        isinstance(term, Variable) and term.name in failing
        for one in rule.body
        if isinstance(one, Absent | Match)
        for term in one.terms
    )


def bound_by(literal: Literal) -> set[str]:
    """Returns the variables that a literal gives a value."""
    match literal:
        case Match(_, terms):
            return {term.name for term in terms if isinstance(term, Variable)}
        case Bind(variable):
            return {variable.name}
        case _:
            return set()


def bound_somewhere(rule: CoreRule) -> set[str]:
    """Returns the variables that something in the body gives a value."""
    return set().union(*map(bound_by, rule.body))


def next_step(rule: CoreRule, pending: Sequence[int], bound: set[str], facts: Mapping[str, Facts]) -> int | Guess:
    """Chooses the place of the next literal: a test as soon as it can be made, else the atom of which most is known.
    Or guesses a variable."""
    atoms: list[tuple[float, int]] = []
    for place in pending:
        match rule.body[place]:
            case Match(relation, terms):
                known = sum(isinstance(term, Constant) or term.name in bound for term in terms)
                if known == len(terms):
                    return place
                atoms.append((_expected(len(facts[relation]), known, len(terms)), place))
            case Absent() as one:
                if _read_by(one) & bound_somewhere(rule) <= bound:
                    return place
            case one:
                if _read_by(one) <= bound:
                    return place
    for place in pending:
        if isinstance(one := rule.body[place], Bind) and one.variable.name in bound:
            guessed = _solved_bind(one, bound, rule)
            if guessed is not None:
                return guessed
    return min(atoms)[1] if atoms else pending[0]


def _expected(size: int, known: int, width: int) -> float:
    """Estimates how many facts agree: each known column leaves a root of them. A search is compiled once, often when
    there are few facts or none, so what is small is taken to grow."""
    return float(math.pow(max(size, _SMALL), 1 - known / width))


def _read_by(literal: Literal) -> set[str]:
    """Returns the variables that a literal needs values of."""
    match literal:
        case Match():
            return set()
        case Absent(_, terms):
            return {term.name for term in terms if isinstance(term, Variable)}
        case Bind(_, expression):
            return {one.name for one in variables_of(expression)}
        case Compare() | Holds():
            return set(condition_columns(literal))


def _solved_bind(bind: Bind, bound: set[str], rule: CoreRule) -> Guess | None:
    """Returns the variable that a bound sum or difference of ints tells, and its value."""
    expression = bind.expression
    if isinstance(expression, Call) and expression.function == TRY:
        expression = expression.arguments[0]
    return solved(bind.variable, expression, bound, rule)


def solved(total: Variable, expression: Expression, bound: set[str], rule: CoreRule) -> Guess | None:
    match expression:
        case Binary((BinaryOperator.ADD | BinaryOperator.SUBTRACT) as symbol, Variable(name) as one, other):
            is_known = isinstance(other, Constant) or (isinstance(other, Variable) and other.name in bound)
            if name in bound or not is_known or rule.types.get(name) != INT:
                return None
            if isinstance(other, Variable) and rule.types.get(other.name) != INT:
                return None
            opposite = BinaryOperator.SUBTRACT if symbol is BinaryOperator.ADD else BinaryOperator.ADD
            return one.name, Binary(opposite, total, other, expression.span)
    return None
