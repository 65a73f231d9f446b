"""The workers of a recursion in this process, with no Spark: for tests, notebooks and the REPL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from emberlog.semantics.model import RecursionCase
from emberlog.workers.fixpoint.asynchronous import AsyncWorker, drive_freely
from emberlog.workers.fixpoint.bounded import BoundedWorker
from emberlog.workers.fixpoint.factored_worker import MEMORY, FactoredWorker
from emberlog.workers.fixpoint.rounds import RoundsWorker
from emberlog.workers.fixpoint.staged import StagedWorker
from emberlog.workers.fixpoint.worker import Worker, WorkerTask
from emberlog.workers.kernels.hashing import rows_of_owner
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.plan.factored import DoesNotFactor, Factored, factor
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.representation import Representation
from emberlog.workers.store.partitioning import Hashed, Partitioning
from emberlog.workers.store.stores import StaticStore
from emberlog.workers.wire.mailboxes import Closed, Mailboxes
from emberlog.workers.wire.messages import Mail, Progress, Running


def worker_for(
    task: WorkerTask, statics: Mapping[str, StaticStore], report: Callable[[Progress], None] = lambda _: None
) -> Worker:
    """The kind of worker that the recursion needs."""
    if task.placement.mode is Mode.ASYNC:
        return AsyncWorker(task, statics, report)
    match task.program.recursion.case:
        case RecursionCase.BOUNDED:
            return BoundedWorker(task, statics, report)
        case RecursionCase.STAGED:
            return StagedWorker(task, statics, report)
        case RecursionCase.SET if (factored := _factors(task)) is not None:
            memory = MEMORY if task.memory is None else min(MEMORY, task.memory // 2)
            return FactoredWorker(
                task, statics, report, factored=factored, representation=task.representation, memory=memory
            )
        case _:
            return RoundsWorker(task, statics, report)


def _factors(task: WorkerTask) -> Factored | None:
    """The factors of a recursion, if they are to be used."""
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
    """Each goes on by itself, and messages arrive when they arrive."""
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
    """Without a thread of its own."""
    mail = _started(running)
    while mail is not None:
        mail = _resumed(running, mail)


def _started(running: Running) -> Mail | None:
    return next(running, None)


def _resumed(running: Running, received: Mail) -> Mail | None:
    """What the worker has for the others next; None when it is done."""
    try:
        return running.send(received)
    except StopIteration:
        return None


def _measured(worker: Worker) -> Running:
    """Its run, with an eye on the clock."""
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
    """What a worker keeps of a relation that does not change: all of it, or the part that `column` spreads to it."""
    if column is None or partitioning == Hashed(1):
        return StaticStore(rows)
    return StaticStore(rows_of_owner(rows, partitioning.owners(rows[column]), number))
