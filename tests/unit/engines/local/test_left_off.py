"""What this process had found of a recursion that outgrew it, and workers of a job that go on with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from emberlog.config import DEFAULT_EXECUTION, DEFAULT_LIMITS, ON_ONE_MACHINE, Bounds, Execution
from emberlog.datatypes import INT
from emberlog.engines.local import run as local_run
from emberlog.engines.local.left_off import ATTEMPT, LeftOff
from emberlog.engines.local.small_strata import PassedBound, SmallStrata
from emberlog.engines.spark.job import Status
from emberlog.events import Event, IterationFinished
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.statistics import NO_STATISTICS
from emberlog.optimize.pipeline import plan_program
from emberlog.workers.recover.resuming import resumed
from emberlog.workers.store.folders import LocalFolder
from tests.oracle import evaluate as reference
from tests.programs import checked
from tests.unit.workers.task_runs import facts_of, job_for, run_tasks

ARCS = [(one, one + 1) for one in range(30)] + [(one, one + 3) for one in range(0, 24, 4)]
ARC = "declare arc(int a, int b).\n"
# Not a closure: what a fact leads to depends on where it began.
SOME = f"{ARC}tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y), X + Y < 50.\n"
NEAR = f"{ARC}tc(X, min<D>) :- X = 0, D = 0.\ntc(Y, min<D>) :- tc(X, C), arc(X, Y), D = C + 1.\n"
FAR = f"{ARC}tc(X, max<D>) :- X = 0, D = 0.\ntc(Y, max<D>) :- tc(X, C), arc(X, Y), D = C + 1.\n"
DOUBLED = f"{ARC}tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), tc(Z, Y), X + Y < 50.\n"
WAYS = f"{ARC}tc(X, msum<P, N>) :- X = 0, P = 0, N = 1.\ntc(Y, msum<X, N>) :- tc(X, N), arc(X, Y).\n"
COUNTED = f"{ARC}tc(X, mcount<P>) :- arc(P, X).\ntc(Y, mcount<X>) :- tc(X, N), N > 0, arc(X, Y).\n"
CLOSURE = f"{ARC}tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
TEXTS = f'{ARC}tc(X, T, min<D>) :- X = 0, T = "a", D = 0.\ntc(Y, T, min<D>) :- tc(X, T, C), arc(X, Y), D = C + 1.\n'
HASH = Execution(representation="hash", partitioning="hash")


@pytest.fixture(autouse=True)
def nothing_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_run, "FEW_READ", 0)


def outgrown(
    text: str, most: int, events: list[Event] | None = None, execution: Execution = DEFAULT_EXECUTION
) -> PassedBound:
    """Computes a program in this process until it has more facts than that."""
    plan = plan_program(checked(text)).plan
    bounds: Bounds = replace(ON_ONE_MACHINE, derived=most)
    heard = [] if events is None else events
    small = SmallStrata(plan, DEFAULT_LIMITS, heard.append, execution, {}, bounds)
    stratum = plan.strata[-1]
    arcs = {"arc": LocalRelation(["a", "b"], [INT, INT], ARCS)}
    with pytest.raises(PassedBound) as caught:
        small.compute(stratum, arcs, NO_STATISTICS, None)
    return caught.value


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize(
    ("text", "most"), [(SOME, 60), (SOME, 200), (NEAR, 7), (FAR, 9)], ids=["set", "larger set", "min", "max"]
)
def test_workers_of_a_job_go_on(
    text: str, most: int, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    found = outgrown(text, most, events).left_off
    assert isinstance(found, LeftOff)
    before = [event for event in events if isinstance(event, IterationFinished)]
    assert found.iteration == len(before) > 0
    assert found.rows >= before[-1].total_rows > most
    job = job_for(text, {"arc": ARCS}, tmp_path, workers, HASH)
    assert found.obstacle(job.worker_plan, HASH, workers) is None
    found.save(LocalFolder(tmp_path))
    resume = resumed(LocalFolder(tmp_path), ATTEMPT, 1, workers)
    assert resume is not None and resume.iteration == found.iteration
    job = replace(job, resume=resume.manifests, is_moved=resume.is_moved)
    summaries = run_tasks(job, monkeypatch)
    assert [summary.status for summary in summaries] == [Status.DONE] * workers
    assert sorted(facts_of(job, summaries)) == sorted(reference.evaluate(checked(text), {"arc": ARCS})["tc"])
    whole = run_tasks(job_for(text, {"arc": ARCS}, tmp_path / "whole", workers, HASH), monkeypatch)
    assert max(one.iterations for one in summaries) == max(one.iterations for one in whole)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CLOSURE, "it is not derived round by round"),
        (WAYS, "its sums are known by more than its facts"),
        (COUNTED, "its sums are known by more than its facts"),
        (TEXTS, "its texts have other numbers elsewhere"),
    ],
    ids=["closure", "msum", "mcount", "texts"],
)
def test_it_is_said_why_what_was_found_is_lost(text: str, why: str) -> None:
    problem = outgrown(text, 8)
    assert (problem.left_off, problem.why_lost) == (None, why)


def test_it_is_said_what_keeps_workers_from_going_on(tmp_path: Path) -> None:
    found = outgrown(DOUBLED, 60).left_off
    assert isinstance(found, LeftOff)
    plan = job_for(DOUBLED, {"arc": ARCS}, tmp_path, 3, HASH).worker_plan
    assert found.obstacle(plan, HASH, 3) == "workers of a job have facts in several places"
    recorded = replace(HASH, provenance=True)
    assert found.obstacle(plan, recorded, 3) == "what is recorded or counted is so from the first iteration on"
    other = job_for(NEAR, {"arc": ARCS}, tmp_path, 3, HASH).worker_plan
    assert found.obstacle(other, HASH, 3) == "workers of a job keep its facts in another way"
    alone = job_for(SOME, {"arc": ARCS}, tmp_path, 3, replace(HASH, mode="async")).worker_plan
    assert found.obstacle(alone, HASH, 3) == "workers of a job go on in other rounds"
