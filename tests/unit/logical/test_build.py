"""Plans as built, before any pass. Whether they mean the right thing is for the property tests."""

from __future__ import annotations

from textwrap import dedent

import pytest

from emberlog.config import Limits
from emberlog.diagnostics import EmberlogError
from emberlog.engines.interpreter.interpreter import run
from emberlog.logical.build import LONGEST_BODY, build
from emberlog.logical.invariants import check_invariants
from emberlog.logical.nodes import Definition, Fixpoint, LogicalPlan, Values
from emberlog.optimize.pipeline import optimize
from emberlog.render.plan_text import plan_text
from emberlog.semantics.model import RecursionCase
from tests.oracle.evaluate import evaluate
from tests.programs import checked


def built(text: str) -> LogicalPlan:
    plan = build(checked(text, params={}))
    check_invariants(plan, "build")
    return plan


def definition(plan: LogicalPlan, relation: str) -> str:
    """The plan text of a relation that is not recursive."""
    for stratum in plan.strata:
        if isinstance(stratum.root, Definition) and stratum.root.relation == relation:
            return plan_text(stratum.root.plan)
    raise LookupError(relation)


def fixpoint(plan: LogicalPlan) -> Fixpoint:
    (found,) = [stratum.root for stratum in plan.strata if isinstance(stratum.root, Fixpoint)]
    return found


def assert_plan(text: str, expected: str) -> None:
    assert definition(built(text), "p") == dedent(expected).strip("\n")


def test_atoms_are_joined_from_left_to_right_on_the_variables_they_share() -> None:
    assert_plan(
        "declare q(int a, int b). p(X, W) :- q(X, Y), q(Y, Z), q(Z, W).",
        """
        Distinct
        └ Project X, W  [r1]
          └ Join on Z
            ├ Join on Y
            │ ├ Scan q(X, Y)
            │ └ Scan q(Y, Z)
            └ Scan q(Z, W)
        """,
    )


def test_constants_and_repeated_variables_become_filters_with_names_of_their_own() -> None:
    assert_plan(
        'declare q(int a, int b, string c). p(X) :- q(X, X, "a"), q(1, X, _).',
        """
        Distinct
        └ Project X  [r1]
          └ Join on X
            ├ Filter q.2 = X, q.3 = "a"
            │ └ Scan q(X, q.2, q.3)
            └ Filter q.1 = 1
              └ Scan q(q.1, X, _1)
        """,
    )


def test_the_same_place_in_two_atoms_of_a_body_gets_two_names() -> None:
    assert_plan(
        "declare q(int a, int b). p(X, Y) :- q(X, 1), q(Y, 1).",
        """
        Distinct
        └ Project X, Y  [r1]
          └ Join every pair
            ├ Filter q.2 = 1
            │ └ Scan q(X, q.2)
            └ Filter q.2.2 = 1
              └ Scan q(Y, q.2.2)
        """,
    )


def test_a_binding_adds_a_column_and_a_test_filters() -> None:
    assert_plan(
        "declare q(int a, string s). p(Y) :- q(X, S), Y = X + 1, Y > 3, contains(S, 'a').",
        """
        Distinct
        └ Project Y  [r1]
          └ Project X, S, Y = X + 1
            └ Filter X + 1 > 3
              └ Filter contains(S, "a")
                └ Scan q(X, S)
        """,
    )


def test_a_negated_atom_is_an_anti_join_on_the_bound_columns() -> None:
    assert_plan(
        "declare q(int a, int b). p(X) :- q(X, Y), !q(Y, _), !q(3, X).",
        """
        Distinct
        └ Project X  [r1]
          └ AntiJoin on X
            ├ AntiJoin on Y
            │ ├ Scan q(X, Y)
            │ └ Distinct
            │   └ Project Y
            │     └ Scan q(Y, _1)
            └ Distinct
              └ Project X
                └ Filter q.1 = 3
                  └ Scan q(q.1, X)
        """,
    )


def test_a_negated_atom_without_bound_columns_asks_for_any_row() -> None:
    assert_plan(
        "declare q(int a, int b). p(1) :- !q(_, _).",
        """
        Distinct
        └ Project c1 = 1  [r1]
          └ AntiJoin unless any row
            ├ Values one empty row
            └ Distinct
              └ Project no columns
                └ Scan q(_1, _2)
        """,
    )


def test_several_rules_and_facts_are_one_union() -> None:
    assert_plan(
        "declare q(int a). p(7). p(7). p(8). p(X) :- q(X). p(X) :- q(Y), X = Y + 1.",
        """
        Distinct
        └ Union
          ├ Values X: (7), (8)
          ├ Project X  [r1]
          │ └ Scan q(X)
          └ Project X  [r2]
            └ Project Y, X = Y + 1
              └ Scan q(Y)
        """,
    )


def test_an_aggregate_has_no_distinct_below_and_its_columns_in_order_above() -> None:
    assert_plan(
        "declare q(int a, int b). p(min<Y>, X, count<_>) :- q(X, Y).",
        """
        Project Y, X, count
        └ Aggregate by X: Y = min<Y>, count = count<_>
          └ Project X, Y  [r1]
            └ Scan q(X, Y)
        """,
    )


