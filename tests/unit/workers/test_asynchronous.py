"""Workers without rounds: joins of facts that are under way, limits, and what is told of them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from emberlog.config import Execution, Limits
from emberlog.diagnostics import EmberlogError
from emberlog.events import ExecutorChosen, IterationFinished
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.model import Fact
from emberlog.workers.fixpoint import shipping
from emberlog.workers.fixpoint.asynchronous import AsyncWorker
from emberlog.workers.fixpoint.shipping import Installing
from emberlog.workers.fixpoint.team import share_of
from emberlog.workers.fixpoint.worker import WorkerTask
from emberlog.workers.kernels.lanes import Lanes, no_rows
from emberlog.workers.plan.mode import Mode
from emberlog.workers.store.partitioning import Hashed
from emberlog.workers.store.texts import TextCodes
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Mail, Message, Progress
from tests.local_runs import plan_workers, run_locally
from tests.oracle import evaluate as reference
from tests.programs import checked
from tests.simulated_post import SimulatedPost, simulated

ARC = "declare arc(int from, int to).\n"

JOINS = {
    "two facts": "tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), tc(Z, Y).",
    "three facts": "tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, A), tc(A, B), tc(B, Y).",
    "two columns": "p(X, Y, Y) :- arc(X, Y). p(X, Y, Z) :- p(A, X, Y), p(X, Y, B), arc(B, Z).",
    "a minimum": "d(X, Y, min<C>) :- arc(X, Y), C = 1. d(X, Z, min<C>) :- d(X, Y, A), d(Y, Z, B), C = A + B.",
    "two relations": """
        p(X, Y) :- arc(X, Y).
        p(X, Z) :- q(Y, X), p(Y, Z).
        q(X, Z) :- p(X, Y), q(Y, Z).
        q(Y, X) :- arc(X, Y), X < Y.
    """,
    "a monotone sum": """
        owns(A, B) :- arc(A, B), B != 3.
        power(X, mcount<Y>) :- owns(X, Y).
        owns(X, Z) :- power(X, N), N > 1, owns(X, Y), owns(Y, Z).
    """,
}


def arcs(seed: int, vertices: int = 9, count: int = 14) -> list[Fact]:
    random = Random(seed)
    return sorted({(random.randrange(vertices), random.randrange(vertices)) for _ in range(count)})


@pytest.mark.parametrize("text", JOINS.values(), ids=list(JOINS))
def test_facts_that_set_out_to_meet_each_other_do(text: str) -> None:
    program = checked(ARC + text)
    plan = plan_program(program).plan
    for seed in range(40):
        facts = {"arc": arcs(seed)}
        expected = reference.evaluate(program, facts)
        with simulated(seed):
            found = run_locally(plan, facts, execution=Execution("cyclic", "async", 2 + seed % 4))
        assert found == expected, f"seed {seed}"


THREE_MEET = "p(X, Y) :- arc(X, Y). p(X, W) :- p(X, Y), p(Z, Y), p(Z, W), arc(W, X)."
"""The way of a valuation over a second worker can be shorter than that of a copy."""


def missed(workers: int) -> int:
    """How many of many runs miss a fact."""
    program = checked(ARC + THREE_MEET)
    plan, missing = plan_program(program).plan, 0
    for seed in range(120):
        random = Random(seed)
        vertices, count = random.randint(4, 9), random.randint(3, 8)
        facts = {"arc": [(random.randrange(vertices), random.randrange(vertices)) for _ in range(count)]}
        with simulated(seed):
            found = run_locally(plan, facts, execution=Execution("cyclic", "async", workers))
        missing += found != reference.evaluate(program, facts)
    return missing


@pytest.mark.parametrize("workers", [2, 3])
def test_no_valuation_is_missed_while_copies_are_under_way(workers: int) -> None:
    assert missed(workers) == 0


def test_facts_that_do_not_wait_for_their_copies_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the test above would show nothing."""

    def at_once(installing: Installing) -> list[tuple[str, Lanes]]:
        found, installing._new = installing._new, []
        return found

    monkeypatch.setattr(Installing, "released", at_once)
    assert missed(2) > 0


AGGREGATED = {
    "a set": "p(X, Y) :- arc(X, Y). p(X, Y) :- p(X, Z), arc(Z, Y). p(X, Y) :- p(Y, X).",
    "a minimum": "c(X, min<X>) :- arc(X, _). c(Y, min<Z>) :- c(X, Z), arc(X, Y). c(X, min<Z>) :- c(Y, Z), arc(X, Y).",
}


