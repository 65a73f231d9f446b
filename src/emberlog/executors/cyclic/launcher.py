"""The driver's side: a whole recursion as one barrier job of Spark, from frames to frames."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.config import Execution, Limits
from emberlog.datatypes import DataType
from emberlog.diagnostics import fail
from emberlog.executors.cyclic.faults import Fault
from emberlog.executors.cyclic.feeding import Feed, InlineRows, ParquetFiles, Source, StageRows, bytes_on_each
from emberlog.executors.cyclic.handshake import Credentials, new_key
from emberlog.executors.cyclic.machine_memory import memory_for_each, memory_from_spark
from emberlog.executors.cyclic.meeting import Tracker
from emberlog.executors.cyclic.memory import in_words
from emberlog.executors.cyclic.merged_progress import MergedProgress
from emberlog.executors.cyclic.plain_scan import parquet_files, rows_in_plan
from emberlog.executors.cyclic.profile import Counts, Profile
from emberlog.executors.cyclic.scratch import delete, new_folder
from emberlog.executors.cyclic.slots import Slots
from emberlog.executors.cyclic.stage import Stage
from emberlog.executors.cyclic.stage_rows import (
    KINDS,
    NO_RELATION,
    SPARK_KINDS,
    SUMMARY,
    TAG,
    StageLayout,
    columns_for,
    kind_of,
)
from emberlog.executors.cyclic.task import DONE, FAULT, LOST, SAME_HASH, UNFIT, Job, Output, Summary, run_task
from emberlog.executors.cyclic.texts import texts_of
from emberlog.executors.cyclic.worker import Progress
from emberlog.executors.dataframe.resources import Kept, Resources
from emberlog.io.local_rows import local_frame
from emberlog.io.spark_types import schema_of

LOOPBACK = "127.0.0.1"
"""Where driver and workers meet that share a machine: nobody else can dial that."""

MOST_INLINE_ROWS = 20_000
"""Rows that live in the plan and are sent along with the tasks."""

_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")

MOST_SEEDS = 3
"""Tries with other hashes of texts."""


class NotHere(Exception):
    """The stratum cannot run on this executor after all; the text says why."""


class Outgrown(NotHere):
    """The facts do not fit into the memory of the workers. What they know is not lost."""

    def __init__(self, why: str, known: Mapping[str, Kept]) -> None:
        rows = sum(kept.rows for kept in known.values())
        super().__init__(f"{why}; it goes on from the {rows:,} facts that are known" if rows else why)
        self.known = known
        """Contributions to the relations of the recursion."""


@dataclass(frozen=True, slots=True)
class StaticInput:
    """A relation that the recursion reads: its frame, and whether rows are known not to be repeated."""

    frame: DataFrame
    is_set: bool


@dataclass(frozen=True, slots=True)
class CyclicResult:
    frames: dict[str, DataFrame]
    rows: dict[str, int]
    kept: Kept
    """What has to stay for the frames to be read."""
    iterations: int
    summaries: tuple[Summary, ...]

    @property
    def bytes_sent(self) -> int:
        """Between workers."""
        return sum(summary.bytes_sent for summary in self.summaries)

    @property
    def choice(self) -> str:
        """The representation of the facts and why, where there was a choice."""
        return next((summary.choice for summary in self.summaries if summary.choice), "")

    @property
    def profile(self) -> Profile:
        """What each rule did, on all workers together."""
        total = Profile()
        for summary in self.summaries:
            own = Profile({(one[0], one[1], one[2]): Counts(*one[3:]) for one in summary.profile})
            total.add(own)
        return total


class Launcher:
    """Of one recursive stratum."""

    def __init__(
        self,
        spark: SparkSession,
        stage: Stage,
        inputs: Mapping[str, StaticInput],
        resources: Resources,
        execution: Execution,
        limits: Limits,
        hear: Callable[[Progress], None],
    ) -> None:
        self.spark = spark
        self.stage = stage
        self.inputs = {name: inputs[name] for name in stage.inputs}
        self.resources = resources
        self.limits = limits
        self.execution = execution
        self.hear = hear
        self.slots = Slots.of(spark)
        if self.slots.obstacle is not None:
            raise NotHere(self.slots.obstacle)
        if self.slots.count == 0:
            raise NotHere("Spark has no executor that could run a task")
        self.workers = execution.workers or self.slots.count
        if self.workers > self.slots.count:
            raise fail(
                "DL331",
                f"{self.workers:,} workers are asked for, and Spark can run {self.slots.count:,} tasks at once",
                None,
                "ask for fewer workers, or give the session more cores",
            )
        self.outputs = tuple(Output(name, types) for name, types in stage.outputs.items())
        self.known = tuple(
            Output(f"known of {relation.name}", relation.contribution_types)
            for relation in stage.recursion.program.relations
        )
        self.shares_disk = self.slots.is_one_machine and not execution.through_spark and not self.slots.encrypts_files
        # Workers share this machine if they share a disk; on others they see for themselves.
        self.memory = execution.memory or (memory_for_each(self.workers) if self.shares_disk else None)

    @property
    def how(self) -> str:
        mode = "decomposed" if self.stage.recursion.placement.is_decomposed else "bsp"
        return f"one job, {mode}, {self.workers:,} worker{'' if self.workers == 1 else 's'}"

    def run(self) -> CyclicResult:
        folder = new_folder() if self.shares_disk else None
        try:
            summaries, rows = self._attempt(folder, 0)
            for seed in range(1, MOST_SEEDS):
                if all(summary.status != SAME_HASH for summary in summaries):
                    break
                summaries, rows = self._attempt(folder, seed)
            try:
                self._check(summaries)
            except NotHere as problem:
                raise Outgrown(str(problem), self._known(folder, rows)) from None
            return self._result(folder, rows, summaries)
        except Outgrown:
            if folder is not None:
                self.resources.adopt(Kept(self.spark.range(0), 0, partial(delete, folder)))
            raise
        except BaseException:
            if folder is not None:
                delete(folder)
            raise

    def _attempt(self, folder: Path | None, seed: int) -> tuple[tuple[Summary, ...], Kept | None]:
        sources = {name: self._source(name, one.frame, folder) for name, one in self.inputs.items()}
        feeds = tuple(self._feed(name, sources[name], one) for name, one in self.inputs.items())
        self._check_memory(feeds)
        layout = StageLayout(
            {one.tag: self.stage.inputs[name] for name, one in sources.items() if isinstance(one, StageRows)},
            {} if folder is not None else {one.relation: one.types for one in (*self.outputs, *self.known)},
        )
        credentials = Credentials(uuid.uuid4().hex, 0, new_key())
        tracker = None
        if folder is not None:
            is_decomposed = self.stage.recursion.placement.is_decomposed
            progress = MergedProgress(self.workers, self.hear, is_decomposed=is_decomposed)
            tracker = Tracker(LOOPBACK, self.workers, credentials, progress)
        try:
            job = Job(
                credentials.run,
                credentials.key,
                self.stage,
                feeds,
                tuple(dict.fromkeys(text for one in self.stage.strata for text in texts_of(one.program))),
                seed,
                self.outputs,
                self.workers,
                self.limits,
                self.execution,
                self.memory,
                memory_from_spark(self.slots.settings),
                tracker.address if tracker else None,
                str(folder) if folder else None,
                layout,
                self.known,
            )
            if folder is not None:
                for index in range(len(job.handed_out)):
                    (folder / f"relation-{index}").mkdir(exist_ok=True)
            frame = self._stage_input(sources).mapInArrow(partial(run_task, job), layout.output_schema, barrier=True)
            if folder is not None:
                return _summaries(frame), None
            # An exchange in between: a barrier stage that failed is tried again then, and its rows are plain rows.
            kept = self.resources.keep(frame.repartition(self.workers))
            return _summaries(kept.frame.where(F.col(TAG) == NO_RELATION)), kept
        except Exception as error:
            missing = _MISSING_MODULE.search(str(error))
            if missing is not None:
                raise NotHere(f"the Python of Spark's executors has no module {missing[1]}") from None
            if (reason := _reason_of_crash(str(error))) is not None:
                raise fail(
                    "DL520", f"a worker stopped: {reason}", None, "the dataframe executor does without workers"
                ) from error
            raise
        finally:
            if tracker is not None:
                tracker.close()

    def _check_memory(self, feeds: Sequence[Feed]) -> None:
        """What is read has to fit, with its indexes; how much will be derived nobody knows before."""
        needed = sum(bytes_on_each(one, self.workers) for one in feeds)
        if self.memory is not None and needed > self.memory:
            allowed = f"which may use {in_words(self.memory)}"
            raise NotHere(f"what it reads needs about {in_words(needed)} on each worker, {allowed}")

    def _feed(self, name: str, source: Source, one: StaticInput) -> Feed:
        types = self.stage.inputs[name]
        # Rows that may be repeated have to be compared as a whole.
        used = self.stage.used_columns(name) if one.is_set else frozenset(range(len(types)))
        return Feed(name, types, source, self.stage.spread[name], one.is_set, used)

    def _source(self, name: str, frame: DataFrame, folder: Path | None) -> Source:
        types = self.stage.inputs[name]
        if self.slots.is_classic:
            rows = rows_in_plan(frame)
            if rows is not None and rows <= MOST_INLINE_ROWS:
                return InlineRows(_serialized(frame, types))
            files = parquet_files(frame) if folder is not None else None
            if files is not None:
                return files
        if folder is None:
            return StageRows(list(self.inputs).index(name))
        place = folder / "inputs" / str(list(self.inputs).index(name))
        if not place.exists():
            names = [f"c{index}" for index in range(len(types))]
            writer = frame.toDF(*names).write.option("compression", "uncompressed")
            writer.option("parquet.enable.dictionary", "false").parquet(place.as_uri())
        written = tuple(str(path) for path in sorted(place.glob("*.parquet")))
        length = sum(int(pq.read_metadata(path).num_rows) for path in written)
        return ParquetFiles(written, tuple(f"c{index}" for index in range(len(types))), length)

    def _stage_input(self, sources: Mapping[str, Source]) -> DataFrame:
        """A row per worker at least: a stage without rows would have no tasks."""
        tickets = self.spark.range(0, self.workers, 1, self.workers)
        tagged = {name: source.tag for name, source in sources.items() if isinstance(source, StageRows)}
        if not tagged:
            return tickets
        columns = StageLayout({tag: self.stage.inputs[name] for name, tag in tagged.items()}, {}).input_columns
        parts = [tickets.select(F.lit(NO_RELATION).alias(TAG), *(_missing(name) for name in columns))]
        for name, tag in tagged.items():
            used = columns_for(self.stage.inputs[name])
            frame = self.inputs[name].frame.toDF(*used)
            chosen = [F.col(column) if column in used else _missing(column) for column in columns]
            parts.append(frame.select(F.lit(tag).alias(TAG), *chosen))
        return reduce(DataFrame.unionAll, parts).repartition(self.workers)

    @staticmethod
    def _check(summaries: tuple[Summary, ...]) -> None:
        # A worker that stops takes the others with it: the one with a reason of its own counts.
        for summary in sorted(summaries, key=lambda one: (FAULT, UNFIT, SAME_HASH, LOST, DONE).index(one.status)):
            match summary.status:
                case "fault":
                    raise Fault(summary.code, summary.message, summary.rule, tuple(summary.notes))
                case "unfit" | "same hash":
                    raise NotHere(summary.message)
                case "lost":
                    raise fail("DL520", f"worker {summary.worker:,} stopped: {summary.message}")

    def _result(self, folder: Path | None, rows: Kept | None, summaries: tuple[Summary, ...]) -> CyclicResult:
        counts = {output.relation: sum(one.rows[output.relation] for one in summaries) for output in self.outputs}
        frames = {
            output.relation: self._read(folder, rows, index, output, counts[output.relation])
            for index, output in enumerate(self.outputs)
        }
        if folder is not None:
            shutil.rmtree(folder / "inputs", ignore_errors=True)
            rows = Kept(self.spark.range(0), sum(counts.values()), partial(delete, folder))
            self.resources.adopt(rows)
        assert rows is not None
        iterations = max(summary.iterations for summary in summaries)
        return CyclicResult(frames, counts, rows, iterations, summaries)

    def _known(self, folder: Path | None, rows: Kept | None) -> dict[str, Kept]:
        """What workers handed over before they stopped. Facts of a set that are among the results already are
        contributions, too."""
        known: dict[str, Kept] = {}
        handed_out = (*self.outputs, *self.known)
        for relation, output in zip(self.stage.recursion.program.relations, self.known, strict=True):
            places = {handed_out.index(output)}
            if not relation.combine:
                places |= {index for index, one in enumerate(self.outputs) if one.relation == relation.name}
            if folder is not None:
                frame, count = self._files(folder, sorted(places), output)
            else:
                assert rows is not None
                chosen = [F.col(column) for column in columns_for(output.types)]
                frame = rows.frame.where(F.col(TAG).isin(*places)).select(*chosen).toDF(*output.names)
                count = frame.count()
            if count:
                known[relation.name] = Kept(frame, count, lambda: None)
        return known

    def _files(self, folder: Path, places: Sequence[int], output: Output) -> tuple[DataFrame, int]:
        paths = [path for place in places for path in sorted((folder / f"relation-{place}").glob("*.parquet"))]
        count = sum(int(pq.read_metadata(path).num_rows) for path in paths)
        if not count:
            return self.spark.range(0).toDF("none"), 0
        schema = schema_of(output.names, list(output.types))
        return self.spark.read.schema(schema).parquet(*(path.as_uri() for path in paths)), count

    def _read(self, folder: Path | None, rows: Kept | None, index: int, output: Output, count: int) -> DataFrame:
        if not count:
            return local_frame(self.spark, output.names, list(output.types), ())
        if folder is not None:
            schema = schema_of(output.names, list(output.types))
            return self.spark.read.schema(schema).parquet((folder / f"relation-{index}").as_uri())
        assert rows is not None
        chosen = [F.col(column) for column in columns_for(output.types)]
        return rows.frame.where(F.col(TAG) == index).select(*chosen).toDF(*output.names)


def _reason_of_crash(text: str) -> str | None:
    """The last line of a worker's traceback, or what Spark says of a worker that is gone."""
    if "Python worker exited unexpectedly" in text:
        return "its process ended; most often the machine had no memory left"
    before, traceback, after = text.partition("Traceback (most recent call last)")
    if not traceback or "barrier" not in before:
        return None
    lines = [line for line in after.split("\n\n")[0].splitlines() if line and not line.startswith((" ", "\t"))]
    return lines[-1] if len(lines) > 1 else None


def _summaries(frame: DataFrame) -> tuple[Summary, ...]:
    found = [Summary.read(row[SUMMARY]) for row in frame.collect() if row[SUMMARY] is not None]
    return tuple(sorted(found, key=lambda summary: summary.worker))


def _missing(column: str) -> Column:
    return F.lit(None).cast(SPARK_KINDS[column[0]]).alias(column)


def _serialized(frame: DataFrame, types: Sequence[DataType]) -> bytes:
    rows = frame.collect()
    arrays = [pa.array([row[i] for row in rows], KINDS[kind_of(data_type)]) for i, data_type in enumerate(types)]
    table = pa.table(arrays, names=[f"c{index}" for index in range(len(arrays))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
