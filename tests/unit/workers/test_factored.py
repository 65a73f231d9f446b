"""Which recursions factor, and into what."""

from __future__ import annotations

import pytest

from emberlog.workers.plan.factored import DoesNotFactor, Factored, factor, relations_needed_whole
from emberlog.workers.plan.rules import Assign, Keep, Probe, Refute, RuleChain, Start
from tests.unit.workers.factored_runs import SG, TC, compiled

ARC = "declare arc(int a, int b). declare good(int a). declare road(int a, int b, int c). "


def factored(text: str) -> Factored:
    return factor(compiled(ARC + text))


def reason(text: str) -> str:
    with pytest.raises(DoesNotFactor) as caught:
        factored(text)
    return str(caught.value)


def shape(chain: RuleChain | None) -> list[str] | None:
    """The steps of a side, shortly."""
    if chain is None:
        return None
    shown: list[str] = []
    for step in chain.steps:
        match step:
            case Start(atom) | Probe(atom):
                shown.append(f"{type(step).__name__} {atom.relation}")
            case Refute(relation):
                shown.append(f"Refute {relation}")
            case Assign() | Keep():
                shown.append(type(step).__name__)
            case _:
                raise AssertionError(step)
    return shown


def test_transitive_closure_hands_its_left_side_through() -> None:
    result = factor(compiled(TC))
    assert result.is_one_sided
    assert (result.left, result.right) == ((0,), (1,))
    (rule,) = result.rules
    assert rule.left is None
    assert shape(rule.right) == ["Start arc"]


def test_the_side_that_is_handed_through_is_the_left_one_wherever_it_stands() -> None:
    result = factored("tc(X, Y) :- arc(X, Y). tc(X, Y) :- arc(X, Z), tc(Z, Y).")
    assert result.is_one_sided
    assert (result.left, result.right) == ((1,), (0,))


def test_same_generation_takes_a_step_on_each_side() -> None:
    result = factor(compiled(SG))
    assert not result.is_one_sided
    (rule,) = result.rules
    assert shape(rule.left) == shape(rule.right) == ["Start arc"]


def test_conditions_negation_and_several_atoms_stay_with_their_side() -> None:
    result = factored(
        "r(X, Y) :- arc(X, Y).r(X, Y) :- r(A, B), arc(A, M), arc(M, X), A != X, arc(B, Y), ~good(Y), B > 3."
    )
    (rule,) = result.rules
    assert shape(rule.left) == ["Start arc", "Probe arc", "Keep"]
    assert sorted(shape(rule.right) or []) == ["Keep", "Refute good", "Start arc"]


def test_a_filter_on_a_column_that_is_kept_is_a_step_that_stands_still() -> None:
    result = factored("r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), good(X), arc(Z, Y).")
    (rule,) = result.rules
    assert shape(rule.left) == ["Start good"]
    assert not result.is_one_sided


def test_each_rule_has_its_own_pair_of_sides() -> None:
    result = factored(
        "r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), arc(Z, Y). r(X, Y) :- arc(X, Z), r(Z, Y). r(X, Y) :- r(X, Y)."
    )
    assert not result.is_one_sided
    assert {(rule.left is None, rule.right is None) for rule in result.rules} == {(True, False), (False, True)}


def test_more_columns_fall_into_two_sides() -> None:
    result = factored("r(K, L, X) :- road(K, L, X). r(K, L, Y) :- r(K, L, X), arc(X, Y).")
    assert result.is_one_sided
    assert (result.left, result.right) == ((0, 1), (2,))


def test_columns_that_a_rule_moves_together_are_one_side() -> None:
    result = factored("r(K, X, Y) :- road(K, X, Y). r(K, Y, Z) :- r(K, X, Y), road(X, Y, Z).")
    assert (result.left, result.right) == ((0,), (1, 2))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), r(Z, Y).", "a rule reads the recursion twice"),
        ("r(X, Y) :- arc(X, Y). r(Y, X) :- r(X, Y).", "a rule brings all its columns together"),
        ("r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), arc(Z, Y), X != Y.", "a rule brings all its columns together"),
        ("r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), road(X, Z, Y).", "a rule brings all its columns together"),
        ("r(X, Y) :- arc(X, Y). r(X, X) :- r(X, Y).", "a rule brings all its columns together"),
        (
            "r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), Y = Z + 1, Y < 9.",
            "a rule computes what can fail, and may compute it only for its own facts",
        ),
        (
            "r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), arc(Z, W), Y = 10 div W.",
            "a rule computes what can fail, and may compute it only for its own facts",
        ),
        (
            "r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), good(Y).",
            "a part of a rule hangs together with no column of the recursion",
        ),
        (
            "r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), Z > 3, arc(Q, Y), Z < Q.",
            "a column of the recursion is in no relation that does not change",
        ),
        (
            "r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), good(Z), arc(Q, Y), Z < Q.",
            "a side of a rule has two atoms that share no variable",
        ),
        ("r(X) :- good(X). r(Y) :- r(X), arc(X, Y).", "a rule brings all its columns together"),
        ("r(X, min<Y>) :- arc(X, Y). r(X, min<Y>) :- r(Z, Y), arc(Z, X).", "it is not one relation without aggregates"),
        (
            "r(X, Y) :- arc(X, Y). r(X, Y) :- s(X, Z), arc(Z, Y). s(X, Y) :- r(X, Z), arc(Z, Y).",
            "it is not one relation without aggregates",
        ),
    ],
)
def test_what_does_not_factor_says_why(text: str, why: str) -> None:
    assert reason(text) == why


def test_every_worker_needs_what_steps_are_made_from() -> None:
    text = ARC + "r(X, Y) :- road(X, Y, _). r(X, Y) :- r(X, Z), arc(Z, Y), ~good(Y)."
    assert relations_needed_whole(compiled(text)) == {"arc", "good"}
    assert relations_needed_whole(compiled(ARC + "r(X, Y) :- arc(X, Y). r(X, Y) :- r(X, Z), r(Z, Y).")) == frozenset()
