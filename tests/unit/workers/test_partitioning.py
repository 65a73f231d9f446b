"""Where values go: evenly, each to one worker, and with few arcs between workers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from emberlog.config import Execution, Limits
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark.job import Status
from emberlog.events import Event, StratumFinished
from emberlog.logical.statistics import ColumnStatistics, RelationStatistics, Statistics
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Fact
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.plan.partition_choice import Kind, PartitionChoice, Walk
from emberlog.workers.store.partitioning import Hashed, as_lanes, divided, from_lanes
from tests.local_runs import plan_workers, run_locally
from tests.programs import checked
from tests.unit.workers.task_runs import facts_in, job_for, run_tasks

Arc = tuple[int, int]

HCC = """
    declare arc(int from, int to).
    hcc(X, X) :- arc(X, _).
    hcc(Y, min<Z>) :- hcc(X, Z), arc(X, Y).
"""


def grid(side: int) -> list[Arc]:
    """Both ways along every edge."""
    steps = [(v, v + 1) for v in range(side * side) if (v + 1) % side]
    steps += [(v, v + side) for v in range(side * (side - 1))]
    return [arc for one, other in steps for arc in ((one, other), (other, one))]


def roads(side: int) -> list[Arc]:
    """A grid without one road in seven, and with places numbered at random."""
    random = Random(7)
    names = random.sample(range(10 * side * side), side * side)
    kept = [(one, other) for one, other in grid(side) if one < other and random.random() > 1 / 7]
    pairs = [(names[one], names[other]) for one, other in kept]
    return [arc for one, other in pairs for arc in ((one, other), (other, one))]


def lanes(arcs: list[Arc]) -> Lanes:
    return np.ascontiguousarray(np.array(arcs, np.int64).T)


@pytest.mark.parametrize("kind", [Kind.RANGE, Kind.LOCALITY, Kind.TURNS])
@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("arcs", [grid(30), roads(30)], ids=["grid", "roads"])
def test_every_worker_has_its_share(arcs: list[Arc], workers: int, kind: Kind) -> None:
    both = lanes(arcs)
    partitioning = divided(kind, both, workers)
    shares = np.bincount(partitioning.owners(both[0]), minlength=workers)
    assert len(shares) == workers
    assert shares.max() < 1.1 * len(arcs) / workers
    again = from_lanes(as_lanes(partitioning), workers)
    anything = np.array([*range(-50, 12_000), 2**60], np.int64)
    assert np.array_equal(again.owners(anything), partitioning.owners(anything))


@pytest.mark.parametrize("arcs", [grid(30), roads(30)], ids=["grid", "roads"])
def test_few_arcs_cross_the_border_where_values_are_placed_by_locality(arcs: list[Arc]) -> None:
    both = lanes(arcs)

    def crossing(kind: Kind) -> int:
        partitioning = divided(kind, both, 3)
        return int((partitioning.owners(both[0]) != partitioning.owners(both[1])).sum())

    assert crossing(Kind.HASH) > 10 * crossing(Kind.LOCALITY)


def test_the_order_of_arcs_makes_no_difference() -> None:
    """A run that is tried again must find its facts where they were."""
    arcs = roads(20)
    other = Random(1).sample(arcs, len(arcs))
    values = lanes(arcs)[0]
    for kind in (Kind.RANGE, Kind.LOCALITY, Kind.TURNS):
        assert np.array_equal(
            divided(kind, lanes(arcs), 3).owners(values), divided(kind, lanes(other), 3).owners(values)
        )


def test_nothing_to_place_is_placed_by_hash() -> None:
    assert divided(Kind.LOCALITY, np.empty((2, 0), np.int64), 3) == Hashed(3)
    assert divided(Kind.LOCALITY, lanes(grid(3)), 1) == Hashed(1)
    assert from_lanes(as_lanes(Hashed(3)), 3) == Hashed(3)


@pytest.mark.parametrize(
    ("text", "walks"),
    [
        (HCC, {Walk("arc", 0, 1)}),
        (
            """
            declare arc(int from, int to).
            edge(X, Y) :- arc(X, Y).
            edge(Y, X) :- arc(X, Y).
            cc(X, min<X>) :- edge(X, _).
            cc(Y, min<Z>) :- cc(X, Z), edge(X, Y).
            """,
            {Walk("arc", 0, 1)},
        ),
        (
            """
            declare up(int w, int from, int to).
            declare down(int from, int to).
            d(X, min<C>) :- down(X, _), C = 0.
            d(Z, min<C>) :- d(X, A), up(W, X, Y), down(Y, Z), C = A + W.
            """,
            {Walk("up", 1, 2), Walk("down", 0, 1)},
        ),
    ],
    ids=["arcs", "both ways", "two steps"],
)
def test_the_arcs_that_rules_walk(text: str, walks: set[Walk]) -> None:
    plan = plan_program(checked(text)).plan
    worker_plan = plan_workers(plan.strata, plan.strata[-1], plan.outputs, Execution(mode="async"))
    assert worker_plan.partition_choice.kind is Kind.LOCALITY
    assert set(worker_plan.partition_choice.walks) == walks
    hashed = plan_workers(plan.strata, plan.strata[-1], plan.outputs, Execution(mode="bsp"))
    assert (hashed.partition_choice.kind, hashed.partition_choice.walks) == (Kind.HASH, ())


def known_values(distinct: float) -> Statistics:
    column = ColumnStatistics(distinct, {})
    return {"arc": RelationStatistics(2 * distinct, (column, column), "a test")}


def test_few_values_are_dealt_out() -> None:
    plan = plan_program(checked(HCC)).plan

    def choice(distinct: float, partitioning: str = "auto") -> PartitionChoice:
        execution = Execution(mode="bsp", partitioning=partitioning)
        return plan_workers(
            plan.strata, plan.strata[-1], plan.outputs, execution, known_values(distinct)
        ).partition_choice

    # 16 values for each of 64 workers are not even by hash, and 500 for each of two are.
    assert [choice(1000).kind_for(workers) for workers in (1, 2, 64)] == [Kind.HASH, Kind.HASH, Kind.TURNS]
    assert choice(10**6).kind is Kind.HASH
    assert choice(1000, "hash").kind is Kind.HASH


def test_values_that_are_dealt_out_are_even_where_hashes_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a ring of twelve, four workers have three vertices each."""
    arcs = [(number, (number + 1) % 12) for number in range(12)]
    job = job_for(HCC, {"arc": arcs}, tmp_path, 4, Execution(mode="bsp"))
    plan = plan_program(checked(HCC)).plan
    worker_plan = plan_workers(plan.strata, plan.strata[-1], plan.outputs, Execution(mode="bsp"), known_values(12))
    by_hash = run_tasks(job, monkeypatch)
    assert {summary.choice for summary in by_hash} == {""}
    assert max(summary.rows["hcc"] for summary in by_hash) > 3
    dealt = run_tasks(replace(job, worker_plan=worker_plan), monkeypatch)
    assert [summary.rows["hcc"] for summary in dealt] == [3] * 4
    assert {summary.choice for summary in dealt} == {"values were dealt out in 64 groups"}
    assert sorted(facts_in(tmp_path / "relation-0")) == [(number, 0) for number in range(12)]


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("n(0). n(Y) :- n(X), X < 9, Y = X + 1.", "async"),
        ("declare arc(int a, int b). tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y).", "auto"),
    ],
    ids=["no arcs", "decomposed"],
)
def test_what_cannot_be_placed_as_asked_is_refused(text: str, mode: str) -> None:
    plan = plan_program(checked(text)).plan
    with pytest.raises(EmberlogError, match="DL335"):
        run_locally(plan, {"arc": []}, execution=Execution("cyclic", mode, 2, partitioning="locality"))


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("arcs", [grid(40), roads(40)], ids=["grid", "roads"])
def test_components_need_three_times_fewer_exchanges_than_rounds(arcs: list[Arc], workers: int) -> None:
    plan = plan_program(checked(HCC)).plan
    finished: dict[str, StratumFinished] = {}
    facts: dict[str, frozenset[Fact]] = {}
    for mode in ("bsp", "async"):
        events: list[Event] = []
        execution = Execution("cyclic", mode, workers)
        facts[mode] = run_locally(plan, {"arc": arcs}, Limits(), execution, events.append)["hcc"]
        (finished[mode],) = [event for event in events if isinstance(event, StratumFinished)]
    assert facts["async"] == facts["bsp"]
    most = max(one.exchanges for one in finished["async"].workers)
    assert 3 * most <= finished["bsp"].iterations


