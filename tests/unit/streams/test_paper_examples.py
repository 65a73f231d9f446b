"""Streamlog's example (Figures 1 and 2), and its queries 2 to 8, snapshot by snapshot, checked by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emberlog.semantics.model import Fact
from emberlog.streams.evaluate.evaluator import SlideEvaluator
from tests.streams import EVALUATORS, StreamCase, Tuples, by_definition, by_evaluator, stream_case

CHEAP_PATH = """\
{ride(Ts: Timestamp, Pickup: String, Drop: String, Fare: Float)}
bestPrice(Ts, P, D, mmin<F>) ← ride(Ts, P, D, F).
bestPrice(Ts, P, D, mmin<F>) ← ride(Ts1, P, P2, F1),
bestPrice(Ts2, P2, D, F2), F = F1 + F2, largest(Ts, Ts1, Ts2).
"""

FIGURE_1: Tuples = {
    "ride": [(0, "A", "C", 1.0), (1, "A", "B", 1.0), (1, "B", "C", 1.0), (2, "C", "D", 1.0), (2, "C", "E", 1.0)]
}
"""Each hop has a fare of 1. Nothing arrives at 3."""

every_evaluator = pytest.mark.parametrize("evaluator", EVALUATORS.values(), ids=EVALUATORS)


def snapshots(case: StreamCase, evaluator: Callable[[StreamCase], SlideEvaluator], tuples: Tuples) -> list[set[Fact]]:
    """The answer of the one output at each slide, which has to be that of the definition."""
    slides = case.slides(tuples)
    found = list(by_evaluator(case, evaluator(case), slides, tuples))
    assert found == [by_definition(case, slide, tuples) for slide in slides]
    return [set(*answers.values()) for answers in found]


@every_evaluator
def test_figure_1_without_times(evaluator: Callable[[StreamCase], SlideEvaluator]) -> None:
    """A window of 2 holds the snapshots [0, 2] and [1, 3], as the window of three time units of the paper does."""
    case = stream_case(CHEAP_PATH + "query bestPrice(_, P, D, C), WINDOW(2, 1).")
    direct = {("A", "B", 1.0), ("B", "C", 1.0), ("C", "D", 1.0), ("C", "E", 1.0)}
    onward = {("B", "D", 2.0), ("B", "E", 2.0)}
    assert snapshots(case, evaluator, FIGURE_1) == [
        {("A", "C", 1.0)},
        {("A", "C", 1.0), ("A", "B", 1.0), ("B", "C", 1.0)},
        direct | onward | {("A", "C", 1.0), ("A", "D", 2.0), ("A", "E", 2.0)},
        direct | onward | {("A", "C", 2.0), ("A", "D", 3.0), ("A", "E", 3.0)},
        {("C", "D", 1.0), ("C", "E", 1.0)},
        set(),
    ]


@every_evaluator
def test_figure_1_with_times(evaluator: Callable[[StreamCase], SlideEvaluator]) -> None:
    """An aggregate shows the time of its winning contribution: that of its latest hop."""
    case = stream_case(CHEAP_PATH + 'query bestPrice(Ts, "A", D, C), WINDOW(2, 1).')
    assert snapshots(case, evaluator, FIGURE_1)[:5] == [
        {(0, "A", "C", 1.0)},
        {(0, "A", "C", 1.0), (1, "A", "B", 1.0)},
        {(0, "A", "C", 1.0), (1, "A", "B", 1.0), (2, "A", "D", 2.0), (2, "A", "E", 2.0)},
        {(1, "A", "C", 2.0), (1, "A", "B", 1.0), (2, "A", "D", 3.0), (2, "A", "E", 3.0)},
        set(),
    ]


@every_evaluator
def test_query_2_employee_count(evaluator: Callable[[StreamCase], SlideEvaluator]) -> None:
    case = stream_case(
        """\
        {dptEmpl(Ts: Timestamp, Depart:String, Employer:String)}
        empCnt(Ts, Emp, mcount<(Emp,1)>) ← dptEmpl(Ts, _, Emp).
        empCnt(Ts, Dpt, mcount<(Emp,S)>) ← empCnt(Ts1, Emp, S), dptEmpl(Ts2, Dpt, Emp), larger(Ts, Ts1, Ts2).
        query empCnt(_, Dpt, C), WINDOW(4, 2)."""
    )
    tuples: Tuples = {"dptEmpl": [(1, "IT", "Ann"), (2, "IT", "Bob"), (4, "Board", "IT")]}
    assert snapshots(case, evaluator, tuples)[:3] == [
        {("Ann", 1), ("Bob", 1), ("IT", 2)},
        {("Ann", 1), ("Bob", 1), ("IT", 3), ("Board", 3)},
        {("Bob", 1), ("IT", 2), ("Board", 2)},
    ]


SUB_ORGANIZATION = """\
{subOrg(Ts: Timestamp, OrgId: Integer, SubOrgId: Integer)}
isSubOrg(Ts, X, Y) ← subOrg(Ts, X, Y).
isSubOrg(Ts, X, Z) ← subOrg(Ts1, X, Y), isSubOrg(Ts2, Y, Z), largest(Ts, Ts1, Ts2).
"""
ORGANIZATIONS: Tuples = {"subOrg": [(0, 1, 2), (1, 2, 3), (3, 1, 2), (3, 3, 4)]}


@every_evaluator
def test_query_3_sub_organization(evaluator: Callable[[StreamCase], SlideEvaluator]) -> None:
    """1 → 2 is told again at 3: it stays when its first tuple expires, and 1 → 3 with it."""
    case = stream_case(SUB_ORGANIZATION + "query isSubOrg(_, X, Z), WINDOW(2).")
    assert snapshots(case, evaluator, ORGANIZATIONS) == [
        {(1, 2)},
        {(1, 2), (2, 3), (1, 3)},
        {(1, 2), (2, 3), (1, 3)},
        {(1, 2), (2, 3), (3, 4), (1, 3), (2, 4), (1, 4)},
        {(1, 2), (3, 4)},
        {(1, 2), (3, 4)},
        set(),
    ]


@every_evaluator
def test_query_3_shows_when_a_fact_became_true(evaluator: Callable[[StreamCase], SlideEvaluator]) -> None:
    """At 3 the first tuple of 1 → 2 is gone, so that what is left became true with the second one."""
    case = stream_case(SUB_ORGANIZATION + "query isSubOrg(Ts, X, Z), WINDOW(2).")
    assert snapshots(case, evaluator, ORGANIZATIONS)[2:5] == [
        {(0, 1, 2), (1, 2, 3), (1, 1, 3)},
        {(3, 1, 2), (1, 2, 3), (3, 3, 4), (3, 1, 3), (3, 2, 4), (3, 1, 4)},
        {(3, 1, 2), (3, 3, 4)},
    ]


@every_evaluator
def test_query_8_is_query_3_without_a_window(evaluator: Callable[[StreamCase], SlideEvaluator]) -> None:
    case = stream_case(SUB_ORGANIZATION + "query isSubOrg(_, X, Z).")
    assert snapshots(case, evaluator, ORGANIZATIONS)[-1] == {(1, 2), (2, 3), (3, 4), (1, 3), (2, 4), (1, 4)}


@every_evaluator
def test_query_5_earliest_organizer(evaluator: Callable[[StreamCase], SlideEvaluator]) -> None:
    case = stream_case(
        """\
        {relateTo(Ts: Timestamp, X:Integer, Y:Integer)}
        earliestOrg(Ts, X, mmin<X>) ← relateTo(Ts, X, _).
        earliestOrg(Ts, Y, mmin<V>) ← earliestOrg(Ts1, X, V),
        relateTo(Ts2, X, Y), largest(Ts, Ts1, Ts2).
        query earliestOrg(_, Y, T), WINDOW(2)."""
    )
    tuples: Tuples = {"relateTo": [(0, 1, 3), (1, 3, 4), (2, 2, 4)]}
    assert snapshots(case, evaluator, tuples) == [
        {(1, 1), (3, 1)},
        {(1, 1), (3, 1), (4, 1)},
        {(1, 1), (2, 2), (3, 1), (4, 1)},
        {(2, 2), (3, 3), (4, 2)},
        {(2, 2), (4, 2)},
        set(),
    ]


@every_evaluator
def test_query_6_lloyd_clustering(evaluator: Callable[[StreamCase], SlideEvaluator]) -> None:
    """Two points and two centres on a line: each centre moves to its point, and stays there for all 30 stages."""
    case = stream_case(
        """\
        {point(Ts: Timestamp, Pno:String, Dim:Int, Val:Float),
        init(Ts: Timestamp, Cno:String, Dim:Int, Val:Float)}
        center(Ts, J, Cno, Dim, Val) ← init(Ts, Cno, Dim, Val), J = 0.
        dist(Ts, J, Pno, Cno, sum<SqDis>) ← point(Ts1, Pno, Dim, Val), center(Ts2, J, Cno, Dim, CVal),
            SqDis = (Val - CVal) * (Val - CVal), largest(Ts, Ts1, Ts2).
        mdist(Ts, J, Pno, min<DCno>) ← dist(Ts, J, Pno, Cno, DSum), encd(DSum, Cno, DCno).
        center(Ts, J1, Cno, Dim, avg<Val>) ← point(Ts1, Pno, Dim, Val), mdist(Ts2, J, Pno, DmCno),
            decd(DmCno, _, Cno), J1 = J + 1, largest(Ts, Ts1, Ts2).
        query center(_, 30, Cno, Dim, Val), WINDOW(3)."""
    )
    tuples: Tuples = {
        "point": [(0, "p", 1, 1.0), (1, "q", 1, 9.0)],
        "init": [(0, "left", 1, 0.0), (0, "right", 1, 8.0)],
    }
    assert snapshots(case, evaluator, tuples)[:4] == [
        {(30, "left", 1, 1.0)},
        {(30, "left", 1, 1.0), (30, "right", 1, 9.0)},
        {(30, "left", 1, 1.0), (30, "right", 1, 9.0)},
        {(30, "left", 1, 1.0), (30, "right", 1, 9.0)},
    ]


@every_evaluator
def test_query_7_paper_rank(evaluator: Callable[[StreamCase], SlideEvaluator]) -> None:
    """a cites b and c, b cites c: in two rounds c gets half of a's rank and all of b's, on top of nothing."""
    case = stream_case(
        """\
        {pub(Ts: Timestamp, PaperId: String, PaperRef: String)}
        ref(Ts, P, count<R>) ← pub(Ts, P, R).
        prank(Ts, P, V) ← ref(Ts, P, R), V = 1.0.
        prank(Ts, P, sum<V>) ← prank(Ts1, C, W), pub(Ts2, C, P), ref(Ts3, C, R), V = W/R,
            largest(Ts, Ts1, Ts2, Ts3).
        query prank(_, P, S), WINDOW(3).""",
        iterations=2,
    )
    tuples: Tuples = {"pub": [(0, "a", "b"), (0, "a", "c"), (2, "b", "c")]}
    found = snapshots(case, evaluator, tuples)
    assert found[0] == {("a", 1.0), ("b", 0.5), ("c", 0.5)}
    assert found[2] == {("a", 1.0), ("b", 1.5), ("c", 1.5)}
    assert found[4] == {("b", 1.0), ("c", 1.0)}


@every_evaluator
def test_without_a_query_every_derived_relation_is_an_output(
    evaluator: Callable[[StreamCase], SlideEvaluator],
) -> None:
    """And none that only helps to compute them."""
    case = stream_case("STREAM s(Ts: timestamp, X: int, V: int).\nlow(Ts, X, min<V>) :- s(Ts, X, V).")
    tuples: Tuples = {"s": [(1, 7, 3), (2, 7, 2)]}
    found = list(by_evaluator(case, evaluator(case), case.slides(tuples), tuples))
    assert found[-1] == {"low": {(2, 7, 2)}}
