from __future__ import annotations

from emberlog.datatypes import FLOAT, INT
from emberlog.logical.nodes import (
    Aggregate,
    Distinct,
    Field,
    Filter,
    Join,
    Output,
    Project,
    Scan,
    Union,
    Values,
)
from emberlog.logical.properties import constant_columns, is_empty, is_set, is_unit, plan_can_fail
from emberlog.semantics.model import Compare
from emberlog.syntax.ast import Binary, BinaryOperator, ComparisonOperator, Constant, Variable

A, B = Field("A", INT), Field("B", INT)
Q = Scan("q", (A, B))


def equals(name: str, value: int | float) -> Compare:
    return Compare(ComparisonOperator.EQUAL, Variable(name), Constant(value))


def test_facts_are_a_set_and_stay_one_while_no_column_is_lost() -> None:
    swapped = Project(Q, (Output(Field("X", INT), Variable("B")), Output(Field("Y", INT), Variable("A"))))
    narrowed = Project(Q, (Output(A, Variable("A")),))
    assert is_set(Q) and is_set(swapped) and is_set(Filter(Q, ())) and is_set(Join(Q, Q, ("A", "B")))
    assert not is_set(narrowed) and is_set(Distinct(narrowed))
    assert not is_set(Union((Q, Q))) and is_set(Union((Q,)))
    assert is_set(Values((A,), ((1,), (2,)))) and not is_set(Values((A,), ((1,), (1,))))


def test_constants_come_from_equalities_bindings_and_single_rows() -> None:
    assert constant_columns(Filter(Q, (equals("A", 3),))) == {"A": Constant(3)}
    bound = Project(Values((), ((),)), (Output(A, Constant(4)),))
    assert constant_columns(Join(bound, Q, ("A",))) == {"A": Constant(4)}
    assert constant_columns(Values((A, B), ((1, None),))) == {"A": Constant(1)}
    assert constant_columns(Values((A,), ((1,), (2,)))) == {}
    assert constant_columns(Aggregate(Filter(Q, (equals("A", 3), equals("B", 1))), ("A",), ())) == {"A": Constant(3)}


def test_a_constant_of_another_type_is_not_the_value_of_the_column() -> None:
    floats = Scan("f", (Field("A", FLOAT),))
    assert constant_columns(Filter(floats, (equals("A", 3),))) == {}
    assert constant_columns(Filter(floats, (equals("A", 3.0),))) == {"A": Constant(3.0)}


def test_a_plan_can_fail_if_one_of_its_expressions_can() -> None:
    sum_of = Binary(BinaryOperator.ADD, Variable("A"), Variable("B"))
    quotient = Binary(BinaryOperator.DIVIDE, Variable("A"), Variable("B"))
    assert not plan_can_fail(Q)
    assert plan_can_fail(Distinct(Project(Q, (Output(A, sum_of),))))
    assert plan_can_fail(Filter(Q, (Compare(ComparisonOperator.LESS, quotient, Constant(1)),)))


def test_no_rows_and_the_one_empty_row() -> None:
    assert is_empty(Values((A,), ())) and not is_empty(Q)
    assert is_unit(Values((), ((),))) and not is_unit(Values((), ())) and not is_unit(Values((A,), ((1,),)))
