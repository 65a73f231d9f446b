"""The tasks of a job in threads of this process, over real connections: all but Spark itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emberlog.config import DEFAULT_EXECUTION, DEFAULT_LIMITS, Execution
from emberlog.engines.spark.job import Job, Output, Summary
from emberlog.engines.spark.job_results import known_outputs
from emberlog.engines.spark.key_handover import property_of
from emberlog.engines.spark.task import run_task
from emberlog.logical.build import build
from emberlog.logical.nodes import Fixpoint
from emberlog.logical.statistics import ColumnStatistics, RelationStatistics
from emberlog.optimize.pipeline import optimize
from emberlog.semantics.model import Fact
from emberlog.workers.recover.checkpoints import FOLDER, attempt_folder
from emberlog.workers.wire.feeding import Feed, InlineRows, with_copies
from emberlog.workers.wire.handshake import Address, new_key
from emberlog.workers.wire.inline_rows import InlineLayout
from tests.local_runs import plan_workers
from tests.programs import checked


def job_for(
    text: str,
    inputs: Mapping[str, Iterable[Fact]],
    folder: Path,
    workers: int = 2,
    execution: Execution = DEFAULT_EXECUTION,
    tracker: Address | None = None,
    room_for_copies: int | None = None,
) -> Job:
    """The job for the one recursion of a program. `room_for_copies` is how many bytes a relation may take on each
    worker."""
    plan = optimize(build(checked(text))).plan
    (recursive,) = (stratum for stratum in plan.strata if isinstance(stratum.root, Fixpoint))
    statistics = {
        name: RelationStatistics(rows, (ColumnStatistics(rows, {}),) * len(columns), "counted")
        for name, columns in plan.inputs.items()
        if room_for_copies is not None and (rows := len(list(inputs[name])))
    }
    worker_plan = plan_workers(plan.strata, recursive, plan.outputs, execution, statistics, room_for_copies)
    plain = (
        Feed(
            name,
            types,
            _inline(list(inputs[name]), len(types)),
            worker_plan.spread[name],
            False,
            frozenset(range(len(types))),
        )
        for name, types in worker_plan.inputs.items()
    )
    feeds = with_copies(plain, worker_plan)
    outputs = tuple(Output(name, types) for name, types in worker_plan.outputs.items())
    known = known_outputs(worker_plan.main.program)
    for attempt, number in product((1, 2), range(len(outputs) + len(known))):
        (folder / attempt_folder(attempt) / f"relation-{number}").mkdir(parents=True, exist_ok=True)
        (folder / attempt_folder(attempt) / FOLDER).mkdir(exist_ok=True)
    return Job(
        "run",
        worker_plan,
        feeds,
        0,
        outputs,
        workers,
        DEFAULT_LIMITS,
        execution,
        execution.memory,
        None,
        tracker,
        str(folder),
        InlineLayout({}, {}),
        known,
    )


def _inline(rows: Sequence[Fact], width: int) -> InlineRows:
    table = pa.table({f"c{place}": [row[place] for row in rows] for place in range(width)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return InlineRows(bytes(sink.getvalue()))


@dataclass(frozen=True, slots=True)
class _TaskInfo:
    address: str = "127.0.0.1:0"


KEY = new_key()
"""Of all runs here."""


class Barrier:
    """What a task knows of Spark: its number, and how to meet the others."""

    def __init__(self, workers: int, before_dialing: Callable[[list[str]], None] = lambda _: None) -> None:
        self.workers = workers
        self.texts = [""] * workers
        self.own = threading.local()
        self.barrier = threading.Barrier(workers, action=lambda: before_dialing(self.texts))

    def partitionId(self) -> int:
        return int(self.own.number)

    def getTaskInfos(self) -> list[_TaskInfo]:
        return [_TaskInfo()] * self.workers

    def getLocalProperty(self, name: str) -> str:
        assert name == property_of("run")
        return KEY.hex()

    def allGather(self, text: str, /) -> list[str]:
        self.texts[self.own.number] = text
        self.barrier.wait(timeout=30)
        return list(self.texts)


def run_tasks(job: Job, monkeypatch: pytest.MonkeyPatch, barrier: Barrier | None = None) -> list[Summary]:
    """What the workers say at their end."""
    context = barrier or Barrier(job.workers)
    for kind in ("BarrierTaskContext", "TaskContext"):
        monkeypatch.setattr(f"pyspark.{kind}.get", lambda: context)

    def work(number: int) -> Summary:
        context.own.number = number
        batches = list(run_task(job, iter(())))
        return Summary.read(batches[-1].column("summary")[0].as_py())

    with ThreadPoolExecutor(job.workers) as threads:
        return list(threads.map(work, range(job.workers), timeout=120))


def facts_of(job: Job, summaries: Sequence[Summary], number: int = 0) -> list[Fact]:
    """All rows of an output, in the files that workers say that they wrote."""
    files = [name for one in summaries for name in one.files[job.outputs[number].title]]
    tables = [pq.read_table(Path(job.folder or "") / name) for name in files]
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


def facts_in(place: Path) -> list[Fact]:
    """All rows of an output, `relation-0` in the folder of a run of one attempt."""
    files = sorted((place.parent / attempt_folder(1) / place.name).glob("*.parquet"))
    return [tuple(row.values()) for path in files for row in pq.read_table(path).to_pylist()]
