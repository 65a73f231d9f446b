"""Each invariant, broken by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from emberlog.datatypes import FLOAT, INT, STRING
from emberlog.diagnostics import InternalError
from emberlog.logical.build import build
from emberlog.logical.invariants import check_invariants
from emberlog.logical.nodes import (
    Aggregate,
    AggregateColumn,
    AntiJoin,
    Definition,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    Join,
    LogicalPlan,
    Output,
    Plan,
    PlannedStratum,
    Project,
    Scan,
    Union,
    Values,
    Version,
)
from emberlog.optimize.pipeline import optimize
from emberlog.semantics.model import CheckedQuery, Compare
from emberlog.syntax.ast import ComparisonOperator, Constant, Variable
from tests.programs import checked

A, B = Field("A", INT), Field("B", INT)
Q = Scan("q", (A, B))
INPUTS = {"q": (A, B)}


def plan_with(plan: Plan) -> LogicalPlan:
    return LogicalPlan(INPUTS, (PlannedStratum(1, Definition("p", plan)),), ("p",), ())


def above(name: str) -> Compare:
    return Compare(ComparisonOperator.GREATER, Variable(name), Constant(1))


def keep(*fields: Field) -> tuple[Output, ...]:
    return tuple(Output(field, Variable(field.name)) for field in fields)


def message_of(plan: LogicalPlan) -> str:
    with pytest.raises(InternalError) as caught:
        check_invariants(plan, "a_pass")
    text = str(caught.value)
    assert text.startswith("DL901: after a_pass: ")
    return text.removeprefix("DL901: after a_pass: ")


@pytest.mark.parametrize(
    "plan",
    [
        Q,
        Filter(Q, (above("A"),)),
        Join(Q, Scan("q", (B, Field("C", INT))), ("B",)),
        AntiJoin(Q, Project(Q, keep(A)), ("A",)),
        Union((Q, Values((A, B), ((1, 2),)))),
        Distinct(Q),
        Aggregate(Q, ("A",), (AggregateColumn(Field("N", INT), "min", ("B",)),)),
        Values((), ((),)),
    ],
)
def test_a_well_formed_plan_passes(plan: Plan) -> None:
    check_invariants(plan_with(plan), "a_pass")


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (Filter(Q, (above("C"),)), "there is no column C below in Filter("),
        (Project(Q, keep(Field("C", INT))), "there is no column C below in Project("),
        (Project(Q, keep(A, A)), "the column A occurs twice in Project("),
        (Join(Q, Q, ("A",)), "the column B occurs twice in Join("),
        (Join(Q, Q, ("A", "B", "C")), "there is no column C below in Join("),
        (AntiJoin(Q, Project(Q, keep(A)), ("B",)), "there is no column B below in AntiJoin("),
        (
            AntiJoin(Q, Values((Field("A", STRING),), ()), ("A",)),
            "the column A is of types int and string in AntiJoin(",
        ),
        (Union((Q, Project(Q, keep(B, A)))), "the columns (B: int, A: int) are not (A: int, B: int) in Union("),
        (
            Union((Q, Values((A, Field("B", FLOAT)), ()))),
            "the columns (A: int, B: float) are not (A: int, B: int) in Union(",
        ),
        (Scan("q", (A,)), "q has 2 columns in Scan("),
        (Scan("q", (A, Field("B", STRING))), "the column B of q is of type int in Scan("),
        (Scan("r", (A, B)), "r is read before it is computed in Scan("),
        (Scan("p", (A, B)), "p is read before it is computed in Scan("),
        (Values((A, B), ((1,),)), "a row has not the width of its columns in Values("),
        (Scan("q", (A, B), Version.DELTA), "q has no delta version here in Scan("),
        (Aggregate(Q, ("C",), ()), "there is no column C below in Aggregate("),
        (
            Aggregate(Q, ("A",), (AggregateColumn(Field("N", INT), "argmin", ("B",)),)),
            "argmin has not 1 arguments in Aggregate(",
        ),
    ],
)
def test_a_broken_plan_is_named(plan: Plan, expected: str) -> None:
    assert message_of(plan_with(plan)).startswith(expected)


def test_a_relation_is_defined_once() -> None:
    stratum = PlannedStratum(1, Definition("p", Q))
    assert message_of(LogicalPlan(INPUTS, (stratum, stratum), (), ())).startswith("the relation p is defined twice")


def test_outputs_and_queries_exist() -> None:
    stratum = PlannedStratum(1, Definition("p", Q))
    assert message_of(LogicalPlan(INPUTS, (stratum,), ("z",), ())) == "the output z is not computed"
    query = CheckedQuery("q", (Variable("X"), Variable("Y")))
    assert message_of(LogicalPlan(INPUTS, (stratum,), ("p",), (query,))) == "the queried relation q is not an output"


RECURSIVE = optimize(
    build(checked("declare q(int a, int b). t(X, Y) :- q(X, Y). t(X, Y) :- t(X, Z), t(Z, Y).", params={}))
).plan


def with_fixpoint(change: Callable[[Fixpoint], Fixpoint]) -> LogicalPlan:
    (stratum,) = RECURSIVE.strata
    assert isinstance(stratum.root, Fixpoint)
    return replace(RECURSIVE, strata=(replace(stratum, root=change(stratum.root)),))


def test_a_delta_plan_reads_exactly_one_delta() -> None:
    def without_delta(root: Fixpoint) -> Fixpoint:
        (relation,) = root.relations
        (rule,) = relation.rules
        broken = replace(relation, rules=(replace(rule, deltas=(rule.plan,)),))
        return replace(root, relations=(broken,))

    assert message_of(with_fixpoint(without_delta)).startswith("a delta plan reads exactly one delta")


def test_a_full_plan_reads_no_delta() -> None:
    def with_delta(root: Fixpoint) -> Fixpoint:
        (relation,) = root.relations
        (rule,) = relation.rules
        broken = replace(relation, rules=(replace(rule, plan=rule.deltas[0]),))
        return replace(root, relations=(broken,))

    assert message_of(with_fixpoint(with_delta)).startswith("t has no delta version here")


def test_a_seed_does_not_read_its_own_stratum() -> None:
    def recursive_seed(root: Fixpoint) -> Fixpoint:
        (relation,) = root.relations
        (rule,) = relation.rules
        return replace(root, relations=(replace(relation, seed=rule.plan),))

    assert message_of(with_fixpoint(recursive_seed)).startswith("the seed of t reads its own stratum")


def test_contributions_have_the_columns_of_keys_and_arguments() -> None:
    def other_columns(root: Fixpoint) -> Fixpoint:
        (relation,) = root.relations
        return replace(root, relations=(replace(relation, seed=Q, rules=()),))

    assert message_of(with_fixpoint(other_columns)).startswith("contributions to t must have the columns X, Y")
