"""Reads what the workers of an attempt left behind: the results, or what they knew when their memory was full.

Whatever a recursion that only grows or improves has derived is right, however far it came. So what workers knew may be
incomplete, as it is where one was lost, and it is the beginning of the same recursion on another executor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.datatypes import INT
from emberlog.engines.local.left_off import ATTEMPT
from emberlog.engines.recording import has_history, is_one_with_result
from emberlog.engines.runner import Outcome
from emberlog.engines.spark.failures import NotHere
from emberlog.engines.spark.frames.resources import Kept, Resources
from emberlog.engines.spark.job import Output, Summary
from emberlog.engines.spark.run_folders import delete_run
from emberlog.events import WorkerEffort
from emberlog.io.spark_conversions import local_frame
from emberlog.language.spark_types import schema_of
from emberlog.workers.fixpoint.profile import Counts, Profile
from emberlog.workers.fixpoint.worker import spilled_on
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.worker_plan import WorkerPlan
from emberlog.workers.recover.checkpoints import FOLDER as CHECKPOINTS
from emberlog.workers.recover.checkpoints import attempt_folder
from emberlog.workers.store.folders import Folder
from emberlog.workers.wire.draining import check_files, relation_folder
from emberlog.workers.wire.feeding import read_footer
from emberlog.workers.wire.inline_rows import TAG, columns_for


class Outgrown(NotHere):
    """Says that the facts do not fit into the memory of the workers. What they know is not lost."""

    def __init__(self, why: str, known: Mapping[str, Kept]) -> None:
        rows = sum(kept.rows for kept in known.values())
        super().__init__(f"{why}; it goes on from the {rows:,} facts that are known" if rows else why)
        self.known = known
        """Contributions to the relations of the recursion."""


def outputs_of(worker_plan: WorkerPlan, *, provenance: bool) -> Iterator[Output]:
    """Yields what workers give when they are done."""
    main, case = worker_plan.main, worker_plan.main.program.recursion.case
    members = {relation.name for relation in main.program.relations} if provenance and main.is_recursive else set()
    for name, types in worker_plan.outputs.items():
        is_recorded = name in members and has_history(case)
        nullable = worker_plan.nullable.get(name, frozenset())
        if not is_recorded or not is_one_with_result(case):
            yield Output(name, types, nullable=nullable)
        if is_recorded:
            yield Output(name, (*types, INT), is_history=True, nullable=nullable)


def known_outputs(program: CyclicProgram) -> tuple[Output, ...]:
    """Returns what workers give when their memory is full: contributions to each relation of the recursion."""
    found = []
    for one in program.relations:
        lanes = frozenset(one.columns[column].lane for column in program.nullable.get(one.name, ()))
        found.append(Output(f"known of {one.name}", one.contribution_types, nullable=lanes))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class JobResults:
    """Holds where the workers of an attempt wrote."""

    spark: SparkSession
    outputs: tuple[Output, ...]
    known: tuple[Output, ...]
    """One per relation of the recursion."""
    folder: Folder | None
    """Of the run, where files are, if workers and driver share one."""
    attempt: int
    rows: Kept | None
    """What came through Spark otherwise."""

    def outcome(self, summaries: Sequence[Summary], resources: Resources) -> Outcome[DataFrame]:
        """Returns the results, which the resources have from now on. Raises Lost if files that workers wrote are not
        there."""
        counts = {output.title: sum(one.rows[output.title] for one in summaries) for output in self.outputs}
        written = {
            output.title: {name: size for one in summaries for name, size in one.files.get(output.title, {}).items()}
            for output in self.outputs
        }
        kept = self.rows
        if self.folder is not None:
            check_files(self.folder, {name: size for files in written.values() for name, size in files.items()})
            self._delete_all_but(self.folder, {name for files in written.values() for name in files})
            kept = Kept(self.spark.range(0), sum(counts.values()), partial(delete_run, self.folder))
            resources.adopt(kept)
        read = {
            output: self._read(index, written[output.title])
            if counts[output.title]
            else local_frame(self.spark, output.names, list(output.types), ())
            for index, output in enumerate(self.outputs)
        }
        histories = {output.relation: frame for output, frame in read.items() if output.is_history}
        frames = {name: frame.drop(frame.columns[-1]) for name, frame in histories.items()}
        frames |= {output.relation: frame for output, frame in read.items() if not output.is_history}
        # Where there is nothing but a history, its rows are the facts.
        rows = {output.relation: counts[output.title] for output in sorted(self.outputs, key=_history_first)}
        return Outcome(
            frames,
            rows,
            max(summary.iterations for summary in summaries),
            histories,
            () if kept is None else (kept,),
            sum(summary.bytes_sent for summary in summaries),
            next((summary.choice for summary in summaries if summary.choice), ""),
            tuple(WorkerEffort(one.worker + 1, *one.effort) for one in summaries),
            spilled_on([summary.spilled for summary in summaries]),
            _profile(summaries),
        )

    def _delete_all_but(self, folder: Folder, results: Collection[str]) -> None:
        """Deletes what is not needed to read the results. Earlier attempts go only now: it takes as long as a good part
        of one that goes on."""
        folder.delete(f"{attempt_folder(self.attempt)}/{CHECKPOINTS}")
        for earlier in range(ATTEMPT, self.attempt):
            name = attempt_folder(earlier)
            if any(one.startswith(f"{name}/") for one in results):
                folder.delete(f"{name}/{CHECKPOINTS}")
            else:
                folder.delete(name)

    def _read(self, index: int, files: Collection[str]) -> DataFrame:
        output = self.outputs[index]
        if self.folder is None:
            return self._tagged([index], output)
        place = f"{attempt_folder(self.attempt)}/{relation_folder(index)}"
        # In the folder of an earlier attempt there may be more than what counts.
        return self._in_files(output, [place] if all(one.startswith(f"{place}/") for one in files) else sorted(files))

    def handed_over(self, program: CyclicProgram) -> dict[str, Kept]:
        """Returns what the workers knew, by the relations of the recursion."""
        found: dict[str, Kept] = {}
        for number, (relation, output) in enumerate(zip(program.relations, self.known, strict=True), len(self.outputs)):
            numbers = [number]
            if not relation.combine:
                # Facts of a set that are among the results already are contributions, too.
                numbers += (index for index, one in enumerate(self.outputs) if one.relation == relation.name)
            kept = self._known(numbers, output)
            if kept.rows:
                found[relation.name] = kept
        return found

    def _known(self, numbers: Sequence[int], output: Output) -> Kept:
        folder = self.folder
        if folder is None:
            frame = self._tagged(numbers, output)
            return Kept(frame, frame.count(), lambda: None)
        places = [f"{attempt_folder(self.attempt)}/{relation_folder(number)}" for number in numbers]
        files = [name for place in places for name in sorted(folder.sizes(place)) if name.endswith(".parquet")]
        if not files:
            return Kept(self.spark.range(0), 0, lambda: None)
        count = sum(one.rows for one in folder.each(read_footer, [folder.within(name).location for name in files]))
        return Kept(self._in_files(output, files), count, lambda: None)

    def _in_files(self, output: Output, names: Collection[str]) -> DataFrame:
        assert self.folder is not None
        schema = schema_of(output.names, list(output.types))
        return self.spark.read.schema(schema).parquet(*(f"{self.folder.uri}/{name}" for name in names))

    def _tagged(self, numbers: Sequence[int], output: Output) -> DataFrame:
        assert self.rows is not None
        columns = [F.col(column) for column in columns_for(output.types)]
        return self.rows.frame.where(F.col(TAG).isin(*numbers)).select(*columns).toDF(*output.names)


def _history_first(output: Output) -> bool:
    return not output.is_history


def _profile(summaries: Sequence[Summary]) -> Profile:
    """Adds up what each rule did on all workers."""
    total = Profile()
    for summary in summaries:
        own = Profile(
            {(one[0], one[1], one[2]): Counts(*one[3:]) for one in summary.profile},
            {(one[0], one[1], one[2], one[3]): one[4] for one in summary.steps},
        )
        total.add(own)
    return total
