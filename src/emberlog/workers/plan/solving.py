"""Solves an equation for the variable that an atom still has to bind, so that the atom can be looked up by it.

A chain may begin with any atom of the recursion. In `p(X), Y = X - 1, q(Y)` one that begins with q knows Y, and finds X
as Y + 1 instead of trying every fact of p. That is the same: an X whose difference is Y is Y + 1 exactly, and where
Y + 1 is no int there is no such X.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from emberlog.datatypes import INT, INT_MAX, INT_MIN, DataType
from emberlog.logical.expressions import columns_of
from emberlog.logical.nodes import Condition
from emberlog.semantics.model import Compare
from emberlog.semantics.totality import TRY
from emberlog.syntax.ast import Binary, BinaryOperator, Call, ComparisonOperator, Constant, Expression, Variable
from emberlog.workers.plan.rules import Assign, Keep, Step


def solved(condition: Condition, bound: Set[str], types: Mapping[str, DataType]) -> tuple[str, tuple[Step, ...]] | None:
    """The one unknown of an equation, and the steps that bind it: conditions without which it has no value, and its
    value."""
    if not isinstance(condition, Compare) or condition.operator is not ComparisonOperator.EQUAL:
        return None
    for known, other in ((condition.left, condition.right), (condition.right, condition.left)):
        unknown = next(iter(columns_of(other)), "")
        if not isinstance(known, Variable) or known.name not in bound or unknown in bound:
            continue
        if types[known.name] == types.get(unknown) == INT and (steps := _steps(other, known)) is not None:
            return unknown, steps
    return None


def _steps(other: Expression, known: Expression) -> tuple[Step, ...] | None:
    """The steps that make the variable of the expression such that the expression is what is known."""
    match other:
        case Variable(name):
            return (Assign(name, known),)
        case Call(function, (inner,)) if function == TRY:
            return _steps(inner, known)  # where it has no value, nothing is equal to it
        case Binary(BinaryOperator.ADD, inner, Constant(value)) | Binary(BinaryOperator.ADD, Constant(value), inner):
            operator = BinaryOperator.SUBTRACT
        case Binary(BinaryOperator.SUBTRACT, inner, Constant(value)):
            operator = BinaryOperator.ADD
        case _:
            return None
    if type(value) is not int:
        return None
    has_value = _has_value(known, value if operator is BinaryOperator.ADD else -value)
    steps = _steps(inner, Binary(operator, known, Constant(value)))
    return None if steps is None else (Keep(has_value), *steps)


def _has_value(known: Expression, added: int) -> Compare:
    """Whether the sum of both is an int."""
    if added > 0:
        return Compare(ComparisonOperator.LESS_OR_EQUAL, known, Constant(INT_MAX - added))
    return Compare(ComparisonOperator.GREATER_OR_EQUAL, known, Constant(INT_MIN - added))
