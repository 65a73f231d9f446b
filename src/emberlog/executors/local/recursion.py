"""One stratum by the cyclic workers, in this process: a recursion, or a relation without any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from emberlog.config import Execution, Limits
from emberlog.diagnostics import fail
from emberlog.events import WorkerEffort
from emberlog.executors.cyclic.agreeing import arcs_of
from emberlog.executors.cyclic.capabilities import obstacles
from emberlog.executors.cyclic.compile import CyclicProgram, compile_fixpoint
from emberlog.executors.cyclic.definition_plans import as_fixpoint
from emberlog.executors.cyclic.definitions import DefinitionWorker
from emberlog.executors.cyclic.division import Division, division_of
from emberlog.executors.cyclic.faults import Fault, told
from emberlog.executors.cyclic.history import KeepsHistory
from emberlog.executors.cyclic.libraries import load_libraries
from emberlog.executors.cyclic.local import run_workers, share_of, worker_for
from emberlog.executors.cyclic.machine_memory import memory_for_each
from emberlog.executors.cyclic.memory import TooLarge, allowed
from emberlog.executors.cyclic.merged_progress import MergedProgress
from emberlog.executors.cyclic.partitioning import divided
from emberlog.executors.cyclic.placement import Placement
from emberlog.executors.cyclic.profile import Profile
from emberlog.executors.cyclic.representation import Representation
from emberlog.executors.cyclic.stage import place_as_asked, wanted_whole
from emberlog.executors.cyclic.texts import TextCodes, texts_of
from emberlog.executors.cyclic.worker import Progress, Worker, WorkerTask, spilled_on
from emberlog.executors.local.encoding import decoded, decoded_history, encoded
from emberlog.executors.recording import has_history, is_one_with_result
from emberlog.io.local_relation import LocalRelation
from emberlog.logical.nodes import Definition, Field, Fixpoint
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.source import Span


@dataclass(frozen=True, slots=True)
class LocalOutcome:
    relations: Mapping[str, LocalRelation]
    histories: Mapping[str, LocalRelation]
    """In which iteration each fact came, if there is provenance."""
    profile: Profile
    efforts: tuple[WorkerEffort, ...]
    spilled: str
    """What the workers did about a memory that was too short."""


@dataclass(frozen=True, slots=True)
class LocalStratum:
    """A stratum without obstacles, and where its facts will live."""

    fixpoint: Fixpoint
    program: CyclicProgram
    is_recursive: bool
    placement: Placement
    workers: int
    profile: bool
    representation: Representation
    memory: int | None
    """Bytes for the facts of each worker; None for what the machine has."""
    division: Division
    provenance: bool = False

    def run(
        self,
        relations: Mapping[str, LocalRelation],
        must_be_sets: frozenset[str],
        limits: Limits,
        tell: Callable[[Progress], None],
        began: float,
        stratum: int,
        places: Mapping[str, Span],
    ) -> LocalOutcome:
        """`relations` has those that it reads; `must_be_sets` are those whose repeated rows somebody would notice;
        `began` is the time that the timeout counts from."""
        if self.memory is not None:
            load_libraries()
        try:
            with allowed(self.memory * self.workers if self.memory is not None else memory_for_each(1)):
                return self._facts(relations, must_be_sets, limits, tell, began, stratum)
        except Fault as fault:
            raise told(fault, places) from None
        except (TooLarge, MemoryError) as problem:
            names = ", ".join(relation.name for relation in self.fixpoint.relations)
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
        stratum: int,
    ) -> LocalOutcome:
        codes = TextCodes()
        for text in texts_of(self.program):
            codes.code(text)
        statics = {
            name: encoded(name, relations[name], types, codes, must_be_set=name in must_be_sets)
            for name, types in self.program.static_types.items()
        }
        arcs = arcs_of(self.division.walks, statics)
        partitioning = divided(self.division.kind, arcs, self.workers)
        progress = MergedProgress(self.workers, tell, self.placement.mode)
        team: list[Worker] = []
        for number in range(self.workers):
            task = WorkerTask(
                self.program,
                self.placement,
                number,
                self.workers,
                codes.codes,
                limits,
                self.profile,
                self.representation,
                stratum,
                self.memory,
                partitioning=partitioning,
                provenance=self.provenance,
            )
            shares = {
                name: share_of(rows, self.placement.statics[name], number, partitioning)
                for name, rows in statics.items()
            }
            worker: Worker
            if self.is_recursive:
                worker = worker_for(task, shares, _reporter(progress, number))
            else:
                worker = DefinitionWorker(task, shares, {})
            worker.began = began
            team.append(worker)
        run_workers(team)
        # Some workers find their facts only when they are read.
        histories = {name: self._history(name, team, codes) for name in self._recorded}
        is_one = is_one_with_result(self.program.recursion.case)
        found = {
            relation.name: histories[relation.name].without_last_column()
            if is_one and relation.name in histories
            else self._gathered(relation.name, team, codes)
            for relation in self.program.relations
        }
        for number in range(self.workers):
            progress.finish(number)
        profile = Profile()
        for worker in team:
            if worker.recorder is not None:
                profile.add(worker.recorder.profile)
        efforts = tuple(worker.effort.of_worker(number) for number, worker in enumerate(team))
        spilled = spilled_on([worker.spilled for worker in team])
        return LocalOutcome(found, histories, profile, efforts, spilled)

    @property
    def _recorded(self) -> list[str]:
        """The relations that get a history."""
        if not self.provenance or not self.is_recursive or not has_history(self.program.recursion.case):
            return []
        return [relation.name for relation in self.program.relations]

    def _gathered(self, name: str, team: list[Worker], codes: TextCodes) -> LocalRelation:
        batches = (lanes for worker in team for lanes in worker.results(name))
        return decoded(self._columns(name), batches, codes)

    def _history(self, name: str, team: list[Worker], codes: TextCodes) -> LocalRelation:
        keepers = [worker for worker in team if isinstance(worker, KeepsHistory)]
        assert len(keepers) == len(team)
        batches = (batch for worker in keepers for batch in worker.history(name))
        return decoded_history(self._columns(name), batches, codes)

    def _columns(self, name: str) -> tuple[Field, ...]:
        return next(relation.columns for relation in self.fixpoint.relations if relation.name == name)


def plan_recursion(fixpoint: Fixpoint, execution: Execution, statistics: Statistics = NO_STATISTICS) -> LocalStratum:
    return _planned(fixpoint, execution, statistics, is_recursive=True)


def plan_definition(definition: Definition, execution: Execution, statistics: Statistics) -> LocalStratum | None:
    """None where the workers cannot do it."""
    fixpoint = as_fixpoint(definition)
    if fixpoint is None or not definition.plan.columns or obstacles(fixpoint):
        return None
    return _planned(fixpoint, execution, statistics, is_recursive=False)


def _planned(fixpoint: Fixpoint, execution: Execution, statistics: Statistics, *, is_recursive: bool) -> LocalStratum:
    program = compile_fixpoint(fixpoint, None, statistics)
    placement = place_as_asked(program, execution, wanted_whole(program, execution))
    representation = Representation(execution.representation)
    return LocalStratum(
        fixpoint,
        program,
        is_recursive,
        placement,
        execution.workers or 1,
        execution.profile,
        representation,
        execution.memory,
        division_of(program, placement, execution),
        execution.provenance,
    )


def _reporter(progress: MergedProgress, worker: int) -> Callable[[Progress], None]:
    return lambda report: progress.report(worker, report)
