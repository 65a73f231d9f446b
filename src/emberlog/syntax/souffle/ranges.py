"""Says what `x = range(first, end, step)` is here: numbers of steps in a range of ours, which goes up by one.

Without a step a range goes towards its end by ones; one whose step is 0 has its first value only, unless it is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil

from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, ComparisonOperator, Constant, Expression


def translated_range(
    value: Expression, ends: Sequence[Expression], span: Span, *, of_floats: bool, new_name: Callable[[str], str]
) -> list[ast.BodyPart]:
    """Returns the parts of a body that give a value what a range has; `ends` are its two ends and its step, if it has
    one."""
    first, last, *steps = ends
    step = steps[0] if steps else None
    match first, last, step:
        case Constant(int() as low), Constant(int() as high), None | Constant(1) if low <= high or step is not None:
            return [_in_range(value, first, last, span)]
        case Constant(int() | float() as low), Constant(int() | float() as high), None | Constant(int() | float()):
            by = step.value if isinstance(step, Constant) else 1 if low <= high else -1
            assert isinstance(by, int | float)
            count: Expression = Constant(_steps(low, high, by), span)
            step = Constant(by, span)
        case _, _, None:
            step = ast.Call("sign", (_minus(last, first),), span)
            count = ast.Call("abs", (_minus(last, first),), span)
        case _:
            assert step is not None
            count = _counted(first, last, step, of_floats=of_floats)
    number = ast.Variable(new_name("step"), span)
    reached = ast.Binary(BinaryOperator.ADD, first, ast.Binary(BinaryOperator.MULTIPLY, number, step, span), span)
    return [
        _in_range(number, Constant(0, span), count, span),
        ast.Comparison(ComparisonOperator.EQUAL, value, reached, span),
    ]


def _in_range(value: Expression, first: Expression, last: Expression, span: Span) -> ast.Atom:
    return ast.Atom("range!", (value, first, last), False, span, span)


def _steps(low: float, high: float, by: float) -> int:
    if by == 0:
        return int(low != high)
    return max(0, ceil(Fraction(high - low) / Fraction(by)))


def _counted(first: Expression, last: Expression, step: Expression, *, of_floats: bool) -> Expression:
    """Returns how many values there are: the distance by the step, rounded up."""
    span, zero = step.span, Constant(0, step.span)
    distance = _minus(last, first)
    if of_floats:
        count: Expression = ast.Binary(BinaryOperator.DIVIDE, distance, step, span)
    else:
        rounded = ast.Binary(BinaryOperator.ADD, distance, _minus(step, ast.Call("sign", (step,), span)), span)
        count = ast.Binary(BinaryOperator.INTEGER_DIVIDE, rounded, step, span)
    if isinstance(step, Constant) and step.value != 0:
        return count
    stays = ast.Call("abs", (ast.Call("sign", (distance,), span),), span)
    return ast.Call("if", (ast.Call("=", (step, zero), span), stays, count), span)


def _minus(left: Expression, right: Expression) -> Expression:
    return ast.Binary(BinaryOperator.SUBTRACT, left, right, left.span)
