"""The predicate connection graph, mostly by its text, which shows all there is in it."""

from __future__ import annotations

from textwrap import dedent

from emberlog.logical.connection_graph import (
    DEEPEST,
    ConnectionGraph,
    GoalKind,
    GoalNode,
    build_connection_graph,
)
from emberlog.render.graph_text import connection_graph_lines
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.syntax.ast import Constant, Parameter, Value
from emberlog.syntax.parser import parse


def graph_of(text: str, params: dict[str, Value] | None = None) -> ConnectionGraph:
    return build_connection_graph(analyze(parse(Source("test.dl", dedent(text))), params=params))


def shown(text: str) -> str:
    return "\n".join(connection_graph_lines(graph_of(text)))


def goals(goal: GoalNode) -> list[GoalNode]:
    return [goal, *(inner for rule in goal.rules for body in rule.goals for inner in goals(body))]


def test_transitive_closure_of_cog() -> None:
    text = """
        r1: tc(X, Y) :- arc(X, Y).
        r2: tc(X, Y) :- tc(X, Z), arc(Z, Y).
        tc(1, Y)?
    """
    assert shown(text) == dedent("""\
        tc(1, Y)  bf
        ├ r1: tc(X, Y)
        │ └ arc(X, Y)  bf  input
        └ r2: tc(X, Y)  recursive
          ├ tc(X, Z)  bf  recursive reference
          └ arc(Z, Y)  bf  input""")


def test_connected_components_of_nexus() -> None:
    text = """
        hcc(X, X) :- arc(X, _).
        hcc(Y, min<Z>) :- hcc(X, Z), arc(X, Y).
        cc(countd<Y>) :- hcc(_, Y).
        cc(N)?
    """
    assert shown(text) == dedent("""\
        cc(N)  f
        └ r3: cc(countd<Y>)
          └ hcc(_, Y)  ff
            ├ r1: hcc(X, min<X>)
            │ └ arc(X, _)  ff  input
            └ r2: hcc(Y, min<Z>)  recursive
              ├ hcc(X, Z)  ff  recursive reference
              └ arc(X, Y)  bf  input""")


def test_without_queries_every_output_is_a_root_and_all_is_free() -> None:
    graph = graph_of("a(X) :- e(X, _).\nb(X, Y) :- e(X, Y).\n")
    assert [(root.relation, root.adornment) for root in graph.roots] == [("a", "f"), ("b", "ff")]
    assert graph.trees == graph.roots


def test_a_constant_and_a_parameter_of_a_query_are_bound() -> None:
    (root,) = graph_of("a(X, Y) :- e(X, Y).\na($from, 3)?\n").roots
    assert root.adornment == "bb"
    assert root.terms == (Parameter("from"), Constant(3))


def test_bindings_go_sideways_through_the_body() -> None:
    (root,) = graph_of("p(X, W) :- a(X, Y), b(Y, Z), V = Z + 1, c(V, W).\n").roots
    assert [(goal.relation, goal.adornment) for goal in root.rules[0].goals] == [("a", "ff"), ("b", "bf"), ("c", "bf")]


def test_an_aggregated_value_of_the_head_is_not_bound_from_above() -> None:
    (root,) = graph_of("best(X, min<P>) :- offer(X, P).\nbest(1, 2)?\n").roots
    assert root.adornment == "bb"
    assert root.rules[0].goals[0].adornment == "bf"


def test_negation_comparisons_and_facts_of_the_program() -> None:
    text = """
        hub("A").
        p(X) :- e(X, Y), Y > 3, !hub(X), contains(X, "x").
    """
    assert shown(text) == dedent("""\
        p(X)  f
        └ r1: p(X)  where Y > 3, contains(X, "x")
          ├ e(X, Y)  ff  input
          └ !hub(X)  b  1 fact of the program""")


def test_rules_and_facts_of_one_relation() -> None:
    assert shown("a(1). a(2).\na(X) :- e(X).\n").splitlines()[0] == "a(X)  f  and 2 facts of the program"


def test_an_expression_as_an_argument_keeps_the_name_it_was_given() -> None:
    (root,) = graph_of("p(X) :- e(X, X + 1), f(_).\n").roots
    texts = "\n".join(connection_graph_lines(ConnectionGraph((root,))))
    assert "f(_)" in texts
    assert "_1" in texts


def test_the_same_goal_is_expanded_once() -> None:
    graph = graph_of("a(X) :- e(X).\nb(X) :- a(X).\nc(X) :- a(X).\n")
    kinds = [goal.kind for root in graph.roots for goal in goals(root) if goal.relation == "a"]
    assert kinds == [GoalKind.EXPANDED, GoalKind.SHARED, GoalKind.SHARED]


def test_another_adornment_is_another_goal() -> None:
    graph = graph_of("a(X, Y) :- e(X, Y).\nb(Y) :- a(1, Y).\nc(X) :- a(X, 1).\nb(Y)?\nc(X)?\n")
    expanded = [goal.adornment for root in graph.roots for goal in goals(root) if goal.relation == "a"]
    assert expanded == ["bf", "fb"]


def test_mutual_recursion() -> None:
    text = """
        even(X) :- zero(X).
        even(X) :- odd(Y), succ(Y, X).
        odd(X) :- even(Y), succ(Y, X).
        even(4)?
    """
    assert shown(text) == dedent("""\
        even(4)  b
        ├ r1: even(X)
        │ └ zero(X)  b  input
        └ r2: even(X)  recursive
          ├ odd(Y)  f
          │ └ r3: odd(X)  recursive
          │   ├ even(Y)  f  recursive reference
          │   └ succ(Y, X)  bf  input
          └ succ(Y, X)  bb  input""")


def test_a_long_chain_continues_beside_the_roots() -> None:
    length = 3 * DEEPEST
    chain = "".join(f"p{i}(X) :- p{i - 1}(X).\n" for i in range(1, length)) + "p0(X) :- e(X).\n"
    graph = graph_of(f"{chain}p{length - 1}(1)?\n")
    assert len(graph.roots) == 1
    assert [tree.relation for tree in graph.continuations] == [
        f"p{length - 1 - DEEPEST}",
        f"p{length - 1 - 2 * DEEPEST}",
    ]
    assert all(tree.adornment == "b" for tree in graph.trees)
    expanded = [g.relation for tree in graph.trees for g in goals(tree) if g.kind is GoalKind.EXPANDED]
    assert sorted(expanded) == sorted(f"p{i}" for i in range(length))


def test_facts_alone_are_a_leaf() -> None:
    assert shown("arc(1, 2).\narc(2, 3).\narc(1, Y)?\n") == "arc(1, Y)  bf  2 facts of the program"


def test_an_empty_program_has_an_empty_graph() -> None:
    assert graph_of("") == ConnectionGraph(())
