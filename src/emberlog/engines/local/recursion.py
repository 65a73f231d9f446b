"""One stratum by the cyclic workers, in this process: a recursion, or a relation without any. What only folds its facts
is computed with it, from the facts as they are found, and then nobody lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from emberlog.config import Execution, Limits
from emberlog.diagnostics import fail
from emberlog.engines.local.encoding import decoded, decoded_history, encoded
from emberlog.engines.recording import has_history, is_one_with_result
from emberlog.events import WorkerEffort
from emberlog.io.local_relation import LocalRelation
from emberlog.language.faults import Fault
from emberlog.logical.nodes import Definition, Field, Fixpoint, PlannedStratum
from emberlog.logical.statistics import Statistics
from emberlog.source import Span
from emberlog.workers.fixpoint.definitions import DefinitionWorker
from emberlog.workers.fixpoint.factored_worker import FactoredWorker
from emberlog.workers.fixpoint.profile import Profile
from emberlog.workers.fixpoint.team import arcs_of, run_workers, share_of, worker_for
from emberlog.workers.fixpoint.worker import Worker, WorkerTask, spilled_on
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.kernels.machine_memory import load_libraries, memory_for_each
from emberlog.workers.kernels.memory import TooLarge, allowed
from emberlog.workers.plan.capabilities import obstacles
from emberlog.workers.plan.definition_plans import as_fixpoint
from emberlog.workers.plan.faults import SUSPICION, Suspicious, told
from emberlog.workers.plan.representation import Representation
from emberlog.workers.plan.worker_plan import WorkerPlan, plan_workers
from emberlog.workers.store.history import KeepsHistory
from emberlog.workers.store.partitioning import divided
from emberlog.workers.store.stores import StreamedStatic
from emberlog.workers.store.texts import TextCodes, texts_of
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Progress


@dataclass(frozen=True, slots=True)
class LocalOutcome:
    relations: Mapping[str, LocalRelation]
    """Of the stratum, or those that fold it."""
    rows: int | None
    """Facts of the stratum, if they are counted and not listed."""
    histories: Mapping[str, LocalRelation]
    """In which iteration each fact came, if there is provenance."""
    profile: Profile
    efforts: tuple[WorkerEffort, ...]
    representation: str
    """How facts were kept, and why, if there was a choice."""
    spilled: str
    """What the workers did about a memory that was too short."""


@dataclass(frozen=True, slots=True)
class LocalJob:
    """A stratum without obstacles and what folds it, where their facts will live, and how they are asked for."""

    worker_plan: WorkerPlan
    columns: Mapping[str, tuple[Field, ...]]
    """Of the relations that are listed."""
    execution: Execution

    @property
    def workers(self) -> int:
        return self.execution.workers or 1

    @property
    def folded(self) -> tuple[str, ...]:
        """What becomes of facts that are not listed, in words."""
        return (
            (f"folded at once into {', '.join(self.columns)}, and never listed",) if self.worker_plan.streamed else ()
        )

    def run(
        self,
        relations: Mapping[str, LocalRelation],
        must_be_sets: frozenset[str],
        limits: Limits,
        tell: Callable[[Progress], None],
        began: float,
        places: Mapping[str, Span],
    ) -> LocalOutcome:
        """`relations` has those that it reads; `must_be_sets` are those whose repeated rows somebody would notice;
        `began` is the time that the timeout counts from."""
        memory = self.execution.memory
        if memory is not None:
            load_libraries()
        try:
            with allowed(memory * self.workers if memory is not None else memory_for_each(1)):
                return self._facts(relations, must_be_sets, limits, tell, began)
        except Fault as fault:
            if fault.code == SUSPICION:
                raise Suspicious(fault.message) from None
            raise told(fault, places) from None
        except (TooLarge, MemoryError) as problem:
            names = ", ".join(relation.name for relation in self.worker_plan.main.program.relations)
            raise fail(
                "DL514",
                f"the facts of {names} do not fit into memory",
                None,
                str(problem) or "the system gave no more memory",
                "ask for less, as with a constant in the query, allow more with Execution(memory=…), or use Spark, "
                "where such a recursion goes on on disk",
            ) from None

    def _facts(
        self,
        relations: Mapping[str, LocalRelation],
        must_be_sets: frozenset[str],
        limits: Limits,
        tell: Callable[[Progress], None],
        began: float,
    ) -> LocalOutcome:
        codes = TextCodes()
        for stratum in self.worker_plan.strata:
            for text in texts_of(stratum.program):
                codes.code(text)
        statics = {
            name: encoded(name, relations[name], types, codes, must_be_set=name in must_be_sets)
            for name, types in self.worker_plan.inputs.items()
        }
        main = self.worker_plan.main
        progress = MergedProgress(self.workers, tell, main.placement.mode)
        teams = self._run_teams(statics, codes, limits, progress, began)
        team = teams[main.program.relations[0].name]
        # Some workers find their facts only when they are read.
        histories = {name: self._history(name, team, codes) for name in self._recorded}
        is_one = is_one_with_result(main.program.recursion.case)
        found = {
            name: histories[name].without_last_column()
            if is_one and name in histories
            else self._gathered(name, teams[name], codes)
            for name in self.columns
        }
        for number in range(self.workers):
            progress.finish(number)
        profile = Profile()
        for worker in {id(worker): worker for one in teams.values() for worker in one}.values():
            if worker.recorder is not None:
                profile.add(worker.recorder.profile)
        efforts = tuple(worker.effort.of_worker(number) for number, worker in enumerate(team))
        spilled = spilled_on([worker.spilled for worker in team])
        choice = team[0].choice.why if isinstance(team[0], FactoredWorker) and team[0].choice is not None else ""
        return LocalOutcome(found, self._rows(team), histories, profile, efforts, choice, spilled)

    def _run_teams(
        self,
        statics: Mapping[str, Lanes],
        codes: TextCodes,
        limits: Limits,
        progress: MergedProgress,
        began: float,
    ) -> dict[str, list[Worker]]:
        """The workers that have each relation when they are done."""
        partition_choice, spread = self.worker_plan.partition_choice, self.worker_plan.spread
        partitioning = divided(partition_choice.kind, arcs_of(partition_choice.walks, statics), self.workers)
        shares = [
            {name: share_of(rows, spread[name], number, partitioning) for name, rows in statics.items()}
            for number in range(self.workers)
        ]
        teams: dict[str, list[Worker]] = {}
        for stratum in self.worker_plan.strata:
            team: list[Worker] = []
            for number in range(self.workers):
                task = WorkerTask(
                    stratum.program,
                    stratum.placement,
                    number,
                    self.workers,
                    codes.codes,
                    limits,
                    self.execution.profile,
                    Representation(self.execution.representation),
                    self.worker_plan.index,
                    self.execution.memory,
                    partitioning=partitioning,
                    provenance=self.execution.provenance,
                )
                worker: Worker
                if stratum.is_recursive:
                    worker = worker_for(task, shares[number], partial(progress.report, number))
                else:
                    known = {name: one[number] for name, one in teams.items() if name in self.worker_plan.streamed}
                    worker = DefinitionWorker(task, shares[number], _streams(known))
                worker.began = began
                team.append(worker)
            run_workers(team)
            teams |= {relation.name: team for relation in stratum.program.relations}
        return teams

    def _rows(self, team: list[Worker]) -> int | None:
        """Of a relation without recursion, to count facts that are not listed could be to find them once more."""
        if not self.worker_plan.streamed or not self.worker_plan.main.is_recursive:
            return None
        return sum(worker.result_count(name) for worker in team for name in self.worker_plan.streamed)

    @property
    def _recorded(self) -> list[str]:
        """The relations that get a history."""
        main = self.worker_plan.main
        if not self.execution.provenance or not main.is_recursive or not has_history(main.program.recursion.case):
            return []
        return [relation.name for relation in main.program.relations]

    def _gathered(self, name: str, team: list[Worker], codes: TextCodes) -> LocalRelation:
        batches = (lanes for worker in team for lanes in worker.results(name))
        return decoded(self.columns[name], batches, codes)

    def _history(self, name: str, team: list[Worker], codes: TextCodes) -> LocalRelation:
        keepers = [worker for worker in team if isinstance(worker, KeepsHistory)]
        assert len(keepers) == len(team)
        batches = (batch for worker in keepers for batch in worker.history(name))
        return decoded_history(self.columns[name], batches, codes)


def plan_here(
    strata: Sequence[PlannedStratum],
    main: PlannedStratum,
    outputs: Sequence[str],
    execution: Execution,
    statistics: Statistics,
) -> LocalJob | None:
    """How the workers compute one of the strata, a recursion without obstacles or a relation without recursion, with
    what folds it if nobody else reads it; None where they cannot. What it reads is there."""
    if isinstance(main.root, Definition):
        fixpoint = as_fixpoint(main.root)
        if fixpoint is None or not main.root.plan.columns or obstacles(fixpoint):
            return None
    position = next(place for place, one in enumerate(strata) if one.relations == main.relations)
    worker_plan = plan_workers(strata[position:], main, outputs, execution, statistics)
    names = {
        relation.name
        for one in worker_plan.strata
        for relation in one.program.relations
        if relation.name not in worker_plan.streamed
    }
    columns = {name: fields for one in strata[position:] for name, fields in _columns(one) if name in names}
    return LocalJob(worker_plan, columns, execution)


def _columns(stratum: PlannedStratum) -> Iterator[tuple[str, tuple[Field, ...]]]:
    match stratum.root:
        case Definition(name, plan):
            yield name, plan.columns
        case Fixpoint(relations):
            yield from ((relation.name, relation.columns) for relation in relations)


def _streams(known: Mapping[str, Worker]) -> dict[str, StreamedStatic]:
    return {
        name: StreamedStatic(partial(worker.result_count, name), partial(worker.results, name))
        for name, worker in known.items()
    }
