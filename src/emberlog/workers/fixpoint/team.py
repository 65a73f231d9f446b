"""Makes the workers of a recursion, and drives them in this process, with no Spark."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Condition

import numpy as np

from emberlog.semantics.model import RecursionCase
from emberlog.workers.fixpoint.asynchronous import AsyncWorker, drive_freely
from emberlog.workers.fixpoint.bounded import BoundedWorker
from emberlog.workers.fixpoint.factored_worker import FactoredWorker
from emberlog.workers.fixpoint.rounds import RoundsWorker
from emberlog.workers.fixpoint.staged import StagedWorker
from emberlog.workers.fixpoint.worker import Worker, WorkerTask
from emberlog.workers.kernels.hashing import rows_of_owner
from emberlog.workers.kernels.lanes import Lanes, joined
from emberlog.workers.kernels.tuning import MATRIX_MEMORY
from emberlog.workers.plan.factored import DoesNotFactor, Factored, factor
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.partition_choice import Kind, Walk
from emberlog.workers.plan.representation import Representation
from emberlog.workers.store.partitioning import Hashed, Partitioning, as_lanes, divided, from_lanes
from emberlog.workers.store.stores import StaticStore
from emberlog.workers.wire.messages import Carrier, Mail, Message, Progress, Running


class Closed(Exception):
    """Says that another worker has failed, and that no more messages come."""


class Mailboxes:
    def __init__(self, workers: int) -> None:
        self._channels: list[list[deque[Message]]] = [[deque() for _ in range(workers)] for _ in range(workers)]
        """By receiver and sender: what is under way."""
        self._changed = Condition()
        self._is_closed = False

    def trade(self, number: int, mail: Mail, senders: Collection[int], patience: float | None) -> Mail:
        """Takes the mail of a worker; returns the next message of each of the others, empty where there is none. Where
        nobody has any, it waits for one, but no longer than so many seconds."""
        until = None if patience is None else time.monotonic() + patience
        with self._changed:
            for receiver, message in enumerate(mail):
                if message.numbers:
                    self._channels[receiver][number].append(message)
            self._changed.notify_all()
            mine = self._channels[number]
            while not any(mine[sender] for sender in (*senders, number)) and not self._is_closed:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    break
                self._changed.wait(left)
            if self._is_closed:
                raise Closed
            found = [Message() for _ in mine]
            for sender in (*senders, number):
                if mine[sender]:
                    found[sender] = mine[sender].popleft()
            return found

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()


def worker_for(
    task: WorkerTask, statics: Mapping[str, StaticStore], report: Callable[[Progress], None] = lambda _: None
) -> Worker:
    """Returns the kind of worker that the recursion needs."""
    if task.placement.mode is Mode.ASYNC:
        return AsyncWorker(task, statics, report)
    match task.program.recursion.case:
        case RecursionCase.BOUNDED:
            return BoundedWorker(task, statics, report)
        case RecursionCase.STAGED:
            return StagedWorker(task, statics, report)
        case RecursionCase.SET if (factored := _factors(task)) is not None:
            memory = MATRIX_MEMORY if task.memory is None else min(MATRIX_MEMORY, task.memory // 2)
            return FactoredWorker(
                task, statics, report, factored=factored, representation=task.representation, memory=memory
            )
        case _:
            return RoundsWorker(task, statics, report)


def _factors(task: WorkerTask) -> Factored | None:
    """Returns the factors of a recursion, if they are to be used."""
    if task.representation is Representation.HASH:
        return None
    try:
        factored = factor(task.program)
    except DoesNotFactor:
        return None
    spread = task.placement.statics
    is_whole = task.workers == 1 or all(spread[name] is None for name in factored.relations_of_steps)
    return factored if is_whole else None


def run_workers(workers: Sequence[Worker]) -> None:
    """Runs workers to their end, several in threads of their own: kernels leave the interpreter to the others."""
    if any(isinstance(worker, AsyncWorker) for worker in workers):
        _run_freely([worker for worker in workers if isinstance(worker, AsyncWorker)])
    else:
        drive([_measured(worker) for worker in workers])


def _run_freely(workers: Sequence[AsyncWorker]) -> None:
    """Runs workers that go on by themselves: messages arrive when they arrive."""
    mailboxes = Mailboxes(len(workers))

    def run(worker: AsyncWorker) -> None:
        try:
            drive_freely(worker, partial(mailboxes.trade, worker.task.number))
        except BaseException:
            mailboxes.close()
            raise

    with ThreadPoolExecutor(len(workers)) as threads:
        ends = [threads.submit(run, worker) for worker in workers]
    failures = [error for end in ends if (error := end.exception()) is not None]
    # A worker that fails takes the others with it: the one with a reason of its own counts.
    for error in sorted(failures, key=lambda error: isinstance(error, Closed)):
        raise error


def drive(running: Sequence[Running]) -> None:
    """Drives workers in step: everyone's mail is handed over when everyone has some."""
    if len(running) == 1:
        _drive_alone(running[0])
        return
    with ThreadPoolExecutor(len(running)) as threads:
        waiting = list(threads.map(_started, running))
        while all(mail is not None for mail in waiting):
            sent = [mail for mail in waiting if mail is not None]
            received = [[mail[number] for mail in sent] for number in range(len(running))]
            waiting = list(threads.map(_resumed, running, received))
    if any(mail is not None for mail in waiting):
        raise AssertionError("DL901: some workers ended while others wait for them")


