"""Several tasks of one barrier stage that take a step together, each with a partition of the facts."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from emberlog.engines.spark.key_handover import key_for, key_handed_over
from emberlog.engines.spark.launcher import LOOPBACK
from emberlog.streams.spark.own_workers import OwnWorkers
from emberlog.streams.spark.task import SUMMARY, by_stream, read_summaries, told
from emberlog.streams.steps.checkpoint import Record
from emberlog.streams.steps.partition_step import merged, take_step_together
from emberlog.streams.steps.query_state import forget_others
from emberlog.streams.steps.step import Measures, Spec, Step
from emberlog.workers.kernels.tuning import WAIT_SECONDS
from emberlog.workers.plan.mode import Mode
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.handshake import Credentials, new_key
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.presence import Presence
from emberlog.workers.wire.rendezvous import Address, Tracker


@dataclass(frozen=True, slots=True)
class PartitionJob:
    spec: Spec
    step: Step
    workers: int
    run: str
    tracker: Address | None
    """Where workers are told of each other; None where the driver may be out of their reach."""


def run_partition(job: PartitionJob, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function that Spark runs once per worker."""
    from pyspark import BarrierTaskContext

    context: Any = BarrierTaskContext.get()
    number: int = context.partitionId()
    host = LOOPBACK if job.tracker else context.getTaskInfos()[number].address.rpartition(":")[0]
    forget_others(job.spec.query)
    share = by_stream(job.spec, batches)
    presence = Presence(number, job.workers, host, WAIT_SECONDS)

    def take() -> tuple[Record, Measures]:
        credentials = Credentials(job.run, 0, key_for(context, None))
        met = presence.begin(credentials, job.tracker, context.allGather)
        exchange = Exchange(number, met.peers)
        return take_step_together(job.spec, job.step, share, number, job.workers, exchange.swap)

    try:
        yield told(take)
    finally:
        presence.end()


def take_in_partitions(
    rows: DataFrame, spec: Spec, step: Step, own: OwnWorkers, workers: int, *, is_one_machine: bool
) -> tuple[Record, Measures]:
    """The driver's side: all workers at once, and what they told as one."""
    credentials = Credentials(uuid.uuid4().hex, 0, new_key())
    tracker = None
    if is_one_machine:
        tracker = Tracker(LOOPBACK, workers, credentials, MergedProgress(workers, lambda _: None, Mode.BSP))
    try:
        job = PartitionJob(spec, step, workers, credentials.run, tracker.address if tracker else None)
        # An exchange behind it, so that Spark tries a stage that failed again as a whole.
        shared = rows.repartition(workers)
        with own.chosen(rows.sparkSession.sparkContext):
            frame = shared.mapInArrow(partial(run_partition, job), f"{SUMMARY} string", barrier=True)
        with key_handed_over(rows.sparkSession, credentials.key):
            return merged(read_summaries([row[SUMMARY] for row in frame.collect()]))
    finally:
        if tracker is not None:
            tracker.close()
