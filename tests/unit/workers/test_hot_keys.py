"""Keys with very many rows: their rows are on all workers, who look them up go to all, and answers stay the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emberlog.config import Execution
from emberlog.engines.spark.job import Status
from emberlog.engines.spark.task import TaskRun
from emberlog.logical.nodes import Fixpoint
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Fact
from emberlog.workers.fixpoint.worker import Worker
from tests.local_runs import plan_workers
from tests.oracle import evaluate as reference
from tests.programs import checked
from tests.unit.workers.task_runs import facts_in, job_for, run_tasks

ARC = "declare arc(int a, int b).\n"
TC = f"{ARC}tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
CC = f"{ARC}cc(X, min<X>) :- arc(X, _).\ncc(Y, min<C>) :- cc(X, C), arc(X, Y).\n"
PATHS = f"{ARC}@iterations(3)\np(X, sum<V>) :- arc(X, _), V = 1.\np(Y, sum<V>) :- p(X, V), arc(X, Y).\n"
TWICE = f"{ARC}r(0).\nr(Z) :- r(X), arc(X, Y), arc(X, Z), Y < Z.\n"
LEAVES = 300
OUT = frozenset((0, leaf) for leaf in range(1, LEAVES))
"""A star: from its centre to all others."""
BOTH = OUT | {(leaf, 0) for _, leaf in OUT}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows of what does not change each worker has."""
    monkeypatch.setattr("emberlog.workers.store.hot_keys.FEWEST_HOT", 10)
    found: list[int] = []
    original = TaskRun._drive

    def noted(run: TaskRun, worker: Worker) -> Any:
        found.append(sum(one.count for one in worker.statics.values()))
        return original(run, worker)

    monkeypatch.setattr(TaskRun, "_drive", noted)
    return found


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("mode", ["bsp", "async"])
@pytest.mark.parametrize(("text", "arcs"), [(TC, OUT), (CC, BOTH), (PATHS, BOTH), (TWICE, OUT)])
def test_no_worker_has_much_more_than_its_share_of_a_star(
    text: str,
    arcs: frozenset[Fact],
    mode: str,
    workers: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    held: list[int],
) -> None:
    if mode == "async" and text == PATHS:
        pytest.skip("it counts rounds")
    execution = Execution(mode=mode, representation="hash", partitioning="hash")
    job = job_for(text, {"arc": arcs}, tmp_path, workers, execution)
    summaries = run_tasks(job, monkeypatch)
    assert {summary.status for summary in summaries} == {Status.DONE}
    (expected,) = reference.evaluate(checked(text), {"arc": arcs}).values()
    assert sorted(facts_in(tmp_path / "relation-0")) == sorted(expected)
    assert len(held) == workers
    assert max(held) <= 1.5 * len(arcs) / workers
    assert summaries[0].choice == "1 hot key of arc on all workers"


def test_a_graph_without_such_keys_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: list[int]
) -> None:
    arcs = frozenset((number, (number * 7 + 1) % 1000) for number in range(1000))
    job = job_for(CC, {"arc": arcs}, tmp_path, 2, Execution(mode="bsp"))
    summaries = run_tasks(job, monkeypatch)
    assert {summary.choice for summary in summaries} == {""}


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ("p(X, Y) :- arc(X, Y). p(X, Y) :- p(X, Z), arc(Z, Y).", {"arc"}),
        # Only whether there is a row is asked, and all rows would have to be looked at.
        ("p(X, Y) :- step(X, Y). p(X, Y) :- p(X, Z), step(Z, Y), !arc(Z, X).", {"step"}),
        ("p(X) :- step(X, _). p(X) :- p(X), arc(X, _).", set()),
        # What a recursion begins with is joined without an exchange.
        ("p(X, Y) :- arc(P, X), arc(P, Y). p(X, Y) :- p(X, Z), arc(Z, Y).", set()),
    ],
)
def test_what_can_be_split(rules: str, found: set[str]) -> None:
    text = f"{ARC}declare step(int a, int b).\n{rules}"
    plan = plan_program(checked(text)).plan
    (recursive,) = (stratum for stratum in plan.strata if isinstance(stratum.root, Fixpoint))
    planned = plan_workers(plan.strata, recursive, plan.outputs, Execution(mode="bsp", representation="hash"))
    assert planned.splittable == found
