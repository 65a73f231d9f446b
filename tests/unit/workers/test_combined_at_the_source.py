"""Contributions are combined where they are made: a worker sends at most one row for each key in a round, whatever the
aggregate and however many rules and arcs contribute to it."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from emberlog.config import DEFAULT_LIMITS
from emberlog.logical.nodes import Fixpoint
from emberlog.optimize.pipeline import plan_program
from emberlog.workers.fixpoint.team import share_of, worker_for
from emberlog.workers.fixpoint.worker import Worker, WorkerTask
from emberlog.workers.plan.compile import compile_fixpoint
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.placement import place
from emberlog.workers.store.partitioning import Hashed
from emberlog.workers.store.texts import TextCodes
from emberlog.workers.wire.messages import Mail
from tests.programs import checked

WORKERS = 3
VERTICES = 60
ARCS = random.Random(5).sample([(a, b) for a in range(VERTICES) for b in range(VERTICES) if a != b], 900)

ARC = "declare arc(int a, int b).\n"
PAGERANK = f"""{ARC}declare node(int a).
declare degree(int a, int n).
@iterations(8)
rank(X, sum<V>) :- node(X), V = 0.15.
rank(Y, sum<V>) :- rank(X, R), arc(X, Y), degree(X, D), V = 0.85 * R / D.
"""
FUNCTIONS = ("sum<V>", "count<V>", "avg<V>", "min<V>", "max<V>", "argmin<V, X>", "argmax<V, X>")


def bounded(function: str) -> str:
    """Every aggregate is legal with a bound; each target gets a contribution along each arc."""
    seed = f"p(X, {function}) :- arc(X, _), V = 1.0."
    return f"{ARC}@iterations(4)\n{seed}\np(Y, {function}) :- p(X, W), arc(X, Y), V = 1.0."


def statics() -> dict[str, np.ndarray]:
    arcs = np.array(ARCS, np.int64).T
    values, counts = np.unique(arcs[0], return_counts=True)
    return {
        "arc": np.ascontiguousarray(arcs),
        "node": np.arange(VERTICES, dtype=np.int64)[None],
        "degree": np.stack([values, counts]),
    }


def team(text: str) -> list[Worker]:
    (fixpoint,) = [one.root for one in plan_program(checked(text)).plan.strata if isinstance(one.root, Fixpoint)]
    program = compile_fixpoint(fixpoint)
    placement = place(program, mode=Mode.BSP)
    workers = []
    for number in range(WORKERS):
        task = WorkerTask(program, placement, number, WORKERS, TextCodes(), DEFAULT_LIMITS)
        shares = {
            name: share_of(rows, placement.statics[name], number, Hashed(WORKERS))
            for name, rows in statics().items()
            if name in program.statics
        }
        workers.append(worker_for(task, shares))
    return workers


def exchanges(workers: list[Worker]) -> Iterator[list[Mail]]:
    """The mail of all workers, exchange by exchange, until they are done."""
    running = [worker.run() for worker in workers]
    sent = [next(one) for one in running]
    while True:
        yield sent
        received = [[mail[number] for mail in sent] for number in range(WORKERS)]
        try:
            sent = [one.send(mail) for one, mail in zip(running, received, strict=True)]
        except StopIteration:
            return


def rows_for_keys(mail: Mail) -> tuple[int, int]:
    """How many rows a worker sends, to itself and others, and for how many different keys."""
    keys = np.concatenate([lanes[0] for message in mail for lanes in message.batches.values()] or [np.empty(0)])
    return len(keys), len(np.unique(keys))


@pytest.mark.parametrize("text", [PAGERANK, *map(bounded, FUNCTIONS)], ids=["pagerank", *FUNCTIONS])
def test_one_row_for_each_target_from_each_worker_in_each_iteration(text: str) -> None:
    most = rounds = 0
    for sent in exchanges(team(text)):
        for mail in sent:
            rows, keys = rows_for_keys(mail)
            assert rows == keys
            most = max(most, rows)
        rounds += any(message.batches for mail in sent for message in mail)
    assert rounds >= 2
    assert most > VERTICES / 2  # otherwise there would be little to combine
