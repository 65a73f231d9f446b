"""Runs the tasks of a job in one process, any number of them, on the real code of feeding, placement, rounds, exchange
and draining; only the connections are a table of messages. All that would be sent is counted as it would be sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache

import pyarrow as pa

from emberlog.config import DEFAULT_LIMITS, Execution
from emberlog.engines.spark.description import planner_of
from emberlog.engines.spark.task import Clock, Job, Output, Summary, TaskRun
from emberlog.logical.nodes import Fixpoint
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.syntax.parser import parse
from emberlog.workers.fixpoint.worker import Worker
from emberlog.workers.kernels.lanes import no_rows
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.feeding import Feed, InlineRows
from emberlog.workers.wire.frames import framed
from emberlog.workers.wire.inline_rows import InlineLayout
from emberlog.workers.wire.messages import Mail, Message
from emberlog.workers.wire.rendezvous import Met


class Broken(Exception):
    """Says that another worker has failed."""


class Switchboard:
    """Hands mail from worker to worker. One worker computes at a time, so that the time of each can be measured."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.turn = threading.Lock()
        self.is_broken = False
        self._boxes: list[Mail] = [[] for _ in range(workers)]
        self._all_here = threading.Barrier(workers)

    def swap(self, number: int, mail: Mail) -> Mail:
        self._boxes[number] = mail
        self.turn.release()
        try:
            self._all_here.wait()
            received = [box[number] for box in self._boxes]
            self._all_here.wait()  # before anybody puts its next mail there
        except threading.BrokenBarrierError:
            raise Broken from None
        finally:
            self.turn.acquire()
        return received

    def give_up(self) -> None:
        self._all_here.abort()


class SimulatedExchange(Exchange):
    """Counts frames as they would be sent, and hands them over without a connection."""

    def __init__(self, number: int, switchboard: Switchboard) -> None:
        # Not that of the class: it would watch connections, and there are none.
        self.number = number
        self.bytes_sent = 0
        self.switchboard = switchboard
        self.messages = 0
        self.full_messages = 0
        """Those with rows in them."""

    def swap(self, mail: Mail) -> Mail:
        for peer, message in enumerate(mail):
            if peer != self.number:
                self.bytes_sent += _size(message)
                self.messages += 1
                self.full_messages += bool(message.batches)
        return self.switchboard.swap(self.number, mail)

    def trade(self, mail: Mail, senders: Collection[int], patience: float | None) -> Mail:
        raise NotImplementedError("workers without rounds are not simulated")


class SimulatedTask(TaskRun):
    def __init__(self, job: Job, number: int, switchboard: Switchboard) -> None:
        self.switchboard = switchboard
        summary = Summary(number)
        super().__init__(job, summary, Met({}, None), Clock(summary.seconds), None)
        self.held = 0
        """Rows of relations that do not change."""
        self.facts = 0

    def _new_carrier(self) -> Exchange:
        return SimulatedExchange(self.number, self.switchboard)

    def _drive(self, worker: Worker) -> None:
        super()._drive(worker)
        self.held = max(self.held, sum(one.count for one in worker.statics.values()))


@dataclass(slots=True)
class Measured:
    """Tells what each worker did."""

    workers: int
    mode: str
    bytes_sent: list[int] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    full_messages: list[int] = field(default_factory=list)
    facts: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    iterations: int = 0


def measure(
    text: str,
    tables: Mapping[str, pa.Table],
    workers: int,
    execution: Execution,
    statistics: Statistics = NO_STATISTICS,
) -> Measured:
    """Runs the one recursion of a program on so many workers."""
    job = job_for(text, tables, workers, execution, statistics)
    switchboard = Switchboard(workers)
    tasks = [SimulatedTask(job, number, switchboard) for number in range(workers)]
    seconds = [0.0] * workers
    problems: list[BaseException] = []

    def work(task: SimulatedTask) -> None:
        with switchboard.turn:
            began = time.thread_time()
            try:
                for batch in task.run(iter(())):
                    del batch
            except Broken:
                pass
            except BaseException as problem:
                problems.append(problem)
                switchboard.give_up()
            seconds[task.number] = time.thread_time() - began

    threading.stack_size(1 << 20)
    threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    found = Measured(workers, job.worker_plan.main.placement.mode.value, seconds=seconds)
    for task in tasks:
        assert isinstance(task.carrier, SimulatedExchange)
        found.bytes_sent.append(task.carrier.bytes_sent)
        found.messages.append(task.carrier.messages)
        found.full_messages.append(task.carrier.full_messages)
        found.facts.append(sum(task.summary.rows.values()))
        found.held.append(task.held)
        found.iterations = max(found.iterations, task.summary.iterations)
    return found


def job_for(
    text: str,
    tables: Mapping[str, pa.Table],
    workers: int,
    execution: Execution,
    statistics: Statistics = NO_STATISTICS,
) -> Job:
    """Makes the job for the one recursion of a program, with rows in and out through the stage."""
    plan = plan_program(analyze(parse(Source("program.dl", text)))).plan
    planner = planner_of(plan, execution, without_data=True)
    (recursive,) = (stratum for stratum in planner.strata if isinstance(stratum.root, Fixpoint))
    worker_plan = planner.plan(recursive, statistics)
    feeds = tuple(
        Feed(
            name,
            types,
            InlineRows(_as_bytes(tables[name])),
            worker_plan.spread[name],
            True,
            worker_plan.used_columns(name),
        )
        for name, types in worker_plan.inputs.items()
    )
    outputs = tuple(Output(name, types) for name, types in worker_plan.outputs.items())
    layout = InlineLayout({}, dict(worker_plan.outputs))
    return Job(
        run="scale",
        worker_plan=worker_plan,
        feeds=feeds,
        seed=0,
        outputs=outputs,
        workers=workers,
        limits=DEFAULT_LIMITS,
        execution=execution,
        memory=None,
        memory_from_spark=None,
        tracker=None,
        folder=None,
        layout=layout,
    )


def _size(message: Message) -> int:
    """Returns the bytes of a message on its way."""
    empty = _size_without_rows(len(message.numbers), len(message.batches))
    return empty + sum(lanes.nbytes for lanes in message.batches.values())


@cache
def _size_without_rows(numbers: int, batches: int) -> int:
    message = Message((0,) * numbers, {channel: no_rows(1) for channel in range(batches)})
    return sum(map(len, framed(1, message)))


def _as_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
