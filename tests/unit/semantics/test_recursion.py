import pytest

from emberlog.semantics.model import Recursion, RecursionCase
from tests.programs import checked, codes


def recursion(text: str, **options: int) -> Recursion:
    (found,) = [s.recursion for s in checked(text, **options).strata if s.recursion]  # type: ignore[arg-type]
    return found


SSSP = "d(X, min<D>) :- X = 1, D = 0. "


def test_without_aggregates() -> None:
    found = recursion("tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), tc(Z, Y).")
    assert found.case is RecursionCase.SET
    assert not found.is_linear and not found.is_mutual


@pytest.mark.parametrize(
    "rule",
    [
        "d(Y, min<D>) :- d(X, D1), e(X, Y, W), D = D1 + W.",
        "d(Y, min<D1 + 1>) :- d(X, D1), e(X, Y, _).",
        "d(Y, min<D>) :- d(X, D1), e(X, Y, W), D = D1 - W.",
        "d(Y, min<D>) :- d(X, D1), e(X, Y, _), D = 2 * D1.",
        "d(Y, min<D>) :- d(X, D1), e(X, Y, W), W >= 0, D = D1 * W.",
        "d(Y, min<D>) :- d(X, D1), e(X, Y, W), D = D1 * abs(W).",
        "d(Y, min<D>) :- d(X, D1), e(X, Y, W), D = greatest(D1, W).",
        "d(Y, min<D>) :- d(X, D1), e(X, Y, _), D = -(-D1).",
        "d(Y, min<D>) :- d(X, D), e(X, Y, W), D < W.",
        "d(Y, min<D>) :- d(X, D), e(X, Y, _), 100 > D.",
        "d(Y, min<W>) :- d(X, _), e(X, Y, W).",
        "d(Y, min<D>) :- d(X, A), d(Y, B), e(X, Y, _), D = A + B.",
    ],
)
def test_meet_aggregates_in_monotone_rules(rule: str) -> None:
    assert recursion(SSSP + rule).case is RecursionCase.MEET


@pytest.mark.parametrize(
    "rule",
    [
        "d(Y, min<D>) :- d(X, D1), e(X, Y, W), D = W - D1.",
        "d(Y, min<D>) :- d(X, D1), e(X, Y, _), D = -2 * D1.",
        "d(Y, min<D>) :- d(X, D1), e(X, Y, W), D = D1 * W.",
        "d(Y, min<D>) :- d(X, D1), e(X, Y, _), D = D1 mod 7.",
        "d(Y, min<D>) :- d(X, D), e(X, Y, _), D > 5.",
        "d(Y, min<D>) :- d(X, D), e(X, Y, _), D != 5.",
        "d(Y, min<D>) :- d(X, D), e(X, Y, D).",
        "d(Y, min<W>) :- d(X, 5), e(X, Y, W).",
        "d(D, min<W>) :- d(X, D), e(X, _, W).",
        "d(Y, min<D>) :- d(X, D1), e(X, Y, W), D = pow(D1, W).",
    ],
)
def test_rules_that_are_not_monotone_are_refused_unless_promised(rule: str) -> None:
    assert codes(SSSP + rule) == ["DL232"]
    promised = recursion(SSSP + "@premappable " + rule)
    assert promised.case is RecursionCase.MEET and "promise" in promised.reason


def test_directions_must_agree() -> None:
    assert codes("m(X, max<D>) :- a(X, D). m(Y, max<D>) :- m(X, D1), e(X, Y), D = 10 - D1.") == ["DL232"]
    text = "lo(X, min<D>) :- a(X, D). lo(Y, min<D>) :- hi(Y, D). hi(Y, max<D>) :- lo(Y, D)."
    assert codes(text) == ["DL232"]


