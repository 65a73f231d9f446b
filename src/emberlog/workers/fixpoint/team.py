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
from emberlog.workers.kernels.hashing import parts_by_owner, rows_of_owner
from emberlog.workers.kernels.lanes import Lane, Lanes, joined, no_rows
from emberlog.workers.kernels.threads import in_threads
from emberlog.workers.kernels.tuning import GROUPS_PER_WORKER, MATRIX_MEMORY, MOST_ARCS, SHORT_ROUND, SHORT_ROUNDS
from emberlog.workers.plan.factored import factored_for
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.partition_choice import Kind, PartitionChoice, Walk
from emberlog.workers.plan.representation import Representation
from emberlog.workers.store.hot_keys import NO_HOT_KEYS, HotKeys, frequent, hot_among
from emberlog.workers.store.partitioning import (
    Hashed,
    Owners,
    Partitioning,
    as_lanes,
    dealt,
    divided,
    ends_counted,
    from_lanes,
)
from emberlog.workers.store.stores import StaticStore
from emberlog.workers.wire.messages import Carrier, Mail, Message, Progress, Running, added

FEW_PASSES = 8
"""Workers for whom a thread each passes over all rows; for more of them one pass divides them."""


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
        case RecursionCase.SET if (
            task.representation is not Representation.HASH
            and (factored := factored_for(task.program, task.placement, task.workers)) is not None
        ):
            memory = MATRIX_MEMORY if task.memory is None else min(MATRIX_MEMORY, task.memory // 2)
            return FactoredWorker(
                task, statics, report, factored=factored, representation=task.representation, memory=memory
            )
        case _:
            return RoundsWorker(task, statics, report)


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
        short = 0
        while all(mail is not None for mail in waiting):
            sent = [mail for mail in waiting if mail is not None]
            received = [[mail[number] for mail in sent] for number in range(len(running))]
            since = time.perf_counter()
            each = map if short >= SHORT_ROUNDS else threads.map
            waiting = list(each(_resumed, running, received))
            short = short + 1 if time.perf_counter() - since < SHORT_ROUND else 0
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


def shares_of(
    relation: str, store: StaticStore, column: int | None, partitioning: Partitioning, workers: int, hot_keys: HotKeys
) -> list[StaticStore]:
    """Returns what each worker keeps of a relation that does not change."""
    if column is None or workers == 1:
        return [store] * workers
    rows = store.all
    owner = hot_keys.owners(relation, rows, column, partitioning, workers)
    if workers <= FEW_PASSES:
        return in_threads([partial(_owned_rows, rows, owner, number) for number in range(workers)], workers)
    parts = dict(parts_by_owner(rows, owner, workers))
    return [StaticStore(parts.get(number, no_rows(rows.shape[0]))) for number in range(workers)]


def _owned_rows(rows: Lanes, owner: Owners, number: int) -> StaticStore:
    return StaticStore(rows_of_owner(rows, owner, number))


def agreed_hot_keys(columns: Mapping[str, Lane], exchange: Carrier, workers: int) -> HotKeys:
    """Returns the hot values of columns of which every worker has a share. The owner of a value adds up what they have
    of it, so that no worker hears of all frequent values but of the hot ones."""
    if workers == 1 or not columns:
        return NO_HOT_KEYS
    mail = [Message(sums=tuple(len(lane) for lane in columns.values())) for _ in range(workers)]
    for channel, lane in enumerate(columns.values()):
        found = np.stack(frequent(lane, workers))
        for worker, part in parts_by_owner(found, Hashed(workers).owners(found[0]), workers):
            mail[worker].batches[channel] = part
    received = exchange.swap(mail)
    rows = added(received)
    mail = [Message() for _ in range(workers)]
    for channel in range(len(columns)):
        values, counts = joined([one.batches[channel] for one in received if channel in one.batches], 2)
        hot = hot_among(values, counts, rows[channel], workers)
        rows_of_hot = hot[None]
        for message in mail if len(hot) else ():
            message.batches[channel] = rows_of_hot
    received = exchange.swap(mail)
    hot_keys = {}
    for channel, name in enumerate(columns):
        parts = [one.batches[channel] for one in received if channel in one.batches]
        if parts:
            hot_keys[name] = np.sort(joined(parts, 1)[0])
    return HotKeys(hot_keys)


# All workers come to the same partitioning: one sees all arcs, and tells the others where everything belongs.


def arcs_of(walks: Sequence[Walk], relations: Mapping[str, Lanes]) -> Lanes:
    """Returns the arcs that are walked, a row for each: where from, where to."""
    return joined([np.ascontiguousarray(relations[one.relation][[one.origin, one.target]]) for one in walks], 2)


def agreed(
    choice: PartitionChoice, shares: Mapping[str, Lanes], exchange: Carrier, workers: int
) -> tuple[Partitioning, str]:
    """Returns the partitioning for relations of which every worker has a share, and what is to be said of it, such as
    why it is not the chosen one. One worker sees all arcs, so it is not by them if they are too many, unless that is
    asked for."""
    kind = choice.kind_for(workers)
    if kind is Kind.HASH:
        return Hashed(workers), ""
    arcs = arcs_of(choice.walks, shares)
    if kind is Kind.TURNS:
        arcs = ends_counted(arcs)  # all that it takes, and little of it
    (total,) = added(exchange.swap([Message(sums=(arcs.shape[1],)) for _ in range(workers)]))
    if total > MOST_ARCS and not choice.is_asked_for:
        return Hashed(workers), f"placed by hash: {total:,} arcs are too many for one worker to place by {kind.value}"
    mail = [Message() for _ in range(workers)]
    mail[0].batches[0] = arcs
    received = exchange.swap(mail)
    mail = [Message() for _ in range(workers)]
    if exchange.number == 0:
        seen = joined([message.batches[0] for message in received], 2)
        found = dealt(seen, workers) if kind is Kind.TURNS else divided(kind, seen, workers)
        table = as_lanes(found)
        for message in mail:
            message.batches[0] = table
    told = exchange.swap(mail)[0].batches[0]
    note = f"values were dealt out in {GROUPS_PER_WORKER * workers:,} groups" if kind is Kind.TURNS else ""
    return from_lanes(told, workers), note
