"""What the analysis never produces, but other passes may: conditions high above the joins that protect them."""

from __future__ import annotations

from emberlog.datatypes import FLOAT, INT
from emberlog.logical.nodes import (
    AntiJoin,
    Condition,
    Definition,
    Distinct,
    Field,
    Filter,
    Join,
    LogicalPlan,
    Output,
    Plan,
    PlannedStratum,
    Project,
    Scan,
    Union,
    Values,
)
from emberlog.optimize.context import PassContext
from emberlog.optimize.push_down_filter import push_down_filter
from emberlog.semantics.model import Compare
from emberlog.syntax.ast import Binary, BinaryOperator, ComparisonOperator, Constant, Expression, Variable

X, Y, Z = Field("X", INT), Field("Y", INT), Field("Z", INT)
Q, R = Scan("q", (X, Y)), Scan("r", (Y, Z))
JOIN = Join(Q, R, ("Y",))


def above(left: Expression, value: int) -> Compare:
    return Compare(ComparisonOperator.GREATER, left, Constant(value))


def quotient(name: str) -> Expression:
    return Binary(BinaryOperator.DIVIDE, Constant(10), Variable(name))


def pushed(plan: Plan) -> Plan:
    logical = LogicalPlan({"q": Q.columns, "r": R.columns}, (PlannedStratum(1, Definition("p", plan)),), ("p",), ())
    after = push_down_filter(logical, PassContext())
    assert isinstance(after.strata[0].root, Definition)
    return after.strata[0].root.plan


def filtered(plan: Plan, *conditions: Condition) -> Plan:
    return Filter(plan, conditions)


def test_a_condition_that_can_fail_stays_above_the_join_that_protects_it() -> None:
    plan = filtered(JOIN, above(quotient("X"), 2))
    assert pushed(plan) is plan


def test_a_condition_that_can_overflow_stays_too_but_lets_others_pass() -> None:
    overflowing = above(Binary(BinaryOperator.ADD, Variable("X"), Constant(1)), 2)
    plan = filtered(JOIN, overflowing, above(Variable("X"), 1))
    assert pushed(plan) == filtered(Join(filtered(Q, above(Variable("X"), 1)), R, ("Y",)), overflowing)


def test_what_stands_beside_a_condition_that_can_fail_moves() -> None:
    plan = filtered(JOIN, above(Variable("Z"), 0), above(quotient("X"), 2), above(Variable("X"), 1))
    sides = filtered(Q, above(Variable("X"), 1)), filtered(R, above(Variable("Z"), 0))
    assert pushed(plan) == filtered(Join(*sides, ("Y",)), above(quotient("X"), 2))


def test_what_comes_from_above_does_not_hide_the_fault_of_a_condition() -> None:
    plan = filtered(filtered(JOIN, above(quotient("X"), 2)), above(Variable("X"), 1))
    assert pushed(plan) is plan


def test_nothing_moves_below_a_projection_that_can_fault() -> None:
    plan = filtered(Project(Q, (Output(X, Variable("X")), Output(Z, quotient("Y")))), above(Variable("X"), 1))
    assert pushed(plan) is plan


def test_a_condition_does_not_move_below_a_projection_that_can_overflow() -> None:
    outputs = (Output(Y, Variable("X")), Output(Z, Binary(BinaryOperator.ADD, Variable("X"), Variable("Y"))))
    plan = filtered(Project(Q, outputs), above(Variable("Y"), 1), above(Variable("Z"), 1))
    assert pushed(plan) is plan


def test_a_known_value_goes_to_the_other_side_whichever_it_is() -> None:
    four = Compare(ComparisonOperator.EQUAL, Variable("Y"), Constant(4))
    assert pushed(Join(Q, filtered(R, four), ("Y",))) == Join(filtered(Q, four), filtered(R, four), ("Y",))
    row = Project(Values((), ((),)), (Output(Y, Constant(4)),))
    assert pushed(Join(row, R, ("Y",))) == Join(row, filtered(R, four), ("Y",))


def test_a_value_of_another_type_does_not_go_to_the_other_side() -> None:
    four = Compare(ComparisonOperator.EQUAL, Variable("Y"), Constant(4))
    floats = Scan("f", (Field("Y", FLOAT),))
    plan = Join(filtered(Q, four), floats, ("Y",))
    assert pushed(plan) is plan


def test_a_condition_goes_into_every_input_of_a_union_and_below_distinct() -> None:
    condition = above(Variable("X"), 1)
    plan = filtered(Distinct(Union((Q, Values((X, Y), ((1, 2),))))), condition)
    assert pushed(plan) == Distinct(Union((filtered(Q, condition), filtered(Values((X, Y), ((1, 2),)), condition))))


def test_below_an_anti_join_only_the_left_side_gets_what_is_not_compared() -> None:
    condition, compared = above(Variable("X"), 1), above(Variable("Y"), 1)
    right = Project(R, (Output(Y, Variable("Y")),))
    plan = filtered(AntiJoin(Q, right, ("Y",)), condition, compared)
    assert pushed(plan) == AntiJoin(
        filtered(Q, condition, compared), Project(filtered(R, compared), right.outputs), ("Y",)
    )
