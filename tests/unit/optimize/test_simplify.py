"""What the analysis never produces, but other passes may."""

from __future__ import annotations

from emberlog.datatypes import FLOAT, INT
from emberlog.logical.build import build
from emberlog.logical.nodes import (
    AntiJoin,
    Definition,
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
from emberlog.optimize.pipeline import optimize
from emberlog.optimize.simplify import simplify
from emberlog.syntax.ast import Binary, BinaryOperator, Constant, Variable
from tests.programs import checked

X, Y, Z = Field("X", INT), Field("Y", INT), Field("Z", FLOAT)
Q = Scan("q", (X, Y))
DIVIDED = Project(Q, (Output(X, Variable("X")), Output(Z, Binary(BinaryOperator.DIVIDE, Constant(1), Variable("Y")))))
EMPTY = Values((X,), ())


def simplified(plan: Plan) -> Plan:
    logical = LogicalPlan({"q": Q.columns}, (PlannedStratum(1, Definition("p", plan)),), ("p",), ())
    root = simplify(logical, PassContext()).strata[0].root
    assert isinstance(root, Definition)
    return root.plan


def test_an_empty_side_empties_a_join() -> None:
    assert simplified(Join(Q, EMPTY, ("X",))) == Values((X, Y), ())
    assert simplified(AntiJoin(EMPTY, Q, ("X",))) == EMPTY
    assert simplified(AntiJoin(Q, EMPTY, ("X",))) == Q


def test_an_empty_side_does_not_hide_a_fault_of_the_other() -> None:
    plan = Join(DIVIDED, EMPTY, ("X",))
    assert simplified(plan) is plan


def test_a_column_that_can_fault_is_not_dropped_by_merging_projections() -> None:
    plan = Project(DIVIDED, (Output(X, Variable("X")),))
    assert simplified(plan) is plan


def test_a_projection_of_a_rule_is_kept_with_its_name() -> None:
    named = Project(Q, (Output(X, Variable("X")), Output(Y, Variable("Y"))), "r1")
    assert simplified(named) is named
    assert simplified(Project(named, named.outputs)) == named
    two = Project(named, named.outputs, "r2")
    assert simplified(two) is two


def test_unions_of_unions_and_of_nothing() -> None:
    assert simplified(Union((Union((Q, Q)), Values((X, Y), ()), Q))) == Union((Q, Q, Q))
    assert simplified(Union((Values((X, Y), ()), Values((X, Y), ())))) == Values((X, Y), ())
    assert simplified(Filter(Union((Q,)), ())) == Q


def test_a_filter_that_can_fail_stays_above_one_that_cannot() -> None:
    """`push_down_filter` puts it there. The two passes would go on undoing each other's work otherwise."""
    text = "declare size(x: int, y: float). p(X) :- size(X, Y), (X + X) mod 5 = X, Y = 0.0. p(X)?"
    program = checked(text, params={})
    once = optimize(build(program)).plan
    assert [change.name for change in optimize(once).changes if change.changed] == []