def _drive_alone(running: Running) -> None:
    """Drives a worker without a thread of its own."""
    mail = _started(running)
    while mail is not None:
        mail = _resumed(running, mail)


def _started(running: Running) -> Mail | None:
    return next(running, None)


def _resumed(running: Running, received: Mail) -> Mail | None:
    """Returns what the worker has for the others next; None when it is done."""
    try:
        return running.send(received)
    except StopIteration:
        return None


def _measured(worker: Worker) -> Running:
    """Runs a worker, and measures how long it computes and how long it waits."""
    running = worker.run()
    worker.effort.began()
    mail = next(running, None)
    while mail is not None:
        worker.effort.worked()
        received = yield mail
        worker.effort.waited()
        worker.effort.exchanges += 1
        mail = _resumed(running, received)
    worker.effort.worked()


def share_of(rows: Lanes, column: int | None, number: int, partitioning: Partitioning) -> StaticStore:
    """Returns what a worker keeps of a relation that does not change: all of it, or the part that `column` spreads to
    it."""
    if column is None or partitioning == Hashed(1):
        return StaticStore(rows)
    return StaticStore(rows_of_owner(rows, partitioning.owners(rows[column]), number))


# All workers come to the same partitioning: one sees all arcs, and tells the others where everything belongs.


def arcs_of(walks: Sequence[Walk], relations: Mapping[str, Lanes]) -> Lanes:
    """Returns the arcs that are walked, a row for each: where from, where to."""
    return joined([np.ascontiguousarray(relations[one.relation][[one.origin, one.target]]) for one in walks], 2)


def agreed(
    kind: Kind, walks: Sequence[Walk], shares: Mapping[str, Lanes], exchange: Carrier, workers: int
) -> Partitioning:
    """Returns the partitioning for relations of which every worker has a share."""
    if kind is Kind.HASH or workers == 1:
        return Hashed(workers)
    mail = [Message() for _ in range(workers)]
    mail[0].batches[0] = arcs_of(walks, shares)
    received = exchange.swap(mail)
    mail = [Message() for _ in range(workers)]
    if exchange.number == 0:
        found = divided(kind, joined([message.batches[0] for message in received], 2), workers)
        for message in mail:
            message.batches[0] = as_lanes(found)
    return from_lanes(exchange.swap(mail)[0].batches[0], workers)
