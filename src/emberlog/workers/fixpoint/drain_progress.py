"""Records which results are written, so that the next attempt need not write them again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from emberlog.workers.fixpoint.closures import Closure
from emberlog.workers.fixpoint.rounds import RoundsWorker
from emberlog.workers.recover.checkpoints import Checkpoints
from emberlog.workers.wire.draining import ResultFiles

_ROWS = "rows written"


class DrainProgress(Protocol):
    """Records which results of one worker are written."""

    def go_on(self, relation: str, files: ResultFiles) -> None:
        """Takes over what an earlier attempt wrote of a relation, before more of it is written."""

    def wrote(self, files: ResultFiles) -> None:
        """Records that another batch was written."""


@dataclass(frozen=True, slots=True)
class ClosureProgress:
    """Records the progress of a closure, which is listed while it is found: what is written is what is done."""

    checkpoints: Checkpoints
    closure: Closure

    def go_on(self, relation: str, files: ResultFiles) -> None:
        saved = self.checkpoints.resume_state()
        if saved is not None:
            self.closure.take_up(saved)
            files.go_on_from(saved.results, saved.number(_ROWS))

    def wrote(self, files: ResultFiles) -> None:
        done = self.closure.listing.sources
        if done is None or not self.checkpoints.is_due(done):
            return
        files.close_file()
        with self.checkpoints.saving(done, is_alone=True) as state:
            self.closure.save(state)
            state.number(_ROWS, files.rows)
            state.results(files.files)


@dataclass(frozen=True, slots=True)
class RoundsProgress:
    """Records the progress after rounds, when the rows of each relation are written in their order."""

    worker: RoundsWorker
    _relations: dict[str, ResultFiles] = field(default_factory=dict)
    """Those that were begun, in their order: before the next one, all of one is written."""

    def go_on(self, relation: str, files: ResultFiles) -> None:
        self._relations[relation] = files
        rows = self.worker.saving.drained.get(relation, 0)
        if rows:
            files.go_on_from(self.worker.saving.drained_to, rows)

    def wrote(self, files: ResultFiles) -> None:
        if self.worker.saving.is_due(self.worker.saving.iteration):
            files.close_file()
            rows = {name: one.rows for name, one in self._relations.items()}
            written = {name: size for one in self._relations.values() for name, size in one.files.items()}
            self.worker.saving.save_drained(rows, written)
