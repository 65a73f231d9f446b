"""Workers broken in every phase: the right answer or one clear error, and nothing is left afterwards.

A seed chooses what is broken, where and how often. Few of them run by default; `python3 dev.py faults-full` runs 50 for
each phase and mode.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark import cloudpickle

from emberlog.config import Execution, Recovery
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.engines.spark import launcher, worker_stage
from emberlog.engines.spark.job import Phase
from emberlog.engines.spark.launcher import Launcher
from emberlog.events import Event, ExecutorChosen, IterationFinished, Listener, RecursionRetried
from tests.spark import saboteurs
from tests.spark.answers import facts_of
from tests.spark.leftovers import nothing_but, traces
from tests.spark.saboteurs import Break

MODES = ("bsp", "decomposed", "async")
SEEDS = int(os.environ.get("EMBERLOG_FAULT_SEEDS", "0"))
RUNS = [
    (phase, mode, seed)
    for number, phase in enumerate(Phase)
    for place, mode in enumerate(MODES)
    for seed in range(SEEDS or 1)
    if SEEDS or number % len(MODES) == place
]
"""Each phase once, or everything."""
CHAIN = [(number, number + 1) for number in range(40)]
TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
NEAR = "tc(X, Y, min<D>) :- arc(X, Y), D = 1.\ntc(X, Y, min<D>) :- tc(X, Z, D1), arc(Z, Y), D = D1 + 1.\n"
TEXTS = (
    'tc(X, Y, "p1") :- arc(X, Y).\n'
    'tc(X, Y, L) :- tc(X, Z, K), arc(Z, Y), N = int(substr(K, 1, 9)) + 1, L = cat("p", to_string(N)).\n'
)
CLOSURE = {(a, b) for a in range(41) for b in range(a + 1, 41)}
ANSWERS = {
    TC: CLOSURE,
    NEAR: {(a, b, b - a) for a, b in CLOSURE},
    TEXTS: {(a, b, f"p{b - a}") for a, b in CLOSURE},
}
SOON = 1.0
"""Seconds after which a worker without a sign of life is lost here."""

SUITED = {
    "kill": Phase,
    "stall": Phase,
    "hang up": (Phase.READ, Phase.FIRST_ROUND, Phase.EXCHANGE),
    "truncate": (Phase.READ, Phase.FIRST_ROUND, Phase.EXCHANGE),
    "forge": (Phase.READ, Phase.FIRST_ROUND, Phase.EXCHANGE),
    "lose the driver": Phase,
    "fill the disk": (Phase.CHECKPOINT, Phase.WRITE),
    "cut files short": (Phase.RESULT_READ,),
    "lose files": (Phase.WRITE, Phase.RESULT_READ),
}
"""The phases in which each way to break something breaks something."""


@pytest.fixture(scope="module", autouse=True)
def saboteurs_reach_workers() -> Iterator[None]:
    """Workers do not have the tests, so what breaks them is sent along."""
    cloudpickle.register_pickle_by_value(saboteurs)  # type: ignore[no-untyped-call]
    yield
    cloudpickle.unregister_pickle_by_value(saboteurs)  # type: ignore[no-untyped-call]


@pytest.fixture
def arcs(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    database["arc"] = CHAIN
    before = traces(database.spark)
    yield database
    nothing_but(before, database.spark)


def run(
    arcs: Database, monkeypatch: pytest.MonkeyPatch, program: str, execution: Execution, injector: Break | None
) -> tuple[object, list[RecursionRetried]]:
    """The facts or the error, and the retries."""
    monkeypatch.setattr(Launcher, "injector", injector)
    retries: list[RecursionRetried] = []

    def hear(event: Event, /) -> None:
        if isinstance(event, RecursionRetried):
            retries.append(event)

    try:
        with arcs.datalog(program, execution=execution, listener=hear) as result:
            return facts_of(result["tc"]), retries
    except EmberlogError as error:
        return error, retries


@pytest.mark.parametrize(("phase", "mode", "seed"), RUNS, ids=lambda one: getattr(one, "value", one))
def test_right_answer_or_one_error(
    arcs: Database, monkeypatch: pytest.MonkeyPatch, phase: Phase, mode: str, seed: int
) -> None:
    dice = random.Random(f"{phase.value} {mode} {seed}")
    ways = [way for way, phases in SUITED.items() if phase in phases and way != "stall"]
    # Noticing a stall takes its time.
    way = "stall" if dice.random() < 0.1 else dice.choice(ways)
    injector = Break(way, phase, dice.randrange(2), dice.choice((1, 1, 2, 7)), dice.choice((1, 1, 1, 2, 3)))
    program = dice.choice((TC, NEAR, TEXTS))
    execution = Execution(
        "cyclic",
        mode,
        representation=dice.choice(("auto", "hash")) if program == TC and mode != "async" else "auto",
        recovery=Recovery(dice.choice((0, 1, 2)), SOON, checkpoint_rounds=dice.choice((1, 5))),
    )
    outcome, retries = run(arcs, monkeypatch, program, execution, injector)
    assert len(retries) <= execution.recovery.retries
    if isinstance(outcome, EmberlogError):
        (diagnostic,) = outcome.diagnostics
        assert diagnostic.code in ("DL521", "DL522"), str(outcome)
        assert "java" not in str(outcome).lower()
        assert outcome.__cause__ is None
    else:
        assert outcome == ANSWERS[program]


def test_a_killed_worker_is_told_of(arcs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    execution = Execution("cyclic", "bsp", recovery=Recovery(checkpoint_seconds=None))
    outcome, (retry,) = run(arcs, monkeypatch, TC, execution, Break("kill", Phase.EXCHANGE, times=4))
    assert outcome == CLOSURE
    assert (retry.attempt, retry.since) == (2, 0)
    assert "the process of a worker ended" in retry.reason


@pytest.mark.parametrize("mode", MODES)
def test_it_goes_on_from_the_last_checkpoint(arcs: Database, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    recovery = Recovery(checkpoint_seconds=None, checkpoint_rounds=5)
    execution = Execution("cyclic", mode, representation="hash" if mode != "async" else "auto", recovery=recovery)
    outcome, (retry,) = run(arcs, monkeypatch, TC, execution, Break("kill", Phase.CHECKPOINT, times=3))
    assert outcome == CLOSURE
    assert retry.since == 10 or (mode != "bsp" and retry.since % 5 == 0)


def test_texts_that_were_made_are_in_checkpoints(arcs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    execution = Execution("cyclic", "bsp", recovery=Recovery(checkpoint_seconds=None, checkpoint_rounds=5))
    outcome, (retry,) = run(arcs, monkeypatch, TEXTS, execution, Break("kill", Phase.CHECKPOINT, times=3))
    assert outcome == ANSWERS[TEXTS]
    assert retry.since == 10


@pytest.mark.parametrize("representation", ["marks", "lanes"])
def test_sources_that_are_done_are_not_closed_again(
    arcs: Database, monkeypatch: pytest.MonkeyPatch, representation: str
) -> None:
    recovery = Recovery(checkpoint_seconds=None, checkpoint_rounds=1)
    execution = Execution("cyclic", representation=representation, recovery=recovery)
    outcome, (retry,) = run(arcs, monkeypatch, TC, execution, Break("kill", Phase.RESULT_READ))
    assert outcome == CLOSURE
    assert retry.since == 20


def test_retries_come_to_an_end(arcs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    execution = Execution("cyclic", "bsp", recovery=Recovery(retries=1))
    error, retries = run(arcs, monkeypatch, TC, execution, Break("hang up", Phase.READ, attempts=9))
    assert isinstance(error, EmberlogError)
    assert "DL521" in str(error)
    assert "in each of 2 attempts" in str(error)
    assert len(retries) == 1


def test_a_stalled_worker_is_not_waited_for(arcs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    execution = Execution("cyclic", "decomposed", recovery=Recovery(stall_seconds=SOON))
    outcome, (retry,) = run(arcs, monkeypatch, TC, execution, Break("stall", Phase.WRITE))
    assert outcome == CLOSURE
    assert retry.reason == "worker 1 gave no sign of life for 1 seconds"


def test_a_full_disk(arcs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    error, retries = run(arcs, monkeypatch, TC, Execution("cyclic"), Break("fill the disk", Phase.WRITE))
    assert isinstance(error, EmberlogError)
    assert "error[DL522]: worker 1 could not write its results: No space left on device" in str(error)
    assert not retries


def test_rows_that_go_through_spark(arcs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    execution = Execution("cyclic", through_spark=True)
    outcome, retries = run(arcs, monkeypatch, TC, execution, Break("hang up", Phase.READ))
    assert outcome == CLOSURE
    assert len(retries) == 1


@pytest.mark.parametrize("through_spark", [False, True])
def test_workers_that_do_not_reach_the_driver(
    arcs: Database, monkeypatch: pytest.MonkeyPatch, through_spark: bool
) -> None:
    """They meet through Spark, which would repeat a stage of its own accord if something waited for it."""
    monkeypatch.setattr(worker_stage, "_why_through_spark", lambda *_: "executors do not reach the driver")
    chosen: list[str] = []

    def hear(event: Event, /) -> None:
        if isinstance(event, ExecutorChosen):
            chosen.append(event.how)

    with arcs.datalog(TC, execution=Execution("cyclic", through_spark=through_spark), listener=hear) as result:
        assert facts_of(result["tc"]) == CLOSURE
        assert result["tc"].limit(3).count() == 3
    assert "without live progress, because executors do not reach the driver" in chosen[0]
    execution = Execution("cyclic", "bsp", through_spark=through_spark, recovery=Recovery(retries=0))
    error, retries = run(arcs, monkeypatch, TC, execution, Break("kill", Phase.EXCHANGE, times=4))
    assert "error[DL521]: a recursion lost a worker: the process of a worker ended" in str(error)
    assert not retries


def test_slots_that_are_gone_are_done_without(arcs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "slots_after_a_loss", lambda *_, **__: 1)
    recovery = Recovery(checkpoint_seconds=None, checkpoint_rounds=5)
    execution = Execution("cyclic", "bsp", representation="hash", recovery=recovery)
    outcome, (retry,) = run(arcs, monkeypatch, TC, execution, Break("kill", Phase.CHECKPOINT, times=3))
    assert outcome == CLOSURE
    assert "the process of a worker ended" in retry.reason
    assert retry.reason.endswith("; it goes on with 1 worker instead of 2")
    assert retry.since == 10


LONG = "n(X) :- X = 0.\nn(Y) :- n(X), Y = X + 1, Y < 90000.\n"


def when_it_runs(act: Callable[[], object]) -> Listener:
    """A listener that does something in the first iteration."""
    done: list[object] = []

    def hear(event: Event, /) -> None:
        if isinstance(event, IterationFinished) and not done:
            done.append(act())

    return hear


def test_cancelling(arcs: Database) -> None:
    cancel = when_it_runs(arcs.spark.sparkContext.cancelAllJobs)
    with pytest.raises(EmberlogError, match=r"error\[DL513\]: the run was cancelled"):
        arcs.datalog(LONG, execution=Execution("cyclic"), listener=cancel)


def test_interrupting(arcs: Database) -> None:
    interrupt = when_it_runs(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        arcs.datalog(LONG, execution=Execution("cyclic"), listener=interrupt)