def test_the_choice_of_argmin_may_be_handed_on_with_its_cost() -> None:
    seed = "sp(X, min<D>, argmin<D, R>) :- root(X), D = 0, R = X. "
    step = "sp(Y, min<D>, argmin<D, R>) :- sp(X, D0, R), e(X, Y, W), D = D0 + W."
    assert recursion(seed + step).case is RecursionCase.MEET
    tie = "sp(Y, min<D>, argmin<D, R>) :- sp(X, D0, R), e(X, Y, W), D = greatest(D0, W)."
    assert codes(seed + tie) == ["DL232"]
    other = "sp(Y, min<D>, argmin<W, R>) :- sp(X, D0, R), e(X, Y, W), D = D0 + W."
    assert codes(seed + other) == ["DL232"]


def test_monotone_count_and_sum() -> None:
    text = "c(E, mcount<(E, 1)>) :- dept(_, E). c(D, mcount<(E, S)>) :- c(E, S), dept(D, E)."
    assert recursion(text).case is RecursionCase.MONOTONE_SUM
    assert codes("c(E, mcount<(E, 1)>) :- d(_, E). c(D, mcount<(S, 1)>) :- c(E, S), d(D, E).") == ["DL232"]


PAGE_RANK = "pr(X, 0, 1) :- node(X). "


def test_stages() -> None:
    found = recursion(PAGE_RANK + "pr(X, I + 1, sum<P>) :- e(Y, X), pr(Y, I, P), I < 20.")
    assert found.case is RecursionCase.STAGED
    assert found.stage_columns == {"pr": 1} and found.stage_limit is None
    assert codes(PAGE_RANK + "pr(X, I + 1, sum<P>) :- e(Y, X), pr(Y, I, P).") == ["DL233"]
    assert codes(PAGE_RANK + "pr(X, I + 1, sum<P>) :- e(Y, X), pr(Y, I, P), I < J, J = I + 5.") == ["DL233"]
    bounded_by_data = PAGE_RANK + "pr(X, J, sum<P>) :- e(Y, X), pr(Y, I, P), J = 1 + I, J <= N, rounds(N)."
    assert recursion(bounded_by_data).case is RecursionCase.STAGED


def test_a_stage_that_does_not_grow_round_every_cycle_is_none() -> None:
    assert codes(PAGE_RANK + "pr(X, I, sum<P>) :- e(Y, X), pr(Y, I, P), I < 20.") == ["DL231"]
    assert codes(PAGE_RANK + "pr(X, I - 1, sum<P>) :- e(Y, X), pr(Y, I, P), I > 0.") == ["DL231"]


def test_stages_across_relations_bounded_by_the_query() -> None:
    text = """
        center(J, C, V) :- init(C, V), J = 0.
        dist(J, P, sum<D>) :- point(P, V), center(J, _, W), D = V - W.
        center(J1, C, avg<V>) :- point(P, V), dist(J, P, C), J1 = J + 1.
    """
    found = recursion(text + "query center(30, C, V).")
    assert found.stage_columns == {"center": 0, "dist": 0} and found.stage_limit == 30
    assert found.is_mutual
    assert codes(text + "query center(J, C, V).") == ["DL233"]
    assert codes(text + "other(X) :- dist(_, _, X). query center(30, C, V).") == ["DL233"]


def test_bounds() -> None:
    rank = "rank(X, sum<V>) :- node(X), V = 0.15. {0}rank(Y, sum<V>) :- rank(X, R), arc(X, Y), V = 0.85 * R."
    found = recursion(rank.format("@iterations(20) "))
    assert found.case is RecursionCase.BOUNDED and found.iterations == 20
    assert recursion("@iterations(7).\n" + rank.format("")).iterations == 7
    assert recursion(rank.format(""), iterations=3).iterations == 3
    assert codes(rank.format("")) == ["DL231"]
    assert "DL235" in codes(rank.format("@iterations(0) "))
    assert codes("@iterations(2) " + rank.format("@iterations(3) ")) == ["DL234"]


def test_a_bound_for_the_program_leaves_legal_recursions_alone() -> None:
    assert recursion("@iterations(2).\ntc(X, Y) :- a(X, Y). tc(X, Y) :- tc(X, Z), a(Z, Y).").case is RecursionCase.SET


def test_refused_aggregates_show_the_cycle() -> None:
    assert codes("p(X, count<Y>) :- q(X, Y). q(X, Y) :- p(X, Y), e(X).") == ["DL231"]