@pytest.mark.parametrize("kind", ["hash", "range", "locality"])
@pytest.mark.parametrize("mode", ["bsp", "async"])
def test_answers_do_not_depend_on_the_place(mode: str, kind: str) -> None:
    text = """
        declare road(string from, string to, int length).
        way(X, Y, min<L>) :- road(X, Y, L).
        way(X, Z, min<L>) :- way(X, Y, A), road(Y, Z, B), L = A + B.
        @iterations(4)
        rank(X, sum<V>) :- road(X, _, _), V = 1.
        rank(Y, sum<V>) :- rank(X, R), road(X, Y, _), V = R * 2.
    """
    if mode == "async":
        text = text.partition("@")[0]
    program = plan_program(checked(text)).plan
    random = Random(3)
    roads = [(f"p{random.randrange(12)}", f"p{random.randrange(12)}", random.randrange(9)) for _ in range(30)]
    expected = run_locally(program, {"road": roads})
    found = run_locally(program, {"road": roads}, execution=Execution("cyclic", mode, 3, partitioning=kind))
    assert found == expected


@pytest.mark.parametrize("asked_for", [False, True])
def test_too_many_arcs_are_not_placed_by_one_worker(
    asked_for: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless that is asked for; otherwise all of them would have to come to one worker."""
    monkeypatch.setattr("emberlog.workers.fixpoint.team.MOST_ARCS", 10)
    text = "declare arc(int a, int b).\ntc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
    arcs = {(number, number + 1) for number in range(30)}
    execution = Execution(mode="async", partitioning="locality" if asked_for else "auto")
    summaries = run_tasks(job_for(text, {"arc": arcs}, tmp_path, 2, execution), monkeypatch)
    assert {summary.status for summary in summaries} == {Status.DONE}
    said = "" if asked_for else "placed by hash: 30 arcs are too many for one worker to place by locality"
    assert {summary.choice for summary in summaries} == {said}
    assert len(facts_in(tmp_path / "relation-0")) == 30 * 31 // 2
