"""The order in which bindings pass sideways through a body: literals that can be looked up with what is bound first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

from emberlog.deadline import check_time
from emberlog.logical.traverse import PLANNING
from emberlog.semantics.model import Absent, Bind, Compare, Holds, Literal, Match
from emberlog.syntax.ast import ComparisonOperator, Variable, variables_of


def bound_by(literal: Literal) -> set[str]:
    """Returns the variables that have a value behind the literal."""
    match literal:
        case Match(_, terms):
            return {term.name for term in terms if isinstance(term, Variable)}
        case Bind(variable):
            return {variable.name}
        case _:
            return set()


def information_order(
    body: tuple[Literal, ...],
    bound: Set[str],
    prefers: Callable[[Match], bool],
    may_fail: Callable[[Literal], bool],
) -> Iterator[Literal]:
    """Yields the body in an order that can be evaluated when `bound` has values before it.

    Atoms with a bound argument come first, and among them, or where nothing is bound yet, those that `prefers` names;
    then the order of the body.
    What may fail stays behind everything that stands before it, which may keep it from failing.
    """
    check_time(PLANNING)
    known = set(bound)
    can_be_bound = known.union(*map(bound_by, body))
    pending = list(body)
    while pending:
        literal = _next(pending, known, can_be_bound, prefers, may_fail)
        pending.remove(literal)
        if isinstance(literal, Bind) and literal.variable.name in known:
            literal = Compare(ComparisonOperator.EQUAL, literal.variable, literal.expression, literal.span)
        known |= bound_by(literal)
        yield literal


def _next(
    pending: list[Literal],
    known: set[str],
    can_be_bound: set[str],
    prefers: Callable[[Match], bool],
    may_fail: Callable[[Literal], bool],
) -> Literal:
    for place, literal in enumerate(pending):
        if isinstance(literal, Match) or (place > 0 and may_fail(literal)):
            continue
        if needed_by(literal) & can_be_bound <= known:
            return literal
    atoms = [literal for literal in pending if isinstance(literal, Match)]

    def rank(atom: Match) -> tuple[bool, bool]:
        touches = _touches(atom, known)
        return touches, (touches or not known) and prefers(atom)

    return max(atoms, key=rank)


def _touches(atom: Match, known: set[str]) -> bool:
    return any(not isinstance(term, Variable) or term.name in known for term in atom.terms)


def needed_by(literal: Literal) -> set[str]:
    """Returns the variables of a literal but those that it computes."""
    match literal:
        case Match(_, terms) | Absent(_, terms):
            return {term.name for term in terms if isinstance(term, Variable)}
        case Bind(_, expression):
            return {variable.name for variable in variables_of(expression)}
        case Compare(_, left, right):
            return {variable.name for side in (left, right) for variable in variables_of(side)}
        case Holds(test):
            return {variable.name for variable in variables_of(test)}
