"""What a worker of this process had found of a recursion when it passed a bound, for workers elsewhere to go on with.

It is a checkpoint like any other, of an attempt before the first: workers that are more or fewer than who wrote it each
take the rows that they own, and the next round begins with what the last one found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from emberlog.config import Execution, Recovery
from emberlog.semantics.model import RecursionCase
from emberlog.workers.fixpoint.round_checkpoints import RoundCheckpoints
from emberlog.workers.fixpoint.rounds import RoundsWorker
from emberlog.workers.fixpoint.worker import Worker
from emberlog.workers.plan.factored import factored_for
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.partition_choice import Kind
from emberlog.workers.plan.static_placement import NO_HOME
from emberlog.workers.plan.worker_plan import WorkerPlan
from emberlog.workers.recover.checkpoints import FOLDER, Checkpoints, attempt_folder
from emberlog.workers.store.folders import Folder

ATTEMPT = 0
"""The number of the attempt that it counts as."""


@dataclass(frozen=True, slots=True, eq=False)
class LeftOff:
    """Holds a worker that has ended with a round, and will not begin the next one."""

    worker: RoundsWorker

    @property
    def iteration(self) -> int:
        """Returns the last one that is over."""
        return len(self.worker.saving.told)

    @property
    def rows(self) -> int:
        return self.worker.total()

    def obstacle(self, plan: WorkerPlan, execution: Execution, workers: int) -> str | None:
        """Says what keeps so many workers from going on with it by this plan; None if nothing does."""
        main, own = plan.main, self.worker.program
        placement = main.placement
        if execution.provenance or execution.profile:
            return "what is recorded or counted is so from the first iteration on"
        if main.program.relations != own.relations or main.program.nullable != own.nullable:
            return "workers of a job keep its facts in another way"
        if placement.mode is Mode.ASYNC or main.program.recursion.case in (RecursionCase.BOUNDED, RecursionCase.STAGED):
            return "workers of a job go on in other rounds"
        is_set = main.program.recursion.case is RecursionCase.SET and execution.representation != "hash"
        if is_set and factored_for(main.program, placement, workers) is not None:
            return "workers of a job close it without rounds"
        if placement.copies or NO_HOME in placement.homes.values():
            return "workers of a job have facts in several places"
        if plan.partition_choice.kind_for(workers) is not Kind.HASH:
            return "workers of a job own values by what links them"
        return None

    def save(self, folder: Folder) -> None:
        """Writes the checkpoint into the folder of a run. The worker is not to be used afterwards."""
        folder.make(f"{attempt_folder(ATTEMPT)}/{FOLDER}")
        for relation in self.worker.relations.values():
            relation.indexes.clear()
            relation.end_round()
        task = replace(self.worker.task, checkpoints=Checkpoints(folder, ATTEMPT, 0, Recovery()))
        saving = RoundCheckpoints(task, self.worker.named_relations, {}, is_alone=True, can_cut_rounds=False)
        saving.told = self.worker.saving.told
        saving.save(self.iteration)


def left_off(team: Sequence[Worker]) -> LeftOff | str:
    """Returns what the workers of a recursion that ended with a round leave to others; or why they leave nothing."""
    if len(team) != 1:
        return "several threads had parts of it" if team else "it had not begun"
    (worker,) = team
    if type(worker) is not RoundsWorker:
        return "it is not derived round by round"
    relations = worker.relations.values()
    if worker.histories or worker.recorder is not None:
        return "what is recorded or counted is so from the first iteration on"
    if worker.slices is not None or any(relation.is_spilled for relation in relations):
        return "its facts are on disk"
    if any(relation.largest is not None for relation in relations):
        return "its sums are known by more than its facts"
    if any(type_.is_coded for relation in worker.program.relations for type_ in relation.contribution_types):
        return "its texts have other numbers elsewhere"
    return LeftOff(worker)
