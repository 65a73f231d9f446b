"""One stratum by the cyclic workers, in this process: a recursion, or a relation without any. What only folds its facts
is computed with it, from the facts as they are found, and then nobody lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

import pyarrow as pa

from emberlog.config import Execution, Limits
from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.local.encoding import decoded, decoded_history, listed
from emberlog.engines.local.kept import KeptInputs, Wanted
from emberlog.engines.recording import has_history, is_one_with_result
from emberlog.engines.runner import Outcome
from emberlog.io.local_relation import Later, LocalRelation
from emberlog.logical.nodes import Field, PlannedStratum
from emberlog.logical.traverse import relation_columns
from emberlog.workers.fixpoint.definitions import DefinitionWorker
from emberlog.workers.fixpoint.factored_worker import FactoredWorker
from emberlog.workers.fixpoint.profile import Profile
from emberlog.workers.fixpoint.team import arcs_of, run_workers, shares_of, worker_for
from emberlog.workers.fixpoint.worker import Worker, WorkerTask, spilled_on
from emberlog.workers.kernels.lanes import Lane
from emberlog.workers.kernels.machine_memory import load_libraries, memory_for_each
from emberlog.workers.kernels.memory import TooLarge, allowed
from emberlog.workers.kernels.threads import MadeOnce, in_threads, threads_allowed
from emberlog.workers.kernels.tuning import MANY_LINES, VALUES_IN_LINE_BITS
from emberlog.workers.plan.representation import Representation
from emberlog.workers.plan.worker_plan import WorkerPlan
from emberlog.workers.store.history import KeepsHistory
from emberlog.workers.store.hot_keys import hot_keys_of
from emberlog.workers.store.indexes import StaticIndexes
from emberlog.workers.store.partitioning import divided
from emberlog.workers.store.stores import StreamedStatic
from emberlog.workers.store.texts import TextCodes
from emberlog.workers.wire.merged_progress import MergedProgress
from emberlog.workers.wire.messages import Progress


class LocalJob:
    """Computes a stratum and what folds it, by workers of this process."""

    def __init__(
        self,
        worker_plan: WorkerPlan,
        strata: Sequence[PlannedStratum],
        execution: Execution,
        workers: int,
        threads: int = 1,
        kept: KeptInputs | None = None,
    ) -> None:
        """`kept` has what earlier runs and strata read, and gets what this one does."""
        self.worker_plan = worker_plan
        self.execution = execution
        self.workers = workers
        self.threads = threads
        """Of each worker."""
        self.team: list[Worker] = []
        """The workers of the main stratum, once they have begun."""
        is_kept = kept is not None and execution.memory is None  # which is for what a run needs
        self.kept = kept if kept is not None and is_kept else KeptInputs(0)
        listed = {relation.name for one in worker_plan.strata for relation in one.program.relations}
        listed -= worker_plan.streamed
        self.columns = {
            name: fields for one in strata for name, fields in relation_columns(one.root).items() if name in listed
        }
        """Of the relations that are listed."""

    @property
    def folded(self) -> tuple[str, ...]:
        """Says what becomes of facts that are not listed."""
        if not self.worker_plan.streamed:
            return ()
        return (f"folded at once into {', '.join(self.columns)}, and never listed",)

    def run(
        self,
        relations: Mapping[str, LocalRelation],
        must_be_sets: frozenset[str],
        lasting: frozenset[str],
        limits: Limits,
        tell: Callable[[Progress], None],
        began: float,
    ) -> Outcome[LocalRelation]:
        """Computes the relations. `relations` has those that it reads; `must_be_sets` are those whose repeated rows
        somebody would notice; `lasting` those that later runs may read, too; `began` is the time that the timeout
        counts from."""
        memory = self.execution.memory
        if memory is not None:
            load_libraries()
        try:
            with self._budget(), threads_allowed(self.threads):
                return self._facts(self._wanted(relations, must_be_sets), lasting, limits, tell, began)
        except (TooLarge, MemoryError) as problem:
            self.kept.clear()
            raise self._too_large(problem) from None
        finally:
            self.kept.settle()

    def _budget(self) -> AbstractContextManager[None]:
        memory = self.execution.memory
        return allowed(memory_for_each(1), is_share=True) if memory is None else allowed(memory * self.workers)

    def _too_large(self, problem: Exception) -> EmberlogError:
        names = ", ".join(relation.name for relation in self.worker_plan.main.program.relations)
        return fail(
            "DL514",
            f"the facts of {names} do not fit into memory",
            None,
            str(problem) or "the system gave no more memory",
            "ask for less, as with a constant in the query, allow more with Execution(memory=…), or use Spark, "
            "where such a recursion goes on on disk",
        )

    def _wanted(self, relations: Mapping[str, LocalRelation], must_be_sets: frozenset[str]) -> dict[str, Wanted]:
        inputs = self.worker_plan.inputs.items()
        return {name: Wanted(relations[name], tuple(types), name in must_be_sets) for name, types in inputs}

    def said_of_kept(self, relations: Mapping[str, LocalRelation], must_be_sets: frozenset[str]) -> tuple[str, ...]:
        """Says what need not be read again."""
        known = self.kept.known(self._wanted(relations, must_be_sets))
        return (f"has {', '.join(known)} in memory from before",) if known else ()

    def _facts(
        self,
        wanted: Mapping[str, Wanted],
        lasting: frozenset[str],
        limits: Limits,
        tell: Callable[[Progress], None],
        began: float,
    ) -> Outcome[LocalRelation]:
        read = self.kept.read(wanted, lasting, max(self.workers, self.threads))
        codes = read.texts
        main = self.worker_plan.main
        progress = MergedProgress(self.workers, tell, main.placement.mode)
        teams = self._run_teams(read.indexes, codes, limits, progress, began)
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
        choice = "; ".join(filter(None, (choice, team[0].task.hot_keys.described)))
        rows = {name: len(relation) for name, relation in found.items()} | self._rows(team)
        iterations = progress.iterations
        return Outcome(found, rows, iterations, histories, (), 0, choice, efforts, spilled, profile)

    def _run_teams(
        self,
        indexes: Mapping[str, StaticIndexes],
        codes: TextCodes,
        limits: Limits,
        progress: MergedProgress,
        began: float,
    ) -> dict[str, list[Worker]]:
        """Returns the workers that have each relation when they are done."""
        partition_choice, spread = self.worker_plan.partition_choice, self.worker_plan.spread
        copied = {copy: of for copy, of in self.worker_plan.copied.items() if of in indexes}
        stores = {name: one.store for name, one in indexes.items()}
        stores |= {copy: stores[of] for copy, of in copied.items()}
        statics = {name: store.all for name, store in stores.items()}
        kind = partition_choice.kind_for(self.workers)
        arcs = arcs_of(partition_choice.walks, statics)
        is_large = any(rows.shape[1] >= MANY_LINES for rows in statics.values())
        partitioning = divided(kind, arcs, self.workers, VALUES_IN_LINE_BITS if is_large else 0)
        columns = {name: spread[name] for name in self.worker_plan.splittable}
        keys = {name: statics[name][column] for name, column in columns.items() if column is not None}
        hot_keys = hot_keys_of(keys, self.workers)
        divided_rows = {
            name: shares_of(name, store, spread[name], partitioning, self.workers, hot_keys)
            for name, store in stores.items()
        }
        shares = [{name: one[number] for name, one in divided_rows.items()} for number in range(self.workers)]
        teams: dict[str, list[Worker]] = {}
        for stratum in self.worker_plan.strata:
            team: list[Worker] = []
            alike = MadeOnce()
            for number in range(self.workers):
                task = WorkerTask(
                    stratum.program,
                    stratum.placement,
                    number,
                    self.workers,
                    codes,
                    limits,
                    self.execution.profile,
                    Representation(self.execution.representation),
                    self.worker_plan.index,
                    self.execution.memory,
                    partitioning=partitioning,
                    hot_keys=hot_keys,
                    alike=alike,
                    provenance=self.execution.provenance,
                )
                worker: Worker
                if stratum.is_recursive:
                    worker = worker_for(task, shares[number], partial(progress.report, number))
                else:
                    known = {name: one[number] for name, one in teams.items() if name in self.worker_plan.streamed}
                    worker = DefinitionWorker(task, shares[number], _streams(known))
                worker.began = began
                worker.static_indexes |= {
                    name: one for name, one in indexes.items() if worker.statics.get(name) is one.store
                }
                team.append(worker)
            if stratum.is_main:
                self.team = team
            run_workers(team)
            teams |= {relation.name: team for relation in stratum.program.relations}
        return teams

    def _rows(self, team: list[Worker]) -> dict[str, int]:
        """Counts facts that are not listed. Of a relation without recursion that could be to find them once more."""
        if not self.worker_plan.main.is_recursive:
            return {}
        return {name: sum(worker.result_count(name) for worker in team) for name in self.worker_plan.streamed}

    @property
    def _recorded(self) -> list[str]:
        """The relations that get a history."""
        main = self.worker_plan.main
        if not self.execution.provenance or not main.is_recursive or not has_history(main.program.recursion.case):
            return []
        return [relation.name for relation in main.program.relations]

    def _gathered(self, name: str, team: list[Worker], codes: TextCodes) -> LocalRelation:
        """Returns the facts of a relation: bits are listed, and codes become texts, when somebody reads them."""
        columns, nullable = self.columns[name], self.worker_plan.nullable.get(name, frozenset())
        if all(isinstance(worker, FactoredWorker) and worker.is_sooner_counted for worker in team):
            count = sum(in_threads([partial(worker.result_count, name) for worker in team], len(team)))
            return self._decoded_later(columns, count, [worker.results(name) for worker in team], codes)
        parts = [worker.results(name) for worker in team]
        if nullable or not any(column.type.is_coded for column in columns):
            return decoded(columns, parts, codes, nullable)
        lanes = listed(parts)
        return self._decoded_later(columns, sum(len(batch[0]) for part in lanes for batch in part), lanes, codes)

    def _decoded_later(
        self, columns: Sequence[Field], count: int, parts: Sequence[Iterable[Sequence[Lane]]], codes: TextCodes
    ) -> LocalRelation:
        def table() -> pa.Table:
            try:
                with self._budget():
                    return decoded(columns, parts, codes, frozenset()).table
            except (TooLarge, MemoryError) as problem:
                raise self._too_large(problem) from None

        names, types = zip(*((column.name, column.type) for column in columns), strict=True)
        return LocalRelation(names, types, Later(count, table))

    def _history(self, name: str, team: list[Worker], codes: TextCodes) -> LocalRelation:
        keepers = [worker for worker in team if isinstance(worker, KeepsHistory)]
        assert len(keepers) == len(team)
        batches = (batch for worker in keepers for batch in worker.history(name))
        nullable = self.worker_plan.nullable.get(name, frozenset())
        return decoded_history(self.columns[name], batches, codes, nullable)


def _streams(known: Mapping[str, Worker]) -> dict[str, StreamedStatic]:
    return {
        name: StreamedStatic(partial(worker.result_count, name), partial(worker.results, name))
        for name, worker in known.items()
    }
