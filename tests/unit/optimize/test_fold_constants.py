from __future__ import annotations

import pytest

from emberlog.datatypes import FLOAT, INT
from emberlog.logical.nodes import (
    Condition,
    Definition,
    Field,
    Filter,
    LogicalPlan,
    Output,
    Plan,
    PlannedStratum,
    Project,
    Scan,
    Values,
)
from emberlog.optimize.context import PassContext
from emberlog.optimize.fold_constants import fold, fold_constants
from emberlog.semantics.model import Compare, Holds
from emberlog.syntax.ast import Binary, BinaryOperator, Call, ComparisonOperator, Constant, Unary, Variable

X, Y = Field("X", INT), Field("Y", FLOAT)
Q = Scan("q", (X,))
QUOTIENT = Binary(BinaryOperator.DIVIDE, Constant(10), Variable("X"))
DIVIDED = Project(Q, (Output(X, Variable("X")), Output(Y, QUOTIENT)))


def folded(plan: Plan) -> Plan:
    logical = LogicalPlan({"q": Q.columns}, (PlannedStratum(1, Definition("p", plan)),), ("p",), ())
    root = fold_constants(logical, PassContext()).strata[0].root
    assert isinstance(root, Definition)
    return root.plan


def equals(name: str, value: int | float) -> Compare:
    return Compare(ComparisonOperator.EQUAL, Variable(name), Constant(value))


NEVER = Compare(ComparisonOperator.GREATER, Constant(1), Constant(2))


def test_a_false_condition_empties_the_plan() -> None:
    assert folded(Filter(Q, (equals("X", 1), NEVER))) == Values((X,), ())
    assert folded(Filter(Filter(Q, (equals("X", 1),)), (equals("X", 2),))) == Values((X,), ())


def test_a_fault_below_the_false_condition_keeps_the_plan() -> None:
    plan = Filter(DIVIDED, (NEVER,))
    assert folded(plan) is plan


@pytest.mark.parametrize("is_first", [True, False])
def test_a_fault_beside_the_false_condition_is_never_met(is_first: bool) -> None:
    conditions = (NEVER, Compare(ComparisonOperator.LESS, QUOTIENT, Constant(1)))
    assert folded(Filter(Q, conditions if is_first else conditions[::-1])) == Values((X,), ())


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Compare(ComparisonOperator.EQUAL, Constant(1), Constant(1.0)), True),
        (Compare(ComparisonOperator.LESS, Constant("a"), Constant("b")), True),
        (Compare(ComparisonOperator.NOT_EQUAL, Constant(True), Constant(True)), False),
        (Compare(ComparisonOperator.GREATER_OR_EQUAL, Constant(2), Constant(2)), True),
        (Compare(ComparisonOperator.LESS_OR_EQUAL, Constant(3), Constant(2.5)), False),
        (Holds(Constant(True)), True),
        (Holds(Constant(True), negated=True), False),
    ],
)
def test_conditions_on_constants(condition: Condition, holds: bool) -> None:
    assert folded(Filter(Q, (condition,))) == (Q if holds else Values((X,), ()))


def test_values_of_different_kinds_are_never_equal_and_have_no_order() -> None:
    for value in ("1", True):
        equal = Filter(Q, (Compare(ComparisonOperator.EQUAL, Constant(1), Constant(value)),))
        assert folded(equal) == Values((X,), ())
        ordered = Filter(Q, (Compare(ComparisonOperator.LESS, Constant(1), Constant(value)),))
        assert folded(ordered) is ordered


def binary(operator: BinaryOperator, left: int | float, right: int | float) -> Binary:
    return Binary(operator, Constant(left), Constant(right))


def test_arithmetic_keeps_its_types() -> None:
    assert fold(binary(BinaryOperator.ADD, 1, 2)) == Constant(3)
    assert fold(binary(BinaryOperator.ADD, 1, 2.0)) == Constant(3.0)
    assert fold(binary(BinaryOperator.DIVIDE, 4, 2)) == Constant(2.0)
    assert fold(Unary(Constant(4))) == Constant(-4)
    assert fold(Call("float", (Constant(4),))) == Constant(4.0)


@pytest.mark.parametrize(
    "expression",
    [
        binary(BinaryOperator.DIVIDE, 1, 0),
        binary(BinaryOperator.INTEGER_DIVIDE, 1, 0),
        binary(BinaryOperator.ADD, 2**63 - 1, 1),
        binary(BinaryOperator.MULTIPLY, 1e308, 10.0),
        Unary(Constant(-(2**63))),
    ],
)
def test_errors_are_left_for_the_run_time(expression: Binary | Unary) -> None:
    assert fold(expression) is expression
