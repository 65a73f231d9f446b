"""Computes strata as a whole, from relations that are complete: by workers if they can, else by the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from emberlog.config import DEFAULT_EXECUTION, Limits
from emberlog.engines.interpreter.fixpoint import run_fixpoint
from emberlog.engines.interpreter.interpreter import run_definition
from emberlog.engines.interpreter.limits import Watch
from emberlog.language.faults import Fault
from emberlog.logical.nodes import Definition, Fixpoint, LogicalPlan, PlannedStratum
from emberlog.logical.traverse import plans_of, scans
from emberlog.source import Span
from emberlog.streams.state.lane_relations import LaneRelations
from emberlog.workers.fixpoint.definitions import DefinitionWorker
from emberlog.workers.fixpoint.team import run_workers, worker_for
from emberlog.workers.fixpoint.worker import Worker, WorkerTask
from emberlog.workers.kernels.lanes import joined
from emberlog.workers.plan.capabilities import obstacles
from emberlog.workers.plan.compile import CyclicProgram, compile_fixpoint
from emberlog.workers.plan.definition_plans import as_fixpoint
from emberlog.workers.plan.faults import told
from emberlog.workers.plan.placement import Placement
from emberlog.workers.plan.worker_plan import place_as_asked
from emberlog.workers.store.stores import StaticStore
from emberlog.workers.store.texts import texts_of


@dataclass(frozen=True, slots=True)
class _Compiled:
    stratum: PlannedStratum
    program: CyclicProgram | None
    """The compiled rules; None where workers cannot run them."""
    placement: Placement | None


class CompleteStrata:
    def __init__(
        self,
        plan: LogicalPlan,
        limits: Limits,
        places: Mapping[str, Span],
        unique: Mapping[str, frozenset[int]],
    ) -> None:
        """`unique` has columns that no two facts of a relation agree in."""
        self.plan = plan
        self._limits = limits
        self._places = places
        known = dict(unique)
        self._strata: list[_Compiled] = []
        for stratum in plan.strata:
            one = _compiled(stratum, known)
            self._strata.append(one)
            if one.program is not None:
                known.update(unique_columns(one.program))

    @property
    def texts(self) -> Iterator[str]:
        """Yields the texts in the rules that workers run."""
        for one in self._strata:
            if one.program is not None:
                yield from texts_of(one.program)

    @property
    def reads(self) -> set[str]:
        """Returns all relations that the rules read."""
        return {scan.relation for one in self._strata for plan in plans_of(one.stratum.root) for scan in scans(plan)}

    def run(self, relations: LaneRelations, codes: Mapping[str, int]) -> None:
        """Puts the facts of every stratum into `relations`, which has all that they read."""
        for one in self._strata:
            if one.program is None or any(relations.has_nulls(name) for name in one.program.statics):
                self._interpret(one.stratum, relations)
            else:
                assert one.placement is not None
                self._by_worker(one.stratum, one.program, one.placement, relations, codes)

    def _interpret(self, stratum: PlannedStratum, relations: LaneRelations) -> None:
        watch = Watch(self._limits)
        watch.enter(stratum.index, stratum.relations)
        if isinstance(stratum.root, Definition):
            facts = run_definition(stratum.root, relations, watch, self.plan.functions)
            relations.put(stratum.root.relation, facts)
            return
        for name, found in run_fixpoint(stratum.root, relations, watch, self.plan.functions).items():
            relations.put(name, found)

    def _by_worker(
        self,
        stratum: PlannedStratum,
        program: CyclicProgram,
        placement: Placement,
        relations: LaneRelations,
        codes: Mapping[str, int],
    ) -> None:
        task = WorkerTask(program, placement, 0, 1, codes, self._limits, stratum=stratum.index)
        statics = {name: StaticStore(relations.lanes(name)) for name in program.statics}
        worker: Worker
        if isinstance(stratum.root, Definition):
            worker = DefinitionWorker(task, statics, {})
        else:
            worker = worker_for(task, statics)
        try:
            run_workers([worker])
            for relation in program.relations:
                batches = [np.stack(batch) for batch in worker.results(relation.name) if batch]
                relations.put_lanes(relation.name, joined(batches, len(relation.columns)))
        except Fault as fault:
            raise told(fault, self._places) from None


def unique_columns(program: CyclicProgram) -> dict[str, frozenset[int]]:
    """Returns the columns that each aggregated relation is grouped by."""
    return {
        relation.name: frozenset(place for place, column in enumerate(relation.columns) if column.lane < relation.keys)
        for relation in program.relations
        if relation.combine
    }


def _compiled(stratum: PlannedStratum, unique: Mapping[str, frozenset[int]]) -> _Compiled:
    fixpoint = stratum.root if isinstance(stratum.root, Fixpoint) else as_fixpoint(stratum.root)
    if fixpoint is None or obstacles(fixpoint):
        return _Compiled(stratum, None, None)
    program = compile_fixpoint(fixpoint, unique)
    return _Compiled(stratum, program, place_as_asked(program, DEFAULT_EXECUTION, {}))
