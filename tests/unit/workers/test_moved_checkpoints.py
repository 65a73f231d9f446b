"""Attempts that go on with more or fewer workers than the last one had: each takes the rows that it owns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from emberlog.config import Execution, Recovery
from emberlog.engines.spark.job import Job, Phase, Status
from emberlog.engines.spark.task import TaskRun
from emberlog.workers.recover.resuming import Resume, is_bound, resumed
from emberlog.workers.store.folders import LocalFolder
from emberlog.workers.wire.frames import PeerLost
from tests.oracle import evaluate as reference
from tests.programs import checked
from tests.unit.workers.task_runs import facts_of, job_for, run_tasks

ARCS = [(one, one + 1) for one in range(30)] + [(one, one + 3) for one in range(0, 24, 4)]
ARC = "declare arc(int a, int b).\n"
TC = f"{ARC}tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
NEAR = f"{ARC}near(X, min<D>) :- X = 0, D = 0.\nnear(Y, min<D>) :- near(X, C), arc(X, Y), D = C + 1.\n"
LOW = f"{ARC}low(min<X>) :- arc(X, _), X > 27.\nlow(min<V>) :- low(U), V = greatest(U - 1, 0).\n"
"""One fact, which one worker has alone."""
DOUBLED = f"{ARC}tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), tc(Z, Y).\n"


@dataclass(slots=True)
class LostAt:
    """Worker 0 is lost at this moment."""

    phase: Phase
    times: int
    reached: int = 0

    def at(self, phase: Phase, run: TaskRun) -> None:
        if phase is self.phase and run.number == 0:
            self.reached += 1
            if self.reached == self.times:
                raise PeerLost("lost")


@pytest.fixture(autouse=True)
def checkpoints_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emberlog.workers.recover.checkpoints.MOST_OF_THE_TIME", 1e9)


def job_of(text: str, mode: str, folder: Path, workers: int, partitioning: str = "hash") -> Job:
    representation = "hash" if mode != "async" else "auto"
    execution = Execution(mode=mode, representation=representation, partitioning=partitioning)
    always = Recovery(checkpoint_seconds=1e-9)
    return job_for(text, {"arc": ARCS}, folder, workers, replace(execution, recovery=always))


def expected(text: str, name: str) -> list[tuple[object, ...]]:
    return sorted(reference.evaluate(checked(text), {"arc": ARCS})[name])


def go_on(job: Job, resume: Resume, workers: int, attempt: int = 2) -> Job:
    again = replace(job, workers=workers, attempt=attempt, resume=resume.manifests, is_moved=resume.is_moved)
    return replace(again, injector=None)


@pytest.mark.parametrize(("before", "now"), [(3, 2), (3, 1), (2, 3), (1, 2)])
@pytest.mark.parametrize(
    ("text", "mode", "partitioning"),
    [
        (TC, "bsp", "hash"),
        (TC, "bsp", "range"),
        (TC, "decomposed", "auto"),
        (TC, "async", "hash"),
        (TC, "async", "locality"),
        (NEAR, "bsp", "hash"),
        (NEAR, "bsp", "locality"),
        (LOW, "bsp", "hash"),
    ],
)
def test_each_takes_its_own(
    text: str, mode: str, partitioning: str, before: int, now: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(text, mode, tmp_path, before, partitioning)
    phase, times = (Phase.CHECKPOINT, 4) if mode == "decomposed" or before == 1 else (Phase.EXCHANGE, 12)
    if mode == "async":
        phase, times = Phase.RESULT_READ, 1  # the one moment when all are sure to have a checkpoint
    assert run_tasks(replace(job, injector=LostAt(phase, times)), monkeypatch)[0].status == Status.LOST
    resume = resumed(LocalFolder(tmp_path), 1, before, now)
    assert resume is not None and resume.is_moved
    assert len(resume.manifests) == before
    assert resume.iteration > 0 or mode == "async"
    summaries = run_tasks(go_on(job, resume, now), monkeypatch)
    assert [summary.status for summary in summaries] == [Status.DONE] * now
    name = job.outputs[0].title
    assert sorted(facts_of(job, summaries)) == expected(text, name)
    if mode != "async":
        whole = run_tasks(job_of(text, mode, tmp_path / "whole", now, partitioning), monkeypatch)
        rounds = [max(one.iterations for one in run) for run in (summaries, whole)]
        # Workers alone may have been in different rounds: there may seem to be fewer then, and never more.
        assert rounds[0] == rounds[1] or (mode == "decomposed" and rounds[0] <= rounds[1])


def test_an_attempt_without_checkpoints_hands_on_what_it_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_of(TC, "bsp", tmp_path, 3)
    run_tasks(replace(job, injector=LostAt(Phase.EXCHANGE, 12)), monkeypatch)
    assert not is_bound(LocalFolder(tmp_path), 1, 3)
    first = resumed(LocalFolder(tmp_path), 1, 3, 2)
    assert first is not None
    second = replace(go_on(job, first, 2), injector=LostAt(Phase.READ, 1))
    assert run_tasks(second, monkeypatch)[0].status == Status.LOST
    for place in (tmp_path / "attempt-2").iterdir():
        (tmp_path / "attempt-3" / place.name).mkdir(parents=True, exist_ok=True)
    assert resumed(LocalFolder(tmp_path), 2, 2, 3) == resumed(LocalFolder(tmp_path), 2, 2) == first
    summaries = run_tasks(go_on(job, first, 3, attempt=3), monkeypatch)
    assert sorted(facts_of(job, summaries)) == expected(TC, "tc")


def test_what_cannot_move_begins_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here each worker has copies by another column, too."""
    job = job_of(DOUBLED, "bsp", tmp_path, 3)
    assert run_tasks(replace(job, injector=LostAt(Phase.EXCHANGE, 8)), monkeypatch)[0].status == Status.LOST
    assert is_bound(LocalFolder(tmp_path), 1, 3)
    assert resumed(LocalFolder(tmp_path), 1, 3, 2) is None
    same = resumed(LocalFolder(tmp_path), 1, 3)
    assert same is not None and not same.is_moved


def test_what_is_too_much_to_be_read_by_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emberlog.workers.recover.resuming.MOST_READ_BY_ALL", 10)
    job = job_of(TC, "bsp", tmp_path, 3)
    run_tasks(replace(job, injector=LostAt(Phase.EXCHANGE, 12)), monkeypatch)
    assert resumed(LocalFolder(tmp_path), 1, 3, 2) is None
