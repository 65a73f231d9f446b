"""The interpreter by itself: limits, errors, inputs, and what only it can show. Answers are for the property tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.diagnostics import Diagnostic, EmberlogError
from emberlog.engines.interpreter.interpreter import run
from emberlog.logical.build import build
from emberlog.optimize.pipeline import optimize
from emberlog.semantics.model import Fact
from emberlog.syntax.ast import Value
from tests.programs import checked

Inputs = Mapping[str, Iterable[Fact]]


def answers(
    text: str,
    inputs: Inputs,
    limits: Limits = DEFAULT_LIMITS,
    *,
    params: Mapping[str, Value] | None = None,
    off: frozenset[str] = frozenset(),
) -> dict[str, frozenset[Fact]]:
    return run(optimize(build(checked(text, params=params or {})), off=off).plan, inputs, limits)


def error_of(
    text: str, inputs: Inputs, limits: Limits = DEFAULT_LIMITS, off: frozenset[str] = frozenset()
) -> Diagnostic:
    with pytest.raises(EmberlogError) as caught:
        answers(text, inputs, limits, off=off)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


CLOSURE = "declare arc(int a, int b). tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y)."


def test_transitive_closure() -> None:
    closure = answers(CLOSURE, {"arc": [(1, 2), (2, 3), (3, 1)]})
    assert closure == {"tc": frozenset((x, y) for x in (1, 2, 3) for y in (1, 2, 3))}


def test_a_long_chain_costs_what_its_deltas_cost() -> None:
    """Naive evaluation would look at five million facts a round; this comes to its end in about a second."""
    chain = [(i, i + 1) for i in range(300)]
    assert len(answers(CLOSURE, {"arc": chain}, Limits(timeout=30))["tc"]) == 300 * 301 // 2


def test_a_query_restricts_the_answer() -> None:
    text = CLOSURE + "tc($from, Y)? tc(X, X)?"
    found = answers(text, {"arc": [(1, 2), (2, 3), (3, 3)]}, params={"from": 1})
    assert found == {"tc": frozenset({(1, 2), (1, 3), (3, 3)})}


def test_a_null_agrees_with_no_constant_and_not_with_itself() -> None:
    text = "declare q(int a, int b). p(X, Y) :- q(X, Y). p(X, X)? p(_, 1)?"
    assert answers(text, {"q": [(None, None), (2, None), (None, 1)]}) == {"p": frozenset({(None, 1)})}


def test_facts_that_nobody_needs_may_be_missing() -> None:
    text = "declare q(int a). declare r(int a). p(X) :- q(X). s(X) :- r(X). p(X)?"
    assert answers(text, {"q": [(1,)]}) == {"p": frozenset({(1,)})}


def test_missing_facts() -> None:
    diagnostic = error_of(CLOSURE, {"arcs": []})
    assert (diagnostic.code, diagnostic.message) == ("DL401", "there are no facts for the relation `arc`")
    assert diagnostic.notes[0].text == "did you mean `arcs`? facts were given for it"


@pytest.mark.parametrize(
    ("fact", "code"),
    [
        ((1,), "DL402"),
        ((1, "a"), "DL403"),
        ((1, True), "DL403"),
        ((1, 2**63), "DL403"),
        ((1, 1.5), "DL403"),
    ],
)
def test_facts_that_do_not_fit(fact: Fact, code: str) -> None:
    assert error_of(CLOSURE, {"arc": [(1, 2), fact]}).code == code


def test_ints_of_a_float_column_become_floats() -> None:
    found = answers("declare q(float a). p(X, to_string(X)) :- q(X).", {"q": [(1,), (2.5,)]})
    assert found == {"p": frozenset({(1.0, "1.0"), (2.5, "2.5")})}


def test_a_fault_names_the_rule_the_place_and_the_values() -> None:
    diagnostic = error_of("declare q(int a, int b). half: p(Z) :- q(X, Y), Z = X / Y.", {"q": [(3, 0)]})
    assert (diagnostic.code, diagnostic.message) == ("DL501", "division by zero in rule half")
    assert diagnostic.span is not None and diagnostic.span.text == "X / Y"
    assert [note.text for note in diagnostic.notes] == ["here X = 3 and Y = 0"]


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("X + 9223372036854775807", "DL502"),
        ("X * 9223372036854775807 * 2", "DL502"),
        ("X mod (X - X)", "DL501"),
        ("X div 0", "DL501"),
        ("sqrt(-X)", "DL502"),
        ("log(X - X)", "DL502"),
        ("exp(X * 1000)", "DL502"),
        ("pow(X - X, -1)", "DL502"),
        ("floor(X * 1e300)", "DL502"),
        ("to_number('x')", "DL503"),
        ("int('1.5')", "DL503"),
        ("float('inf')", "DL503"),
    ],
)
def test_expressions_without_a_value(expression: str, code: str) -> None:
    diagnostic = error_of(f"declare q(int a). p({expression}) :- q(X).", {"q": [(2,)]})
    assert diagnostic.code == code
    assert diagnostic.message.endswith("in rule r1")


def test_a_sum_that_does_not_fit() -> None:
    diagnostic = error_of("declare q(int a, int b). p(sum<Y>) :- q(_, Y).", {"q": [(1, 2**62), (2, 2**62)]})
    assert (diagnostic.code, diagnostic.message) == (
        "DL502",
        "the result does not fit in a 64-bit int: `p`, rule r1",
    )


def test_a_negative_value_of_msum() -> None:
    diagnostic = error_of("declare q(int a, int b). p(msum<(X, Y)>) :- q(X, Y).", {"q": [(1, -5)]})
    assert (diagnostic.code, diagnostic.message) == ("DL504", "msum of a negative value: `p`, rule r1")


ENDLESS = "n(0). n(X) :- n(Y), X = Y + 1."


@pytest.mark.parametrize("off", [frozenset(), frozenset({"derive_delta_rules"})], ids=["semi-naive", "naive"])
def test_a_recursion_that_never_ends_meets_each_limit(off: frozenset[str]) -> None:
    iterations = error_of(ENDLESS, {}, Limits(max_iterations=10), off)
    assert (iterations.code, iterations.message) == (
        "DL510",
        "the limit of 10 iterations was passed in stratum 1: n",
    )
    assert iterations.notes[0].text == "iteration 11 added 1 fact, 11 in all: n(10)"
    assert error_of(ENDLESS, {}, Limits(max_rows=50), off).code == "DL511"
    assert error_of(ENDLESS, {}, Limits(timeout=0.05), off).code == "DL512"


def test_the_rows_of_all_strata_count_together() -> None:
    text = "declare q(int a). p(X) :- q(X). r(X) :- p(X)."
    facts = {"q": [(i,) for i in range(6)]}
    assert len(answers(text, facts, Limits(max_rows=12))["r"]) == 6
    assert error_of(text, facts, Limits(max_rows=11)).code == "DL511"


def test_a_join_that_is_too_large_is_stopped_in_the_middle() -> None:
    text = "declare q(int a). p(count<_>) :- q(A), q(B), q(C), q(D)."
    assert error_of(text, {"q": [(i,) for i in range(80)]}, Limits(timeout=0.2)).code == "DL512"


def test_naive_and_semi_naive_take_the_same_rounds() -> None:
    """One round more than the limit is an error in both, and the limit itself is not."""
    chain = {"arc": [(i, i + 1) for i in range(10)]}
    for off in (frozenset[str](), frozenset({"derive_delta_rules"})):
        assert len(answers(CLOSURE, chain, Limits(max_iterations=10), off=off)["tc"]) == 55
        assert error_of(CLOSURE, chain, Limits(max_iterations=9), off).code == "DL510"
