"""Emberlog in one process, without Spark."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.engines.protocol import Engine, Outcome
from benchmarks.workloads import answer
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.workload import Workload

if TYPE_CHECKING:
    from emberlog.io.local_relation import LocalRelation
    from emberlog.result import Result


class EmberlogLocal(Engine):
    name = "emberlog-local"
    title = "Emberlog, in one process"
    installed_by = "Emberlog itself"
    timing = (
        "the inputs are registered Parquet files, read before; the time is from there to the count, without what is "
        "there from the first run: the plan, and inputs as workers have them, with their indexes"
    )
    provenance = False
    keeps = True
    """Whether a run has what a database keeps of those before: the plan, and what it read; no answers."""
    workers: int | None = None

    def version(self) -> str:
        import emberlog

        return emberlog.__version__

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        text = workload.program.text("emberlog.dl")
        assert text is not None
        self._text, self._parameters = text, dict(workload.parameters)
        self._output, self._columns = workload.program.output, workload.program.columns
        self._result: Result[LocalRelation] | None = None
        self._inputs = {relation: str(path) for relation, path in inputs.items()}
        self._register()

    def _register(self) -> None:
        from emberlog.database import Database

        self._database = Database(engine="local", workers=self.workers)
        self._database.update(self._inputs)

    def reset(self) -> None:
        self._result = None
        if not self.keeps:
            self._register()

    def run(self) -> Outcome:
        since = time.process_time()
        self._result = self._database.datalog(self._text, params=self._parameters, provenance=self.provenance)
        rows = self._result[self._output].count()
        return Outcome(rows, {"cpu_seconds": time.process_time() - since})

    def check(self) -> Answer:
        assert self._result is not None
        batches = self._result[self._output].to_arrow().to_batches(max_chunksize=answer.PART)
        parts = ([column.to_numpy(zero_copy_only=False) for column in batch.columns] for batch in batches)
        return answer.of_parts(self._columns, parts)


class EmberlogLocalAnew(EmberlogLocal):
    name = "emberlog-local-anew"
    title = "Emberlog, in one process, nothing kept from earlier runs"
    keeps = False
    timing = (
        "the inputs are Parquet files, registered and read anew before each run; the time is from there to the count"
    )


class EmberlogLocalOneThread(EmberlogLocal):
    name = "emberlog-local-1-thread"
    title = "Emberlog, in one process, one thread"
    workers = 1


class EmberlogLocalProvenance(EmberlogLocal):
    name = "emberlog-local-provenance"
    title = "Emberlog, in one process, with provenance"
    provenance = True
