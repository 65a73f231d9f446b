"""Texts that rules make, on workers that share nothing: whoever holds a code can read it back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from emberlog.config import Execution, Recovery
from emberlog.engines.spark.job import Phase, Status
from emberlog.engines.spark.task import TaskRun
from emberlog.io.local_relation import cell_of
from emberlog.semantics.model import Fact
from emberlog.workers.kernels.hashing import hash_texts
from emberlog.workers.kernels.lanes import Lane
from emberlog.workers.recover.resuming import resumed
from emberlog.workers.store import texts
from emberlog.workers.store.folders import LocalFolder
from emberlog.workers.wire.frames import PeerLost
from tests.oracle import evaluate as reference
from tests.programs import checked
from tests.unit.workers.task_runs import facts_in, facts_of, job_for, run_tasks

PATHS = """\
declare arc(string a, string b).
path(X, Y, cat(X, Y)) :- arc(X, Y).
path(X, Z, cat(P, Z)) :- path(X, Y, P), arc(Y, Z), !contains(P, Z), len(P) < 7.
"""
MEETING = """\
declare arc(string a, string b).
word(X) :- arc(X, _).
word(T) :- word(S), arc(A, B), starts_with(S, A), T = cat(substr(S, 1, 9), upper(B)), len(T) < 3.
word(T) :- word(S), word(lower(S)), T = cat(S, "é"), len(T) < 5, S > "B".
"""
PAIRS = """\
declare arc(string a, string b).
path(X, P) :- arc(X, Y), encd(Y, 1, P).
path(X, Q) :- path(X, P), decd(P, Y, N), arc(Y, Z), M = N + 1, M < 5, encd(Z, M, Q), Q > P.
"""
ARCS = {("a", "b"), ("b", "c"), ("c", "a"), ("b", "d"), ("d", "e"), ("é", "a"), ("e", "é")}
MODES = {
    "bsp": Execution(mode="bsp"),
    "async": Execution(mode="async"),
    "auto": Execution(),
}


def expected(text: str) -> frozenset[Fact]:
    (answer,) = reference.evaluate(checked(text), {"arc": frozenset(ARCS)}).values()
    return answer


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", [PATHS, MEETING, PAIRS])
def test_they_come_out(text: str, mode: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summaries = run_tasks(job_for(text, {"arc": ARCS}, tmp_path, workers, MODES[mode]), monkeypatch)
    assert {summary.status for summary in summaries} == {Status.DONE}
    found = [tuple(map(cell_of, fact)) for fact in facts_in(tmp_path / "relation-0")]
    assert sorted(found) == sorted(expected(text))


def colliding(one: str, other: str) -> Callable[[Lane, np.ndarray, int], Lane]:
    """Gives two texts the same hash, with the first seed."""
    true = hash_texts

    def hashed(starts: Lane, letters: np.ndarray, seed: int) -> Lane:
        found: Lane = true(starts, letters, seed)
        for place, (begin, end) in enumerate(pairwise(starts.tolist())):
            if not seed and bytes(letters[begin:end]).decode() in (one, other):
                found[place] = 7
        return found

    return hashed


@pytest.mark.parametrize("mode", ["bsp", "async"])
@pytest.mark.parametrize("other", ["bca", "a"])
def test_two_with_one_hash_are_noticed(mode: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether both are made, on any two workers, or one was read."""
    monkeypatch.setattr(texts, "hash_texts", colliding("abc", other))
    job = job_for(PATHS, {"arc": ARCS}, tmp_path, 3, MODES[mode])
    assert Status.SAME_HASH in {summary.status for summary in run_tasks(job, monkeypatch)}
    summaries = run_tasks(replace(job, seed=1), monkeypatch)
    assert {summary.status for summary in summaries} == {Status.DONE}


@dataclass(slots=True)
class LostInARound:
    """Worker 1 is lost when it has exchanged so often."""

    exchanges: int
    done: int = field(default=0)

    def at(self, phase: Phase, run: TaskRun) -> None:
        if phase is Phase.EXCHANGE and run.number == 1:
            self.done += 1
            if self.done > self.exchanges:
                raise PeerLost("lost")


@pytest.mark.parametrize("mode", ["bsp", "async"])
def test_they_are_in_checkpoints(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emberlog.workers.recover.checkpoints.MOST_OF_THE_TIME", 1e9)
    execution = replace(MODES[mode], representation="hash", recovery=Recovery(checkpoint_seconds=1e-9))
    resumes = 0
    for exchanges in (2, 3, 4):
        job = job_for(PATHS, {"arc": ARCS}, tmp_path / str(exchanges), 2, execution)
        broken = run_tasks(replace(job, injector=LostInARound(exchanges)), monkeypatch)
        assert broken[1].status == Status.LOST
        resume = resumed(LocalFolder(tmp_path / str(exchanges)), 1, 2)
        resumes += resume is not None
        again = replace(job, attempt=2, resume=resume.manifests if resume else ())
        summaries = run_tasks(again, monkeypatch)
        assert {summary.status for summary in summaries} == {Status.DONE}
        assert sorted(facts_of(job, summaries)) == sorted(expected(PATHS))
    assert resumes