def test_facts_and_plain_values_of_an_aggregated_relation_are_contributions() -> None:
    assert_plan(
        "declare q(int a, int b). p(1, 5). p(X, min<Y>) :- q(X, Y). p(X, 0) :- q(_, X).",
        """
        Aggregate by X: Y = min<Y>
        └ Union
          ├ Values X, Y: (1, 5)
          ├ Project X, Y  [r1]
          │ └ Scan q(X, Y)
          └ Project X, Y = 0  [r2]
            └ Scan q(_1, X)
        """,
    )


def test_facts_alone_are_values_and_a_set() -> None:
    plan = built('p("b"). p("a"). p("b"). q(X) :- p(X).')
    assert definition(plan, "p") == 'Values c1: ("b"), ("a")'


def test_an_int_fact_of_a_float_column_is_a_float() -> None:
    (stratum, *_) = built("declare p(float a). p(1). q(X) :- p(X).").strata
    assert isinstance(stratum.root, Definition) and isinstance(stratum.root.plan, Values)
    ((value,),) = stratum.root.plan.rows
    assert isinstance(value, float)


def test_a_recursive_stratum_has_a_seed_and_recursive_rules() -> None:
    (relation,) = fixpoint(
        built("declare q(int a, int b). p(9, 9). p(X, Y) :- q(X, Y). p(X, Y) :- p(X, Z), q(Z, Y).")
    ).relations
    assert plan_text(relation.seed).splitlines()[0] == "Union"
    assert [rule.name for rule in relation.rules] == ["r2"]
    assert relation.rules[0].deltas == ()
    assert relation.keys == ("X", "Y")


def test_a_relation_of_a_cycle_without_exit_rules_has_an_empty_seed() -> None:
    one, other = fixpoint(
        built("declare q(int a). even(X) :- q(X). even(X) :- odd(Y), q(X), Y < X. odd(X) :- even(X), X > 1.")
    ).relations
    assert (one.name, other.name) == ("even", "odd")
    assert other.seed == Values(other.columns, ())


def test_the_arguments_of_aggregates_in_recursion_are_columns_of_the_contributions() -> None:
    (relation,) = fixpoint(
        built(
            """
            declare road(int a, int b, int w).
            sp(Y, min<W>, argmin<W, X>) :- road(X, Y, W).
            sp(Y, min<D>, argmin<D, X>) :- sp(X, C, _), road(X, Y, W), D = C + W.
            """
        )
    ).relations
    assert [field.name for field in relation.seed.columns] == ["Y", "W", "X.cost", "X"]
    assert [column.arguments for column in relation.aggregates] == [("W",), ("X.cost", "X")]


def test_no_rule_derives_a_fact_above_the_last_stage_that_a_query_asks_for() -> None:
    root = fixpoint(
        built(
            "declare e(int a, int b). s(1, 0, 1). s(1, 9, 1). s(X, I + 1, sum<V>) :- s(Y, I, V), e(Y, X). s(X, 4, V)?"
        )
    )
    assert root.recursion.case is RecursionCase.STAGED
    (relation,) = root.relations
    assert isinstance(relation.seed, Values) and relation.seed.rows == ((1, 0, 1),)
    assert plan_text(relation.rules[0].plan).splitlines()[0] == "Filter I <= 4"


def test_inputs_outputs_and_queries_are_handed_on() -> None:
    plan = built("declare q(int a, float b). p(X) :- q(X, _). r(X) :- p(X). p(3)?")
    assert list(plan.inputs) == ["q"]
    assert plan.outputs == ("p",)
    assert [query.relation for query in plan.queries] == ["p"]


def test_every_derived_relation_is_computed_once() -> None:
    plan = built("f(1). g(X) :- f(X). h(X) :- g(X), !f(X). h(X) :- h(X).")
    assert [name for stratum in plan.strata for name in stratum.relations] == ["f", "g", "h"]
    assert [stratum.index for stratum in plan.strata] == [1, 2, 3]


def test_a_program_with_open_parameters_can_be_planned() -> None:
    plan = build(checked("declare q(int a). p(X) :- q(X), X > $low. p(Y) :- Y = $low."))
    check_invariants(plan, "build")
    assert "X > $low" in plan_text(optimize(plan).plan)


def body_of(length: int, head: str = "X0") -> str:
    literals = ", ".join(f"q(X{i}, X{i + 1})" for i in range(length))
    return f"declare q(int a, int b). p({head}) :- {literals}."


def test_a_long_body_can_be_planned() -> None:
    optimized = optimize(built(body_of(LONGEST_BODY))).plan
    assert plan_text(optimized)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("", {1, 2, 3, 4}), (", X0 < X120", set()), (", !q(X120, X0)", {1, 2, 3}), (", q(X0, X0 + 1)", {1, 2})],
)
def test_a_longer_body_is_divided(condition: str, expected: set[int]) -> None:
    program = checked(body_of(LONGEST_BODY + 50).removesuffix(".") + condition + ".")
    cycle = {"q": {(1, 2), (2, 3), (3, 1), (4, 4)}}  # 120 steps lead back to where they begin
    assert evaluate(program, cycle)["p"] == {(one,) for one in expected}
    assert run(optimize(build(program)).plan, cycle, Limits())["p"] == {(one,) for one in expected}


def test_a_body_that_is_too_long_is_an_error_that_says_so() -> None:
    with pytest.raises(EmberlogError) as caught:
        built(body_of(LONGEST_BODY + 1, "count<_>"))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "DL302"
    assert diagnostic.message == "the body of rule `r1` has 101 parts; at most 100 can be planned"
