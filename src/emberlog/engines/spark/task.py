"""What runs in a task of the stage: a worker from its input to its results."""

from __future__ import annotations

import logging
import os
import resource
import socket
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from emberlog.engines.spark.job import Job, Output, Phase, Status, Summary
from emberlog.engines.spark.key_handover import credentials_for
from emberlog.language.faults import Fault
from emberlog.workers.fixpoint.asynchronous import AsyncWorker, drive_freely
from emberlog.workers.fixpoint.definitions import DefinitionWorker
from emberlog.workers.fixpoint.drain_progress import ClosureProgress, DrainProgress, RoundsProgress
from emberlog.workers.fixpoint.factored_worker import FactoredWorker
from emberlog.workers.fixpoint.profile import Profile, Recorder
from emberlog.workers.fixpoint.rounds import RoundsWorker
from emberlog.workers.fixpoint.team import agreed, agreed_hot_keys, worker_for
from emberlog.workers.fixpoint.worker import Worker, WorkerTask
from emberlog.workers.kernels.lanes import Lane, Lanes, joined
from emberlog.workers.kernels.machine_memory import load_libraries, memory_for_each
from emberlog.workers.kernels.memory import TooLarge, allowed, hold_freed, used_memory
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.representation import Representation
from emberlog.workers.plan.worker_plan import WorkerStratum
from emberlog.workers.recover.checkpoints import Checkpoints, Stale, attempt_folder
from emberlog.workers.store.folders import Unopened, folder_at
from emberlog.workers.store.history import KeepsHistory
from emberlog.workers.store.hot_keys import HotKeys
from emberlog.workers.store.partitioning import Hashed, Partitioning
from emberlog.workers.store.spilled_rows import SpillPlace, local_folders, spilling_to
from emberlog.workers.store.stores import StaticStore, StreamedStatic
from emberlog.workers.store.texts import SameHash, SpreadTexts, TextTable, texts_of
from emberlog.workers.wire.draining import ResultFiles, relation_folder
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.feeding import MeetsNulls, Unfit, Unseen, feed, spread_rows
from emberlog.workers.wire.frames import PeerLost, PeerStopped
from emberlog.workers.wire.handshake import Address, Refused, Unreachable
from emberlog.workers.wire.messages import Mail, Progress
from emberlog.workers.wire.presence import Presence
from emberlog.workers.wire.rendezvous import Met, Taken
from emberlog.workers.wire.text_exchange import OwnedTexts, TextExchange, ToldTexts

_log = logging.getLogger("emberlog")

PACE = 0.05
"""Seconds between two accounts of local rounds."""


