"""What workers knew when their memory was full, for the executor that goes on with it.

Whatever a recursion that only grows or improves has derived is right, however far it came. So it may be incomplete,
as it is where a worker was lost, and it is the beginning of the same recursion elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.engines.spark.failures import NotHere
from emberlog.engines.spark.frames.resources import Kept
from emberlog.engines.spark.task import Output
from emberlog.language.spark_types import schema_of
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.recover.checkpoints import attempt_folder
from emberlog.workers.store.folders import Folder
from emberlog.workers.wire.draining import relation_folder
from emberlog.workers.wire.feeding import read_footer
from emberlog.workers.wire.inline_rows import TAG, columns_for


class Outgrown(NotHere):
    """Holds the facts do not fit into the memory of the workers. What they know is not lost."""

    def __init__(self, why: str, known: Mapping[str, Kept]) -> None:
        rows = sum(kept.rows for kept in known.values())
        super().__init__(f"{why}; it goes on from the {rows:,} facts that are known" if rows else why)
        self.known = known
        """Contributions to the relations of the recursion."""


def known_outputs(program: CyclicProgram) -> tuple[Output, ...]:
    """Contributions to each relation, as workers hand them out."""
    found = []
    for one in program.relations:
        lanes = frozenset(one.columns[column].lane for column in program.nullable.get(one.name, ()))
        found.append(Output(f"known of {one.name}", one.contribution_types, nullable=lanes))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class HandedOver:
    spark: SparkSession
    outputs: tuple[Output, ...]
    known: tuple[Output, ...]
    """One per relation of the recursion."""
    folder: Folder | None
    """Of the run, where files are, if workers and driver share one."""
    attempt: int
    rows: Kept | None
    """What came through Spark otherwise."""

    def of(self, program: CyclicProgram) -> dict[str, Kept]:
        found: dict[str, Kept] = {}
        for number, (relation, output) in enumerate(zip(program.relations, self.known, strict=True), len(self.outputs)):
            numbers = [number]
            if not relation.combine:
                # Facts of a set that are among the results already are contributions, too.
                numbers += (index for index, one in enumerate(self.outputs) if one.relation == relation.name)
            kept = self._files(numbers, output) if self.folder is not None else self._tagged(numbers, output)
            if kept is not None and kept.rows:
                found[relation.name] = kept
        return found

    def _files(self, numbers: Sequence[int], output: Output) -> Kept | None:
        folder = self.folder
        assert folder is not None
        places = [f"{attempt_folder(self.attempt)}/{relation_folder(number)}" for number in numbers]
        files = [name for place in places for name in sorted(folder.sizes(place)) if name.endswith(".parquet")]
        if not files:
            return None
        count = sum(one.rows for one in folder.each(read_footer, [folder.within(name).location for name in files]))
        schema = schema_of(output.names, list(output.types))
        frame = self.spark.read.schema(schema).parquet(*(f"{folder.uri}/{name}" for name in files))
        return Kept(frame, count, lambda: None)

    def _tagged(self, numbers: Sequence[int], output: Output) -> Kept:
        assert self.rows is not None
        chosen = [F.col(column) for column in columns_for(output.types)]
        frame: DataFrame = self.rows.frame.where(F.col(TAG).isin(*numbers)).select(*chosen).toDF(*output.names)
        return Kept(frame, frame.count(), lambda: None)
