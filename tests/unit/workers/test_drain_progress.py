"""Results that one attempt wrote in part and the next one writes to their end: each fact once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import pytest

from emberlog.config import Execution, Recovery
from emberlog.engines.spark.job import Phase, Status
from emberlog.engines.spark.task import TaskRun
from emberlog.semantics.model import Fact
from emberlog.workers.recover.checkpoints import FOLDER, Manifest
from emberlog.workers.recover.resuming import resumed
from emberlog.workers.store.folders import LocalFolder
from emberlog.workers.wire.draining import check_files
from emberlog.workers.wire.frames import PeerLost
from tests.unit.workers.task_runs import facts_of, job_for, run_tasks

SIZE = 12
ARCS = {(one, one + 1) for one in range(SIZE)} | {(one, one + 3) for one in range(SIZE - 2)}
CLOSURE = {(one, other) for one in range(SIZE + 1) for other in range(one + 1, SIZE + 1)}
TC = "tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y)."
TWO = "odd(X, Y) :- arc(X, Y). even(X, Y) :- odd(X, Z), arc(Z, Y). odd(X, Y) :- even(X, Z), arc(Z, Y)."
NEAREST = "near(X, Y, min<1>) :- arc(X, Y). near(X, Y, min<D + 1>) :- near(X, Z, D), arc(Z, Y)."


@dataclass(slots=True)
class LostWhileWriting:
    """Worker 0 is lost after so many batches."""

    batches: int
    written: int = field(default=0)

    def at(self, phase: Phase, run: TaskRun) -> None:
        if phase is Phase.WRITE and run.number == 0:
            self.written += 1
            if self.written > self.batches:
                raise PeerLost("lost")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """And a checkpoint after each."""
    monkeypatch.setattr("emberlog.workers.store.relations.RESULT_BATCH", 5)
    monkeypatch.setattr("emberlog.workers.recover.checkpoints.MOST_OF_THE_TIME", 1e9)
    yield


def in_two_attempts(
    text: str, execution: Execution, batches: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[list[Fact]], int]:
    """The facts of each relation, and how many files the second attempt found."""
    execution = replace(execution, recovery=Recovery(checkpoint_seconds=1e-9))
    run = LocalFolder(tmp_path)
    job = job_for(text, {"arc": ARCS}, tmp_path, 2, execution)
    broken = run_tasks(replace(job, injector=LostWhileWriting(batches)), monkeypatch)
    assert broken[0].status == Status.LOST
    resume = resumed(run, 1, 2)
    assert resume is not None
    names = [f"attempt-2/{FOLDER}/{name}" for name in resume.manifests if name is not None]
    found = sum(len(Manifest.read(run, name).results) for name in names)
    again = replace(job, attempt=2, resume=resume.manifests)
    summaries = run_tasks(again, monkeypatch)
    assert [summary.status for summary in summaries] == [Status.DONE, Status.DONE]
    answers = [facts_of(job, summaries, number) for number in range(len(job.outputs))]
    check_files(run, {name: size for one in summaries for files in one.files.values() for name, size in files.items()})
    for output, facts in zip(job.outputs, answers, strict=True):
        assert sum(summary.rows[output.title] for summary in summaries) == len(facts)
    return answers, found


@pytest.mark.parametrize("mode", ["decomposed", "bsp"])
def test_what_is_written_stays(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execution = Execution(mode=mode, representation="hash")
    for batches in range(4):
        (facts,), found = in_two_attempts(TC, execution, batches, tmp_path / str(batches), monkeypatch)
        assert sorted(facts) == sorted(CLOSURE), batches
        assert found or batches < 2


def test_several_relations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walks = {1: set(ARCS)}
    for length in range(2, SIZE + 2):
        walks[length] = {(a, c) for (a, b), (d, c) in product(walks[length - 1], ARCS) if b == d}
    for batches in (1, 3, 5, 7, 9):
        answers, found = in_two_attempts(TWO, Execution(mode="bsp"), batches, tmp_path / str(batches), monkeypatch)
        both = [set().union(*(walks[length] for length in walks if length % 2 == odd)) for odd in (1, 0)]
        assert sorted(map(sorted, answers)) == sorted(map(sorted, both)), batches
        assert found or batches < 2


def test_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for batches in (1, 3, 5):
        (facts,), found = in_two_attempts(NEAREST, Execution(), batches, tmp_path / str(batches), monkeypatch)
        expected = {(a, b, next(n for n in range(SIZE) if b - a in range(n, 3 * n + 1, 2))) for a, b in CLOSURE}
        assert sorted(facts) == sorted(expected), batches
        assert found or batches < 2
