"""Texts whose letters nobody needs before results are written: each is with the owner of its code, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from emberlog.config import Execution, Recovery
from emberlog.engines.spark.description import described
from emberlog.engines.spark.job import Status
from emberlog.engines.spark.task import TaskRun
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Fact
from emberlog.workers.kernels.lanes import NULL
from emberlog.workers.recover.resuming import resumed
from emberlog.workers.store import texts
from emberlog.workers.store.folders import LocalFolder
from emberlog.workers.store.texts import SpreadTexts
from tests.oracle import evaluate as reference
from tests.programs import checked
from tests.unit.workers.task_runs import facts_in, facts_of, job_for, run_tasks
from tests.unit.workers.test_made_texts import LostInARound, colliding

ARC = "declare arc(string a, string b).\n"
CLOSURE = f"{ARC}tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
NONLINEAR = f"{ARC}tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), tc(Z, Y), X != Y.\n"
WITH_CONSTANTS = f"""{ARC}
r("start", "n0").
r(X, "end") :- arc(X, "n3").
r(X, Y) :- r(X, Z), arc(Z, Y), Y != "n5".
"""
PROGRAMS = {"closure": CLOSURE, "nonlinear": NONLINEAR, "constants": WITH_CONSTANTS}
ARCS = frozenset((f"n{a}", f"n{b}") for a, b in ((0, 1), (1, 2), (2, 3), (3, 1), (4, 0), (5, 4), (2, 5), (6, 7)))
SETUPS = {
    "bsp": Execution(mode="bsp", representation="hash"),
    "async": Execution(mode="async"),
    "auto": Execution(),
}


def expected(text: str) -> list[Fact]:
    (answer,) = reference.evaluate(checked(text), {"arc": ARCS}).values()
    return sorted(answer)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[SpreadTexts]:
    """What the workers of all runs know of texts."""
    found: list[SpreadTexts] = []
    original = TaskRun.__init__

    def noted(run: TaskRun, *arguments: Any) -> None:
        original(run, *arguments)
        assert isinstance(run.texts, SpreadTexts)
        found.append(run.texts)

    monkeypatch.setattr(TaskRun, "__init__", noted)
    return found


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_come_out(
    name: str, setup: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: list[SpreadTexts]
) -> None:
    job = job_for(PROGRAMS[name], {"arc": ARCS}, tmp_path, workers, SETUPS[setup])
    assert {summary.status for summary in run_tasks(job, monkeypatch)} == {Status.DONE}
    assert sorted(facts_in(tmp_path / "relation-0")) == expected(PROGRAMS[name])
    own = [set(table.own.since(0).to_pylist()) for table in tables]
    assert {text for fact in ARCS for text in fact} <= set.union(*own)
    assert sum(map(len, own)) == len(set.union(*own))  # nobody has what another owns


def test_results_of_different_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers without a batch left answer those that have more."""
    monkeypatch.setattr("emberlog.workers.store.relations.RESULT_BATCH", 2)
    job = job_for(CLOSURE, {"arc": ARCS}, tmp_path, 3, SETUPS["bsp"])
    assert {summary.status for summary in run_tasks(job, monkeypatch)} == {Status.DONE}
    assert sorted(facts_in(tmp_path / "relation-0")) == expected(CLOSURE)


@pytest.mark.parametrize("mode", ["bsp", "async"])
def test_two_with_one_hash_are_noticed_by_the_owner(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "hash_texts", colliding("n0", "n7"))
    job = job_for(CLOSURE, {"arc": ARCS}, tmp_path, 3, SETUPS[mode])
    assert Status.SAME_HASH in {summary.status for summary in run_tasks(job, monkeypatch)}
    assert {summary.status for summary in run_tasks(replace(job, seed=1), monkeypatch)} == {Status.DONE}


def test_after_a_lost_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints have codes only: all texts are in what is read again."""
    monkeypatch.setattr("emberlog.workers.recover.checkpoints.MOST_OF_THE_TIME", 1e9)
    execution = replace(SETUPS["bsp"], recovery=Recovery(checkpoint_seconds=1e-9))
    job = job_for(CLOSURE, {"arc": ARCS}, tmp_path, 2, execution)
    broken = run_tasks(replace(job, injector=LostInARound(4)), monkeypatch)
    assert broken[1].status == Status.LOST
    resume = resumed(LocalFolder(tmp_path), 1, 2)
    assert resume is not None
    summaries = run_tasks(replace(job, attempt=2, resume=resume.manifests), monkeypatch)
    assert {summary.status for summary in summaries} == {Status.DONE}
    assert sorted(facts_of(job, summaries)) == expected(CLOSURE)


def test_what_each_worker_sends_falls_with_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arcs = [(f"{'long ' * 20}{a}", f"{'long ' * 20}{a + 1}") for a in range(0, 4000, 2)]
    sent = []
    for workers in (2, 4, 8):
        job = job_for(CLOSURE, {"arc": arcs}, tmp_path / str(workers), workers, SETUPS["bsp"])
        summaries = run_tasks(job, monkeypatch)
        assert {summary.status for summary in summaries} == {Status.DONE}
        sent.append(max(summary.bytes_sent for summary in summaries))
    assert sent == sorted(sent, reverse=True)


def test_what_was_asked_for_stays_only_while_there_is_room() -> None:
    table = SpreadTexts(0, 2, room=1000)
    codes = table.encode(pa.array([f"{number:100}" for number in range(40)]))
    theirs = table.leaving()[1]
    asked = table.wanted([codes, np.array([NULL])])
    assert list(asked) == [1]
    assert len(asked[1]) == len(theirs)
    table.learn(theirs)
    assert not table.wanted([codes[:5]])
    assert sorted(table.decode(asked[1]).to_pylist()) == sorted(theirs.to_pylist())
    more = table.encode(pa.array([f"another {number}" for number in range(40)]))
    theirs = table.leaving()[1]
    wanted = table.wanted([asked[1], more])  # there is no room for more, so all of it is asked for again
    assert len(wanted[1]) == len(asked[1]) + len(theirs)


def test_a_code_that_is_unknown_is_an_error() -> None:
    with pytest.raises(AssertionError, match="DL901"):
        SpreadTexts(0, 2).decode(np.array([1]))


@pytest.mark.parametrize(
    ("rules", "looks_into_them"),
    [
        ('tc(X, Y) :- arc(X, Y), X != Y, X != "a".', False),
        ("tc(X, Y) :- arc(X, Y), X < Y.", True),
        ("tc(X, cat(X, Y)) :- arc(X, Y).", True),
        ("tc(X, Y) :- arc(X, Y), len(Y) > 3.", True),
        ("tc(X, Y) :- arc(X, Y), lower(X) = Y.", True),
    ],
)
def test_the_plan_says_where_they_are(rules: str, looks_into_them: bool) -> None:
    text = f"{ARC}{rules}\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
    (line,) = (line.strip() for line in described(plan_program(checked(text)).plan) if "texts:" in line)
    if looks_into_them:
        assert line.startswith("texts: all on every worker, because ")
    else:
        assert line == "texts: spread by their hashes, and asked for when results are written"
