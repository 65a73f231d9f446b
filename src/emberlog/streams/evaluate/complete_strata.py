"""Computes strata as a whole, from relations that are complete: the strata of a slide, as any others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from emberlog.config import Limits
from emberlog.engines.interpreter.interpreter import INTERPRETER, Known, run_stratum
from emberlog.engines.interpreter.limits import Watch
from emberlog.engines.runner import Backend, Outcome, Runner
from emberlog.logical.nodes import LogicalPlan, PlannedStratum
from emberlog.logical.statistics import Statistics
from emberlog.logical.traverse import relations_read
from emberlog.source import Span
from emberlog.streams.state.lane_relations import LaneRelations
from emberlog.workers.fixpoint.definitions import DefinitionWorker
from emberlog.workers.fixpoint.team import run_workers, worker_for
from emberlog.workers.fixpoint.worker import Worker, WorkerTask
from emberlog.workers.kernels.lanes import Lanes, joined
from emberlog.workers.plan.faults import Refused
from emberlog.workers.plan.worker_plan import WorkerPlan, WorkerPlanner
from emberlog.workers.store.stores import StaticStore
from emberlog.workers.store.texts import texts_of


class CompleteStrata(Backend[None]):
    """Computes the strata of a plan at each slide, by a worker if it can, else by the interpreter."""

    without_workers = ("interpreter", INTERPRETER)

    def __init__(
        self, plan: LogicalPlan, limits: Limits, places: Mapping[str, Span], unique: Mapping[str, frozenset[int]]
    ) -> None:
        """`unique` has columns that no two facts of a relation agree in."""
        self.plan = plan
        self._limits = limits
        # Everything is an output, so that nothing is folded: whoever reads it does so elsewhere.
        names = [name for stratum in plan.strata for name in stratum.relations]
        self._planner = WorkerPlanner(
            plan.strata, names, functions=plan.functions, unique=unique, computes_before=False
        )
        self._programs = [self._planner.compiled(stratum).program for stratum in plan.strata]
        self._runner = Runner(plan, self, self._planner, places=places)
        self._relations: LaneRelations

    @property
    def texts(self) -> Iterator[str]:
        """The texts that the rules of the workers write."""
        for program in self._programs:
            if program is not None:
                yield from texts_of(program)

    @property
    def reads(self) -> set[str]:
        """All relations that its rules read."""
        return {name for one in self.plan.strata for name in relations_read(one.root)}

    def run(self, relations: LaneRelations) -> None:
        """Puts the facts of every stratum into `relations`, which has all that they read."""
        self._relations = relations
        self._runner.run_strata()

    def has(self, relation: str) -> bool:
        return False

    def why_workers(self, stratum: PlannedStratum, planner: WorkerPlanner, statistics: Statistics) -> str | None:
        compiled = planner.compiled(stratum, statistics)
        if compiled.program is None or self.obstacles(stratum, planner):
            return None
        return "a worker is there anyway"

    def obstacles(self, stratum: PlannedStratum, planner: WorkerPlanner) -> tuple[str, ...]:
        """Lanes of a stream know no nulls."""
        program = planner.compiled(stratum).program
        if program is None:
            return ()
        if any(type_.parts for types in program.static_types.values() for type_ in types) or any(
            column.type.parts for relation in program.relations for column in relation.columns
        ):
            return ("lanes of a stream know no pairs and lists",)
        found = [f"{name} has nulls" for name in program.statics if self._relations.has_nulls(name)]
        return (*found, *(f"{name} may have nulls" for name in program.nullable))

    def compute(self, stratum: PlannedStratum, refused: Refused | None) -> Outcome[None]:
        watch = Watch(self._limits)
        watch.enter(stratum.index, stratum.relations)
        for name, facts in run_stratum(stratum, Known(self._relations.facts), watch, self.plan.functions).items():
            self._relations.put(name, facts)
        return Outcome({})

    def compute_by_workers(self, stratum: PlannedStratum, plan: WorkerPlan, why: str) -> Outcome[None]:
        program = plan.main.program
        task = WorkerTask(
            program, plan.main.placement, 0, 1, self._relations.texts, self._limits, stratum=stratum.index
        )
        statics = {name: StaticStore(self._relations.lanes(name)) for name in program.statics}
        worker: Worker = worker_for(task, statics) if plan.main.is_recursive else DefinitionWorker(task, statics, {})
        run_workers([worker])
        found: dict[str, Lanes] = {}
        for relation in program.relations:
            batches = [np.stack(batch) for batch in worker.results(relation.name) if batch]
            found[relation.name] = joined(batches, len(relation.columns))
        for name, lanes in found.items():
            self._relations.put_lanes(name, lanes)
        return Outcome({})

    def take(self, stratum: PlannedStratum, outcome: Outcome[None]) -> None:
        """The facts are in the relations of the slide already."""

    def answer(self, relation: str) -> None:
        """Nobody asks: whoever wants the facts reads the relations of the slide."""