def run_task(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs one worker: yields its results, where they go through Spark, and what it tells when it ends."""
    from pyspark import BarrierTaskContext, TaskContext

    context: Any = BarrierTaskContext.get() if job.tracker is None else TaskContext.get()
    number: int = context.partitionId()
    summary = Summary(number)
    presence = Presence(
        number, job.workers, own_host(job.tracker, context), job.execution.recovery.stall_seconds, job.ports
    )

    def begin() -> Met:
        gather = context.allGather if job.tracker is None else no_gathering
        return presence.begin(credentials_for(context, job.run), job.tracker, gather)

    try:
        yield from _ended_well_or_told(job, summary, begin, batches)
        presence.leave_peers()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        summary.peak_bytes = peak if sys.platform == "darwin" else peak * 1024
        yield job.layout.summary_batch(summary.to_text())
    finally:
        # The driver hears this worker's signs of life until there is nothing more to come from it.
        presence.end()


def _ended_well_or_told(
    job: Job, summary: Summary, begin: Callable[[], Met], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Runs the worker. What went wrong is in the summary then: Spark would try a task again that fails."""
    clock = Clock(summary.seconds)
    try:
        met = begin()
        clock.lap("meet")
        load_libraries()
        memory = job.memory or _own_memory(job, met, summary.worker)
        hold_freed(memory)
        with allowed(memory), spilling_to(SpillPlace(local_folders(), job.encrypts_files)):
            yield from TaskRun(job, summary, met, clock, memory).run(batches)
    except Fault as fault:
        summary.status, summary.code, summary.message = Status.FAULT, fault.code, fault.message
        summary.rule, summary.notes = fault.rule, list(fault.notes)
    except MeetsNulls as met:
        summary.status, summary.nulls = Status.NULLS, dict(met.columns)
    except (Unfit, TooLarge) as problem:
        summary.status, summary.message = Status.UNFIT, str(problem)
    except MemoryError:
        summary.status, summary.message = Status.UNFIT, "a worker ran out of memory"
    except SameHash:
        summary.status, summary.message = Status.SAME_HASH, "two different texts have the same hash"
    except Unseen as problem:
        summary.status, summary.message, summary.unseen = Status.UNSEEN, str(problem), problem.relation
    except (Unwritten, Unopened) as problem:
        summary.status, summary.message = Status.UNWRITTEN, str(problem)
    except Stale as problem:
        summary.status, summary.message = Status.STALE, str(problem)
    except Unreachable as problem:
        summary.status, summary.message = Status.UNREACHABLE, str(problem)
    except (PeerLost, Refused, Taken) as problem:
        summary.status, summary.message = Status.LOST, str(problem)
    except Exception as error:
        _log.exception("worker %s stopped", summary.worker)
        summary.status, summary.message = Status.BROKEN, "".join(traceback.format_exception_only(error)).strip()


def own_host(tracker: Address | None, context: Any) -> str:
    """Returns the address at which this worker listens: the one from which it reaches the driver, or its executor's."""
    if tracker is None:
        return context.getTaskInfos()[context.partitionId()].address.rpartition(":")[0] or "localhost"
    family, kind, protocol, _, address = socket.getaddrinfo(tracker.host, tracker.port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as towards:
        towards.connect(address)  # nothing is sent: the system only chooses the way
        return str(towards.getsockname()[0])


def no_gathering(_: str, /) -> list[str]:
    raise PeerLost("there is no barrier in an ordinary stage")


def _own_memory(job: Job, met: Met, number: int) -> int | None:
    """Bytes for the facts of this worker: its share of what its machine, its container and Spark leave to it."""
    found = [memory_for_each(met.hosts.count(met.hosts[number]))]
    if job.memory_from_spark is not None:
        found.append(max(job.memory_from_spark - used_memory(), 1))
    return min((one for one in found if one is not None), default=None)


class Clock:
    """How long each phase took."""

    def __init__(self, laps: dict[str, float]) -> None:
        self.laps = laps
        self._since = time.monotonic()

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._since
        self._since = now


class TaskRun:
    def __init__(self, job: Job, summary: Summary, met: Met, clock: Clock, memory: int | None) -> None:
        self.job = job
        self.memory = memory
        self.number = number = summary.worker
        self.met = met
        self.summary = summary
        self.clock = clock
        self.carrier = self._new_carrier()
        self.texts: TextTable | SpreadTexts
        self.exchange: TextExchange
        if job.worker_plan.reads_letters is None:
            self.texts = spread = SpreadTexts(number, job.workers, job.seed)
            self.exchange = OwnedTexts(self.carrier, job.workers, spread)
        else:
            self.texts = told = TextTable(job.seed)
            self.exchange = ToldTexts(self.carrier, job.workers, told)
        self.folder = folder_at(job.folder) if job.folder is not None else None
        self.recursion: Worker | None = None
        """The worker of the recursion, once it has begun."""
        self.checkpoints = self._new_checkpoints()
        self.partitioning: Partitioning = Hashed(job.workers)
        # Where everyone counts everyone's facts, one is enough to tell them.
        self.tells = job.worker_plan.main.placement.mode is not Mode.BSP or number == 0
        self.unheard: Progress | None = None
        """What the driver has not been told of local rounds."""
        self.told_at = 0.0

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._strata(batches)
        except (TooLarge, MemoryError, PeerStopped):
            self.carrier.stop()
            yield from self._hand_over()
            raise
        finally:
            self.carrier.close()

    def _hand_over(self) -> Iterator[pa.RecordBatch]:
        """Yields what is known, for an executor that has the memory to go on with it."""
        worker = self.recursion
        if worker is None:
            return
        # Nobody joins any more, and what this frees is needed to write.
        worker.statics, worker.static_indexes = {}, {}
        for relation, output in zip(worker.program.relations, self.job.known, strict=True):
            known = (list(lanes) for lanes in worker.known(relation.name))
            # Nobody answers any more: what has letters that are with others is not handed over.
            yield from self._written(self.exchange.readable_alone(known, output.coded), output)

    def _strata(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        job = self.job
        self.reached(Phase.READ)
        stage_rows = job.layout.collect(batches)
        worker_plan, exchange = job.worker_plan, self.exchange
        for stratum in worker_plan.strata:
            for text in texts_of(stratum.program):
                self.texts.code(text)  # now, so that they are told with those that are read
        statics, self.partitioning, hot_keys = feed(
            job.feeds,
            self.number,
            job.workers,
            exchange,
            stage_rows,
            self.texts,
            self._divide,
        )
        streams: dict[str, StreamedStatic] = {}
        if self.checkpoints is not None and isinstance(self.texts, TextTable):
            self.checkpoints.keep_texts(self.texts)
        stage_rows.clear()
        self.clock.lap("feed")
        recorders: list[Recorder] = []
        for stratum in job.worker_plan.strata:
            task = WorkerTask(
                stratum.program,
                stratum.placement,
                self.number,
                job.workers,
                self.texts,
                job.limits,
                profile=job.execution.profile,
                representation=Representation(job.execution.representation),
                stratum=job.worker_plan.index,
                memory=self.memory,
                checkpoints=self.checkpoints if stratum.is_recursive else None,
                partitioning=self.partitioning,
                hot_keys=hot_keys,
                provenance=job.execution.provenance,
            )
            worker: Worker
            if stratum.is_recursive:
                self.reached(Phase.FIRST_ROUND)
                self.recursion = worker = worker_for(task, statics, self._report)
            else:
                worker = DefinitionWorker(task, statics, streams)
            self._drive(worker)
            self.clock.lap("rounds")
            if stratum.is_main:
                effort = worker.effort
                self.summary.effort = [effort.busy, effort.waiting, effort.exchanges]
            yield from self._hand_on(worker, stratum, statics, streams)
            self.clock.lap("drain")
            self._note(worker)
            recorders += [] if worker.recorder is None else [worker.recorder]
        for recorder in recorders:  # a relation that is streamed is computed by those who read it
            self._note_counts(recorder.profile)
        self.summary.bytes_sent = self.carrier.bytes_sent
        if self.checkpoints is not None:
            self.summary.unsaved = self.checkpoints.problem or ""
        self.reached(Phase.RESULT_READ)

    def _divide(self, shares: Mapping[str, Lanes]) -> tuple[Partitioning, HotKeys]:
        """Returns where values are, and which have rows on all workers, by all shares of what is read."""
        worker_plan, workers = self.job.worker_plan, self.job.workers
        partitioning, instead = agreed(worker_plan.partition_choice, shares, self.exchange, workers)
        columns = {name: worker_plan.spread[name] for name in sorted(worker_plan.splittable)}
        keys = {name: shares[name][column] for name, column in columns.items() if column is not None}
        hot_keys = agreed_hot_keys(keys, self.exchange, workers)
        self.summary.choice = "; ".join(filter(None, (instead, hot_keys.described)))
        return partitioning, hot_keys

    def _new_carrier(self) -> Exchange:
        return Exchange(self.number, self.met.peers, self.met.routes)

    def _new_checkpoints(self) -> Checkpoints | None:
        """Makes the place of checkpoints. They need a disk that the next attempt sees, too. Provenance records from the
        first round on, or is wrong."""
        job = self.job
        if self.folder is None or job.execution.provenance:
            return None
        resume = job.resume[self.number] if job.resume and not job.is_moved else None
        moved = [name for name in job.resume if name is not None] if job.is_moved else []
        reached = partial(self.reached, Phase.CHECKPOINT)
        return Checkpoints(self.folder, job.attempt, self.number, job.execution.recovery, resume, reached, moved)

    def reached(self, phase: Phase) -> None:
        if self.job.injector is not None:
            self.job.injector.at(phase, self)

    def _note(self, worker: Worker) -> None:
        self.summary.spilled = self.summary.spilled or worker.spilled
        if isinstance(worker, FactoredWorker) and worker.choice is not None:
            self.summary.choice = "; ".join(filter(None, (worker.choice.why, self.summary.choice)))

    def _note_counts(self, profile: Profile) -> None:
        self.summary.profile += [[*key, one.derived, one.kept, one.seconds] for key, one in profile.counts.items()]
        self.summary.steps += [[*key, rows] for key, rows in profile.handed_on.items()]

    def _hand_on(
        self,
        worker: Worker,
        stratum: WorkerStratum,
        statics: dict[str, StaticStore],
        streams: dict[str, StreamedStatic],
    ) -> Iterator[pa.RecordBatch]:
        """Yields the results of a stratum: out, and to the strata of the job that read them."""
        spread = self.job.worker_plan.spread
        progress = self._drain_progress(worker, stratum)
        for relation in stratum.program.relations:
            name = relation.name
            for output in self.job.outputs:
                if output.relation == name:
                    drained = self.exchange.readable(_drained(worker, output), output.coded)
                    yield from self._written(drained, output, progress)
            if name in self.job.worker_plan.streamed:
                streams[name] = StreamedStatic(partial(worker.result_count, name), partial(worker.results, name))
            elif name in spread:
                batches = [np.stack(lanes) for lanes in worker.results(name)]
                lanes = joined(batches, len(relation.columns))
                for one in (name, *(copy for copy, of in self.job.worker_plan.copied.items() if of == name)):
                    statics[one] = StaticStore(self._spread(lanes, spread[one]))

    def _drain_progress(self, worker: Worker, stratum: WorkerStratum) -> DrainProgress | None:
        """Returns where what is written can be gone on from: not if other strata need all of it in memory."""
        if self.checkpoints is None or not stratum.is_recursive:
            return None
        if isinstance(worker, FactoredWorker) and worker.closure is not None:
            return ClosureProgress(self.checkpoints, worker.closure)
        in_rounds = worker.in_rounds if isinstance(worker, FactoredWorker) else worker
        relations = {relation.name for relation in stratum.program.relations}
        is_read_here = relations & (self.job.worker_plan.streamed | self.job.worker_plan.spread.keys())
        if isinstance(in_rounds, RoundsWorker) and not isinstance(in_rounds, AsyncWorker) and not is_read_here:
            return RoundsProgress(in_rounds)
        return None

    def _spread(self, lanes: Lanes, column: int | None) -> Lanes:
        return spread_rows(self.exchange, self.job.workers, lanes, column, self.partitioning)

    def _drive(self, worker: Worker) -> None:
        if isinstance(worker, AsyncWorker):
            drive_freely(worker, self._trade)
            self._tell()
            self.carrier.flush()
            return
        running = worker.run()
        worker.effort.began()
        mail = next(running, None)
        while mail is not None:
            worker.effort.worked()
            self.reached(Phase.EXCHANGE)
            received = self.exchange.swap(mail)
            worker.effort.waited()
            worker.effort.exchanges += 1
            try:
                mail = running.send(received)
            except StopIteration:
                mail = None
        worker.effort.worked()

    def _trade(self, mail: Mail, senders: Collection[int], patience: float | None) -> Mail:
        if any(message.numbers for message in mail):
            self.reached(Phase.EXCHANGE)
        return self.exchange.trade(mail, senders, patience)

    def _report(self, progress: Progress) -> None:
        self.summary.iterations = progress.iteration
        if self.tells:
            before = 0 if self.unheard is None else self.unheard.changed
            self.unheard = replace(progress, changed=before + progress.changed)
            # Local rounds are short, and to tell of one takes as long as a good part of it.
            if not isinstance(self.recursion, AsyncWorker) or time.monotonic() - self.told_at >= PACE:
                self._tell()

    def _tell(self) -> None:
        if self.unheard is not None:
            self.met.tell(replace(self.unheard, bytes_sent=self.carrier.bytes_sent))
            self.unheard, self.told_at = None, time.monotonic()

    def _written(
        self, batches: Iterator[list[Lane]], output: Output, progress: DrainProgress | None = None
    ) -> Iterator[pa.RecordBatch]:
        if self.job.injector is not None:
            batches = self._sabotaged(batches)
        if self.folder is None:
            rows = 0
            for lanes in batches:
                rows += len(lanes[0])
                yield self.job.layout.result_batch(output.title, lanes, output.types, self.texts, output.nullable)
            self.summary.rows[output.title] = rows
            return
        place = f"{attempt_folder(self.job.attempt)}/{relation_folder(self.job.handed_out.index(output))}"
        stem = f"{place}/part-{self.number}"
        files = ResultFiles(output.types, output.names, self.texts, self.folder, stem, output.nullable)
        try:
            if progress is not None:
                progress.go_on(output.relation, files)
            for lanes in batches:
                files.write(lanes)
                if progress is not None:
                    progress.wrote(files)
            files.close_file()
        except OSError as error:
            raise Unwritten(os.strerror(error.errno) if error.errno else str(error)) from error
        self.summary.rows[output.title], self.summary.files[output.title] = files.rows, files.files

    def _sabotaged(self, batches: Iterator[list[Lane]]) -> Iterator[list[Lane]]:
        for lanes in batches:
            yield lanes
            self.reached(Phase.WRITE)


class Unwritten(Exception):
    """Says why results could not be written."""


def _drained(worker: Worker, output: Output) -> Iterator[list[Lane]]:
    if not output.is_history:
        return worker.results(output.relation)
    assert isinstance(worker, KeepsHistory)
    return ([*one.columns, one.iterations.astype(np.int64)] for one in worker.history(output.relation))
