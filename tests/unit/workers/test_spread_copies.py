"""Relations that are too large to be whole on every worker, and that rules look up by different columns."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from emberlog.config import Execution
from emberlog.engines.spark.job import Status
from emberlog.engines.spark.task import TaskRun
from emberlog.semantics.model import Fact
from tests.oracle import evaluate as reference
from tests.programs import checked
from tests.unit.workers.task_runs import facts_of, job_for, run_tasks

WORKERS = 4
VERTICES = 400
ARCS = frozenset(random.Random(4).sample([(a, b) for a in range(VERTICES) for b in range(VERTICES) if a != b], 600))
FIRST = frozenset((number,) for number in range(0, VERTICES, 40))

BOTH_WAYS = """
near(X, Y) :- first(X), arc(X, Y).
near(X, Z) :- near(X, Y), arc(Y, Z).
near(X, Z) :- near(X, Y), arc(Z, Y), Z > Y.
"""
NEGATED = """
near(X, Y) :- first(X), arc(X, Y).
near(X, Z) :- near(X, Y), arc(Y, Z), !arc(Z, X).
near(Z, Y) :- near(X, Y), arc(Z, X), Z > X.
"""
TWO_STEPS_AT_FIRST = """
near(X, Z) :- arc(X, Y), arc(Y, Z), X < 20.
near(X, Z) :- near(X, Y), arc(Y, Z).
"""
LARGEST = """
best(X, max<X>) :- first(X).
best(Y, max<V>) :- best(X, V), arc(X, Y).
best(Y, max<V>) :- best(X, V), arc(Y, X).
"""
PROGRAMS = {
    "both ways": BOTH_WAYS,
    "negated": NEGATED,
    "two steps at first": TWO_STEPS_AT_FIRST,
    "an extreme": LARGEST,
}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """By relation, how many rows of it each worker has; a copy counts for itself."""
    found: dict[str, list[int]] = {}
    original = TaskRun._drive

    def noted(run: TaskRun, worker: Any) -> None:
        for name, store in worker.statics.items():
            found.setdefault(name, []).append(store.count)
        original(run, worker)

    monkeypatch.setattr(TaskRun, "_drive", noted)
    return found


@pytest.mark.parametrize("mode", ["bsp", "async"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_worker_has_more_than_its_share(
    name: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: dict[str, list[int]]
) -> None:
    if (name, mode) == ("negated", "async"):
        mode = "bsp"
    inputs = {"arc": ARCS, "first": FIRST} if "first" in PROGRAMS[name] else {"arc": ARCS}
    execution = Execution(mode=mode)
    job = job_for(PROGRAMS[name], inputs, tmp_path, WORKERS, execution, room_for_copies=2_000)
    summaries = run_tasks(job, monkeypatch)
    assert [(one.status, one.message) for one in summaries] == [(Status.DONE, "")] * WORKERS
    (expected,) = reference.evaluate(checked(PROGRAMS[name]), inputs).values()
    assert sorted(facts_of(job, summaries)) == sorted(expected)
    spread = {relation: counts for relation, counts in held.items() if relation.startswith("arc")}
    assert len(spread) == 2
    for counts in spread.values():
        assert len(counts) == WORKERS
        assert sum(counts) == len(ARCS)
        assert max(counts) <= 1.5 * len(ARCS) / WORKERS


def test_what_fits_has_one_copy_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: dict[str, list[int]]
) -> None:
    inputs: dict[str, frozenset[Fact]] = {"arc": ARCS, "first": FIRST}
    job = job_for(BOTH_WAYS, inputs, tmp_path, WORKERS, room_for_copies=1 << 30)
    assert run_tasks(job, monkeypatch)[0].status == Status.DONE
    assert held["arc"] == [len(ARCS)] * WORKERS
    assert job.worker_plan.copied == {}


def test_what_is_looked_up_by_nothing_is_needed_whole(tmp_path: Path) -> None:
    """Copies of it would be of no use, so there are none."""
    program = f"{BOTH_WAYS}near(X, Y) :- near(X, _), arc(_, Y), Y < 3."
    job = job_for(program, {"arc": ARCS, "first": FIRST}, tmp_path, WORKERS, room_for_copies=2_000)
    assert job.worker_plan.copied == {}
    assert job.worker_plan.spread["arc"] is None
    assert "no column spreads arc" in job.worker_plan.main.placement.why


def test_explain_tells_by_what_copies_are_spread(tmp_path: Path) -> None:
    job = job_for(BOTH_WAYS, {"arc": ARCS, "first": FIRST}, tmp_path, WORKERS, room_for_copies=2_000)
    assert job.worker_plan.copied == {"arc[2]": "arc"}
    assert (job.worker_plan.spread["arc"], job.worker_plan.spread["arc[2]"]) == (0, 1)
    assert "no column spreads" not in job.worker_plan.main.placement.why