@pytest.mark.parametrize("text", AGGREGATED.values(), ids=list(AGGREGATED))
def test_what_is_shipped_is_combined_at_the_source(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shipment has one row for each fact or key; a fact leaves a worker once, and a value only if it is better."""
    shipped: list[tuple[AsyncWorker, int, Fact]] = []
    ship = AsyncWorker._shipment

    def watched(worker: AsyncWorker) -> Mail:
        mail = ship(worker)
        number, (relation,) = worker.task.number, worker.program.relations
        for message in mail:
            rows = [tuple(row) for row in message.batches.get(0, no_rows(relation.width)).T.tolist()]
            assert len(rows) == len({row[: relation.keys] for row in rows})
            shipped.extend((worker, number, row) for row in rows)
        return mail

    monkeypatch.setattr(AsyncWorker, "_shipment", watched)
    plan = plan_program(checked(ARC + text)).plan
    for seed in range(5):
        with simulated(seed), monkeypatch.context() as remembering:
            remembering.setattr(shipping, "MOST_REMEMBERED", 1 << 20)
            run_locally(plan, {"arc": arcs(seed, 20, 40)}, execution=Execution("cyclic", "async", 3))
    assert len(shipped) > 100
    assert len(shipped) == len(set(shipped))


def test_a_fact_waits_until_all_copies_are_confirmed() -> None:
    installing = Installing(3)
    first, second = np.array([[1]]), np.array([[2]])
    installing.hold("p", first)
    assert installing.has_new and installing.released() == []
    installing.sent = [0, 1, 1]
    installing.shipped()
    installing.confirmed = [0, 1, 0]
    assert installing.released() == []
    installing.hold("p", second)
    installing.sent = [0, 2, 1]
    installing.shipped()
    installing.confirmed = [0, 1, 1]
    assert installing.released() == [("p", first)]
    assert installing.released() == []
    installing.confirmed = [0, 2, 1]
    assert installing.released() == [("p", second)]


def test_a_slow_worker_does_not_stop_the_others() -> None:
    """The others derive all that they can, and tell each other, before it has taken its first turn."""
    edges = np.array(sorted({(a, b) for a, b in arcs(1, 60, 70)} | {(b, a) for a, b in arcs(1, 60, 70)})).T
    plan = plan_program(checked(ARC + "c(X, X) :- arc(X, _). c(Y, min<Z>) :- c(X, Z), arc(X, Y).")).plan
    worker_plan = plan_workers(plan.strata, plan.strata[0], plan.outputs, Execution(mode="async"))
    program, placement = worker_plan.main.program, worker_plan.main.placement
    tasks = [WorkerTask(program, placement, number, 3, TextCodes(), Limits()) for number in range(3)]
    workers = [AsyncWorker(task, {"arc": share_of(edges, 0, task.number, Hashed(3))}) for task in tasks]
    post, slow = SimulatedPost(Random(1), 3), workers[2]
    running = [worker.run() for worker in workers[:2]]
    mails = [next(one) for one in running]
    while True:
        for number, mail in enumerate(mails):
            post.send(number, mail)
        post.now += 100
        ready = [number for number in (0, 1) if workers[number].patience == 0 or post.due(number, {0, 1, 2})]
        if not ready:
            break
        mails = [[Message() for _ in range(3)] for _ in range(2)]
        for number in ready:
            mails[number] = running[number].send(post.taken(number, post.due(number, {0, 1, 2} - {number})))
    assert slow.iteration == 0
    assert all(worker.iteration > 1 and worker.effort.exchanges > 1 for worker in workers[:2])
    assert post.channels[0, 2] and post.channels[1, 2], "what is for the slow one waits for it"


def failed(text: str, limits: Limits, workers: int = 3) -> str:
    plan = plan_program(checked(text)).plan
    with pytest.raises(EmberlogError) as caught:
        run_locally(plan, {}, limits, Execution(workers=workers, mode="async"))
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    ("code", "limits"),
    [("DL510", Limits(max_iterations=50)), ("DL511", Limits(max_rows=50)), ("DL512", Limits(timeout=0.2))],
)
def test_a_recursion_without_end_comes_to_its_limit(code: str, limits: Limits, workers: int) -> None:
    assert failed("n(0). n(Y) :- n(X), Y = X + 1.", limits, workers) == code


def test_an_error_on_one_worker_ends_the_others() -> None:
    assert failed("n(1). n(Y) :- n(X), Y = X * 3.", Limits()) == "DL502"


@pytest.mark.parametrize(
    "text",
    [
        "@iterations(3) r(X, sum<V>) :- r(Y, V), arc(Y, X). r(X, sum<V>) :- arc(X, _), V = 1.",
        "r(X, 0, sum<V>) :- arc(X, _), V = 1. r(Y, I + 1, sum<V>) :- r(X, I, V), arc(X, Y), I < 3.",
    ],
    ids=["bounded", "staged"],
)
def test_what_needs_rounds_is_refused(text: str) -> None:
    plan = plan_program(checked(ARC + text)).plan
    with pytest.raises(EmberlogError, match="DL334"):
        run_locally(plan, {"arc": arcs(1)}, execution=Execution(workers=2, mode="async"))


def test_facts_kept_as_bits_need_another_mode() -> None:
    with pytest.raises(EmberlogError, match="DL508"):
        Execution(mode="async", representation="lanes")


def test_events_tell_of_local_rounds() -> None:
    events: list[object] = []
    plan = plan_program(checked(ARC + "c(X, X) :- arc(X, _). c(Y, min<Z>) :- c(X, Z), arc(X, Y).")).plan
    chain = [(vertex, vertex + 1) for vertex in range(30)]
    found = run_locally(plan, {"arc": chain}, execution=Execution(workers=3, mode="async"), listener=events.append)
    (chosen,) = [event for event in events if isinstance(event, ExecutorChosen)]
    assert chosen.how == "3 workers in this process, async"
    rounds = [event for event in events if isinstance(event, IterationFinished)]
    assert [event.iteration for event in rounds] == sorted({event.iteration for event in rounds})
    assert rounds[-1].total_rows == len(found["c"]) == 31
    assert sum(event.delta_rows for event in rounds) >= 31


def test_the_worker_with_the_most_local_rounds_sets_the_pace() -> None:
    told: list[Progress] = []
    progress = MergedProgress(2, told.append, Mode.ASYNC)
    progress.report(0, Progress(1, 5, 5, 100))
    progress.report(1, Progress(1, 2, 2, 10))
    assert told == []
    progress.report(0, Progress(2, 1, 6, 200))
    assert told == [Progress(1, 7, 7, 110)]
    progress.report(1, Progress(2, 3, 5, 20))
    progress.finish(0)
    progress.finish(1)
    assert told[1:] == [Progress(2, 4, 11, 220)]
