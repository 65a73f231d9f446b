"""Runs the tasks of a job in one process, any number of them, on the real code of feeding, placement, rounds, exchange,
routes and draining; only the connections are a table of frames. All that would be sent is counted as it would be
sent."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.config import DEFAULT_LIMITS, Execution
from emberlog.engines.spark.description import planner_of
from emberlog.engines.spark.job import Job, Output, Summary
from emberlog.engines.spark.task import Clock, TaskRun
from emberlog.logical.nodes import Fixpoint
from emberlog.logical.statistics import ColumnStatistics, RelationStatistics, Statistics
from emberlog.optimize.pipeline import plan_program
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.syntax.parser import parse
from emberlog.workers.fixpoint.worker import Worker
from emberlog.workers.kernels.lanes import no_rows
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.feeding import Feed, InlineRows, with_copies
from emberlog.workers.wire.frames import framed
from emberlog.workers.wire.inline_rows import InlineLayout
from emberlog.workers.wire.messages import Mail, Message
from emberlog.workers.wire.rendezvous import Met
from emberlog.workers.wire.routes import Routes

HOST = 8
"""Workers on each pretended host."""


class Broken(Exception):
    """Says that another worker has failed."""


class Switchboard:
    """Hands frames from worker to worker. One worker computes at a time, so that the time of each can be measured: the
    next one when it has sent its frames. A lock for each wakes it alone; a barrier would wake all of a thousand threads
    for each of them."""

    def __init__(self, workers: int) -> None:
        self._turns = [threading.Lock() for _ in range(workers)]
        for turn in self._turns[1:]:
            turn.acquire()
        self._sent: list[list[Mapping[int, Message]]] = [[{} for _ in range(workers)] for _ in range(2)]
        """Of this exchange and of the last, which not everyone may have taken yet."""
        self._exchanges = [0] * workers
        self._is_broken = False

    def wait(self, number: int) -> None:
        """Waits for the turn of a worker."""
        self._turns[number].acquire()
        if self._is_broken:
            raise Broken

    def pass_on(self, number: int) -> None:
        """Ends the turn of a worker, for this round or for good: all of them exchange equally often."""
        self._turns[(number + 1) % len(self._turns)].release()

    def carry(self, number: int, outgoing: Mapping[int, Message], senders: Collection[int]) -> dict[int, Message]:
        """Takes what a worker has for its neighbours; returns what some of them have for it."""
        sent = self._sent[self._exchanges[number] % 2]
        self._exchanges[number] += 1
        sent[number] = outgoing
        self.pass_on(number)
        self.wait(number)
        return {peer: sent[peer][number] for peer in senders}

    def give_up(self) -> None:
        self._is_broken = True


class SimulatedExchange(Exchange):
    """Sends frames by the routes of a real one, and counts them, without a connection."""

    def __init__(self, number: int, switchboard: Switchboard, hosts: Sequence[str]) -> None:
        super().__init__(number, {}, Routes(number, hosts))
        self.switchboard = switchboard
        self.messages = 0
        """Frames, those with mail of others in them included."""
        self.bytes_abroad = 0
        """To other hosts."""

    def _carry(self, outgoing: Mapping[int, Message], senders: Collection[int]) -> dict[int, Message]:
        for peer, message in outgoing.items():
            size = _size(message)
            self.bytes_sent += size
            self.bytes_abroad += size if peer // HOST != self.number // HOST else 0
        self.messages += len(outgoing)
        return self.switchboard.carry(self.number, outgoing, senders)

    def trade(self, mail: Mail, senders: Collection[int], patience: float | None) -> Mail:
        # When workers without rounds ship depends on time, and one core for all of them is slower than any cluster.
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
        hosts = [f"host {number // HOST}" for number in range(self.job.workers)]
        return SimulatedExchange(self.number, self.switchboard, hosts)

    def _drive(self, worker: Worker) -> None:
        super()._drive(worker)
        self.held = max(self.held, sum(one.count for one in worker.statics.values()))


@dataclass(slots=True)
class Measured:
    """Tells what each worker did."""

    workers: int
    mode: str
    bytes_sent: list[int] = field(default_factory=list)
    bytes_abroad: list[int] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    facts: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    iterations: int = 0


def measure(
    text: str,
    tables: Mapping[str, pa.Table],
    workers: int,
    execution: Execution,
) -> Measured:
    """Runs the one recursion of a program on so many workers."""
    job = job_for(text, tables, workers, execution)
    switchboard = Switchboard(workers)
    tasks = [SimulatedTask(job, number, switchboard) for number in range(workers)]
    seconds = [0.0] * workers
    problems: list[BaseException] = []

    def work(task: SimulatedTask) -> None:
        began = time.thread_time()
        try:
            switchboard.wait(task.number)
            for batch in task.run(iter(())):
                del batch
        except Broken:
            pass
        except BaseException as problem:
            problems.append(problem)
            switchboard.give_up()
        seconds[task.number] = time.thread_time() - began
        switchboard.pass_on(task.number)

    threading.stack_size(1 << 20)
    threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
    gc.disable()  # each look for garbage would go through the mail of all workers
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.enable()
    if problems:
        raise problems[0]
    found = Measured(workers, job.worker_plan.main.placement.mode.value, seconds=seconds)
    for task in tasks:
        assert isinstance(task.carrier, SimulatedExchange)
        found.bytes_sent.append(task.carrier.bytes_sent)
        found.bytes_abroad.append(task.carrier.bytes_abroad)
        found.messages.append(task.carrier.messages)
        found.facts.append(sum(task.summary.rows.values()))
        found.held.append(task.held)
        found.iterations = max(found.iterations, task.summary.iterations)
    return found


def job_for(
    text: str,
    tables: Mapping[str, pa.Table],
    workers: int,
    execution: Execution,
) -> Job:
    """Makes the job for the one recursion of a program, with rows in and out through the stage."""
    plan = plan_program(analyze(parse(Source("program.dl", text)))).plan
    planner = planner_of(plan, execution, without_data=True)
    (recursive,) = (stratum for stratum in planner.strata if isinstance(stratum.root, Fixpoint))
    worker_plan = planner.plan(recursive, statistics_of(tables))
    plain = (
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
    feeds = with_copies(plain, worker_plan)
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
    rows = sum(lanes.nbytes for lanes in message.batches.values())
    without = {channel: no_rows(0) for channel in message.batches}
    return rows + sum(map(len, framed(1, Message(message.numbers, without, message.sums))))


def statistics_of(tables: Mapping[str, pa.Table]) -> Statistics:
    """Returns what a run knows of its input."""
    return {
        name: RelationStatistics(
            table.num_rows,
            tuple(ColumnStatistics(pc.count_distinct(column).as_py(), {}) for column in table.columns),
            "counted",
        )
        for name, table in tables.items()
    }


def _as_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
