"""Joins without recursion that workers do: which, why, and that nothing explodes on the way."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np

from emberlog.config import DEFAULT_LIMITS
from emberlog.engines.spark.description import described
from emberlog.io.sampling import statistics_of_facts
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.summary import round_number
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Fact
from emberlog.workers.fixpoint.definitions import DefinitionWorker
from emberlog.workers.fixpoint.team import run_workers, share_of
from emberlog.workers.fixpoint.worker import WorkerTask
from emberlog.workers.plan.multiway import Multiway, multiway_of
from emberlog.workers.plan.worker_plan import WorkerPlanner
from emberlog.workers.store.partitioning import Hashed
from emberlog.workers.store.texts import TextCodes
from tests.local_runs import plan_workers, run_locally
from tests.programs import checked
from tests.statistics import written

ARC = "declare arc(int a, int b).\n"
TRIANGLES = f"{ARC}triangle(X, Y, Z) :- arc(X, Y), arc(Y, Z), arc(X, Z).\n"
COUNTED = f"""\
{TRIANGLES}triangles(count<_>) :- triangle(_, _, _).
corners(X, count<_>) :- triangle(X, _, _).
triangles(N)?
corners(X, N)?
"""

HUB = 2_000


def with_hub() -> list[Fact]:
    """Every vertex to the hub and from it, and some arcs beside: four million paths of two arcs, few triangles."""
    draw = random.Random(3)
    arcs: set[Fact] = {(number, 0) for number in range(1, HUB)} | {(0, number) for number in range(1, HUB)}
    arcs |= {(draw.randrange(1, HUB), draw.randrange(1, HUB)) for _ in range(500)}
    return sorted(arcs)


def planned(text: str, arcs: Iterable[Fact]) -> LogicalPlan:
    return plan_program(checked(text), statistics={"arc": statistics_of_facts(arcs, 2)}).plan


def multiway_in(plan: LogicalPlan, name: str) -> Multiway | None:
    (stratum,) = [one for one in plan.strata if one.relations == (name,)]
    program = WorkerPlanner(plan.strata, plan.outputs).compiled(stratum, plan.statistics).program
    return None if program is None else multiway_of(program, plan.statistics)


def test_a_cycle_that_would_explode_is_for_the_workers() -> None:
    plan = planned(TRIANGLES, with_hub())
    found = multiway_in(plan, "triangle")
    assert found is not None
    assert (found.rule, len(found.variables), found.read) == ("r1", 1, len(with_hub()))
    assert found.largest > 3_000_000


def test_what_stays_small_or_closes_no_cycle_or_is_not_known_is_for_spark() -> None:
    even = [(number, (number * 7 + step) % 5_000) for number in range(5_000) for step in range(2)]
    path = f"{ARC}triangle(X, Y, Z) :- arc(X, Y), arc(Y, Z)."
    for program, arcs in ((TRIANGLES, even), (path, with_hub())):
        plan = planned(program, arcs)
        assert multiway_in(plan, "triangle") is None, program
    plan = plan_program(checked(TRIANGLES)).plan
    assert multiway_in(plan, "triangle") is None


def test_explain_says_so() -> None:
    plan = plan_program(
        checked(COUNTED),
        statistics=written("% arc has 1,000,000 rows; values by column: 20,000 20,000"),
    ).plan
    *how, _ = described(plan)
    assert tuple(how) == (
        "triangle: cyclic executor, one job; r1 closes a cycle: pair by pair its joins would list about 50,000,000 "
        "rows from 1,000,000; lists are intersected instead",
        "  partitioning: triangle by column 1; arc whole on every worker",
        "  in the same job: triangles, corners",
        "  never written out: triangle",
    )


def test_only_what_folds_the_triangles_leaves_the_job() -> None:
    plan = planned(COUNTED, with_hub())
    triangle, *_ = plan.strata
    worker_plan = plan_workers(plan.strata, triangle, plan.outputs, statistics=plan.statistics)
    assert list(worker_plan.outputs) == ["triangles", "corners"]
    assert worker_plan.streamed == {"triangle"}
    assert worker_plan.main.program.relations[0].comes_once


def test_no_intermediate_result_is_larger_than_what_goes_in_or_comes_out() -> None:
    """Every batch that a step of a worker hands on is counted; paths of length two would be four million."""
    arcs = with_hub()
    plan = planned(TRIANGLES, arcs)
    worker_plan = plan_workers(plan.strata, plan.strata[0], plan.outputs, statistics=plan.statistics)
    rows = np.ascontiguousarray(np.array(arcs, np.int64).T)
    largest = found = 0
    team = []
    for number in range(2):
        task = WorkerTask(worker_plan.main.program, worker_plan.main.placement, number, 2, TextCodes(), DEFAULT_LIMITS)
        statics = {"arc": share_of(rows, worker_plan.main.placement.statics["arc"], number, Hashed(2))}
        team.append(DefinitionWorker(task, statics, {}))
    run_workers(team)
    for worker in team:
        (runner,) = worker.seeds
        for end in range(1, len(runner.chain.steps) + 1):
            largest = max(largest, sum(batch.rows for batch in runner.run(1, end, runner.start())))
        found += worker.result_count("triangle")
    assert found == len(run_locally(plan, {"arc": arcs})["triangle"])
    assert largest <= max(len(arcs), found)


def test_estimates_are_told_in_round_numbers() -> None:
    assert [round_number(one) for one in (7.4, 99.6, 1_234, 6_123_456)] == ["7", "100", "1,200", "6,100,000"]
